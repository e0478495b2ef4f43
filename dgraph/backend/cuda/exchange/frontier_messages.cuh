// Who is new, said between GPUs: a bit a position, or, of few, the positions. No value travels: what a vertex takes is
// told by the round.

DEVICE u32* bits_in(char* box) { return (u32*)(box + HEADER); }

// Of bits 32 i … 32 i + 31 those that a span holds.
DEVICE u32 within(const Span& span, i64 i) {
    return i < 0 ? 0 : bits_before((u64)i, (u64)span.high) & ~bits_before((u64)i, (u64)span.low);
}

DEVICE u32 held_bits(const u32* bits, const Span& span, i64 i) {
    const u32 mask = within(span, i);
    return mask ? FRESH(bits + i) & mask : 0;
}

// 32 bits from bit ``at`` on, which may be less than 0; those that the span does not hold are 0.
DEVICE u32 window(const u32* bits, const Span& span, i64 at) {
    const i64 i = at >> 5;
    const u32 shift = (u32)at & 31, word = held_bits(bits, span, i) >> shift;
    return shift ? word | held_bits(bits, span, i + 1) << (32 - shift) : word;
}

// Mirrors' bits to their owners: a peer's mirrors stand in the order of its positions.
DEVICE void write_mirrors(const Asked& a, const u32* bits, i64 number) {
    const Span mirrors = {env.masters, env.rows};
    for (i64 i = 0; i < env.peer_count; i++) {
        const Peer& peer = peer_of(in_turn(i));
        const Span span = span_of(peer.mine, a.role);
        u32* out = bits_in(peer.outbox[number & 1]);
        for (i64 w = (span.low >> 5) + (i64)thread_rank(); 32 * w < span.high; w += (i64)threads())
            out[w] = window(bits, mirrors, peer.first + 32 * w); // the owner knows which it asked for
    }
    fence_block(true);
}

// Masters' bits to where they have mirrors. Warps are dealt to all peers together: of one alone there is not enough for all.
DEVICE void write_masters(const Asked& a, const u32* bits, i64 number) {
    const u32 many = 16, nobody = ~0u; // words of positions: loads of one kind are under way at once
    const i64 all = 32 * many;
    i64 next = (i64)warp_rank();
    for (i64 n = 0; n < env.peer_count; n++) {
        const Peer& peer = peer_of(in_turn(n));
        const Span span = span_of(peer.theirs, a.role);
        const u32* lids = peer.lids;
        u32* out = bits_in(peer.outbox[number & 1]);
        const i64 first = span.low / all, count = larger((span.high + all - 1) / all - first, 0ll);
        for (; next < count; next += (i64)warps()) {
            const i64 k = first + next;
            u32 v[many], mine = 0;
            for (u32 w = 0; w < many; w++) {
                const i64 position = k * all + 32 * w + lane_id();
                v[w] = span.holds(position) ? lids[position] : nobody;
            }
            for (u32 w = 0; w < many; w++) v[w] = v[w] != nobody && bits[v[w] >> 5] >> (v[w] & 31) & 1;
            for (u32 w = 0; w < many; w++) {
                const u32 word = ballot(v[w] != 0);
                if (lane_id() == w) mine = word;
            }
            const i64 i = many * k + lane_id();
            if (lane_id() < many && within(span, i)) out[i] = mine;
        }
        next -= count;
    }
    fence_block(true);
}

// The same of masters that are listed: cheaper where they are few. ``env.marks`` is clear before and behind it.
DEVICE void write_listed(const Asked& a, const u32* list, u64 count, i64 number, u32& due) {
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u32 v = FRESH(list + i);
        for (u32 e = env.told_offsets[v]; e < env.told_offsets[v + 1]; e++)
            atomicOr(env.marks + (env.told[e] >> 5), 1u << (env.told[e] & 31));
    }
    grid_barrier(env.gate, due);
    for (i64 n = 0; n < env.peer_count; n++) {
        const Peer& peer = peer_of(in_turn(n));
        const Span span = span_of(peer.theirs, a.role);
        u32 *out = bits_in(peer.outbox[number & 1]), *marks = env.marks + 32 * peer.theirs.chunk;
        for (i64 w = (i64)thread_rank(); 32 * w < peer.theirs.count; w += (i64)threads()) {
            const u32 word = FRESH(marks + w), mask = within(span, w);
            if (word) marks[w] = 0;
            if (mask) out[w] = word & mask;
        }
    }
    fence_block(true);
}

// By the first block, when all have written.
DEVICE void post_bits(const Asked& a, i64 number) {
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(a.leaving(peer), a.role);
        i64* post = post_of(p);
        RELEASE_SYSTEM(peer.signal + signal_word(number), signal_value(number, span.total() > 0 ? COUNT_IN_HEAD : 0));
        post[SENT] += (span.total() + 7) / 8, post[SENT_MESSAGES] += span.total() > 0;
    }
}

// What peer p says: how many positions, or COUNT_IN_HEAD where it is bits.
DEVICE i64 sent_by(i64 p, i64 number) { return (i64)(FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD); }

// Every position that peer p names: ``f(mine, position, many)`` by whole warps, of 1 or NAMED_AT_ONCE of them.
#define NAMED_AT_ONCE 8

template <class F>
DEVICE void each_labelled(BitsRoom<NAMED_AT_ONCE>& room, const Asked& a, i64 p, i64 number, i64 most, const F& f) {
    const Peer& peer = peer_of(p);
    const i64 many = sent_by(p, number);
    if (many != COUNT_IN_HEAD) {
        few(a, a.arriving(peer), peer.inbox[number & 1], many, most)
            .each<1>([&](const bool* mine, const i64* position, const i64*) { f(mine, position, 1); });
        return;
    }
    const Span span = span_of(a.arriving(peer), a.role);
    const u32* bits = bits_in(peer.inbox[number & 1]);
    const auto word = [&](u64 i) { return held_bits(bits, span, (i64)i); };
    each_of_bits(room, (u64)span.high, word, [&](const bool* mine, const u32* named) {
        i64 position[NAMED_AT_ONCE];
        for (int k = 0; k < NAMED_AT_ONCE; k++) position[k] = named[k];
        f(mine, position, NAMED_AT_ONCE);
    });
}

// Of lids 32 i … 32 i + 31 the mirrors that peers name; their messages are bits.
DEVICE u32 mirrors_labelled(const Asked& a, i64 number, i64 i) {
    u32 word = 0;
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(peer.mine, a.role);
        const i64 at = 32 * i - peer.first;
        if (at < span.high && at + 32 > span.low && sent_by(p, number))
            word |= window(bits_in(peer.inbox[number & 1]), span, at);
    }
    return word;
}
