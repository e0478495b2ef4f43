// Lines of an edge list that are plain: columns of digits, one byte between two, a line feed behind the last. Any grid.
//
// A thread counts and lists the line feeds of SPAN bytes, and a thread parses a line. A line that the host's fast path
// (graph/formats/scan.py) would not take is listed in ``odd`` instead, and the host reads it.

#define THREAD ((u64)blockIdx.x * BLOCK + threadIdx.x)
#define THREADS ((u64)gridDim.x * BLOCK)

struct Env {
    const unsigned char* text;
    u64 size, lines;
    u32 *counts, *ends, *sources, *targets;
    double* weights;
    u32* odd;
    u64* figures;  // odd lines; 1 if a weight has a fraction; 1 if one is -0
    u64 columns, kinds, between[4], lowest, highest, room;
};
CONSTANT Env env;

// The line feeds among the eight bytes from ``i`` on: 0x80 in each.
DEVICE u64 feeds(u64 i) {
    const u64 low = 0x7f7f7f7f7f7f7f7full, bytes = *(const u64*)(env.text + i) ^ 0x0a0a0a0a0a0a0a0aull;
    return ~((bytes & low) + low | bytes | low);
}

KERNEL count_lines(i64) {
    for (u64 span = THREAD; span * SPAN < env.size; span += THREADS) {
        u32 count = 0;
        for (u64 i = span * SPAN; i < (span + 1) * SPAN; i += 8) {
            const u64 bits = feeds(i);
            count += __popc((u32)bits) + __popc((u32)(bits >> 32));
        }
        env.counts[span] = count;
    }
}

// Write the position of every line feed, from the inclusive prefix sums in ``counts``.
KERNEL list_lines(i64) {
    for (u64 span = THREAD; span * SPAN < env.size; span += THREADS) {
        u64 line = span ? env.counts[span - 1] : 0;
        if (line == env.counts[span]) continue;
        for (u64 i = span * SPAN; i < (span + 1) * SPAN; i += 8)
            for (int half = 0; half < 2; half++)
                for (u32 bits = (u32)(feeds(i) >> 32 * half); bits; bits &= bits - 1)
                    env.ends[line++] = (u32)(i + 4 * half + (__ffs(bits) - 1) / 8);
    }
}

// Read digits from ``place`` on; return their number. Behind 18 digits the value is of no use.
DEVICE u64 digits(u64& place, u64& value) {
    const u64 first = place;
    for (u32 digit; (digit = (u32)env.text[place] - 48) < 10; place++) value = value * 10 + digit;
    return place - first;
}

DEVICE bool parsed(u64 place, u64 end, u64 line) {
    const double powers[16] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    bool fraction = false;
    for (u64 column = 0; column < env.columns; column++) {
        const u64 kind = env.kinds >> 8 * column & 255;
        const bool weighs = kind == NUMBER || kind == INTEGER;
        const bool negative = env.text[place] == '-' && (weighs || kind == ANY);
        place += negative;
        u64 value = 0, places = digits(place, value);
        if (!places || places > 18) return false;
        if (env.text[place] == '.' && (kind == NUMBER || kind == ANY)) {
            place++;
            const u64 power = digits(place, value);
            if (places + power > 15) return false;
            if (weighs) env.weights[line] = (double)value / powers[power] * (negative ? -1.0 : 1.0);
            fraction |= weighs;
        } else if (weighs) {
            if (value > 1ull << 53) return false;
            env.weights[line] = negative ? -(double)value : (double)value;
            if (negative && !value) env.figures[2] = 1;
        }
        if (kind == SOURCE || kind == TARGET) {
            if (value < env.lowest || value > env.highest) return false;
            (kind == SOURCE ? env.sources : env.targets)[line] = (u32)value;
        }
        if (column + 1 < env.columns) {
            const u64 byte = env.text[place++];
            if (!(env.between[byte >> 6] >> (byte & 63) & 1)) return false;
        }
    }
    const bool whole = place == end || (place + 1 == end && env.text[place] == '\r');
    if (whole && fraction && !env.figures[1]) env.figures[1] = 1;
    return whole;
}

KERNEL parse_lines(i64) {
    for (u64 line = THREAD; line < env.lines; line += THREADS) {
        const u64 first = line ? env.ends[line - 1] + 1 : 0;
        if (parsed(first, env.ends[line], line)) continue;
        const u64 place = atomicAdd(env.figures, 1ull);
        if (place < env.room) env.odd[place] = (u32)line;
    }
}
