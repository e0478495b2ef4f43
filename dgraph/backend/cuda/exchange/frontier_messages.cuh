// Newly reached vertices, exchanged between GPUs as a bit a position or, if few, as positions. No value is sent: the
// receiver computes it from the round.

DEVICE u32* bits_in(char* box) { return (u32*)(box + HEADER); }

// Mask of bits 32 i … 32 i + 31 that are inside a span.
DEVICE u32 within(const Span& span, i64 i) {
    return i < 0 ? 0 : bits_before((u64)i, (u64)span.high) & ~bits_before((u64)i, (u64)span.low);
}

DEVICE u32 held_bits(const u32* bits, const Span& span, i64 i) {
    const u32 mask = within(span, i);
    return mask ? FRESH(bits + i) & mask : 0;
}

// Return 32 bits from bit ``at`` on, which may be negative; bits outside the span are 0.
DEVICE u32 window(const u32* bits, const Span& span, i64 at) {
    const i64 i = at >> 5;
    const u32 shift = (u32)at & 31, word = held_bits(bits, span, i) >> shift;
    return shift ? word | held_bits(bits, span, i + 1) << (32 - shift) : word;
}

// Send mirrors' bits to their owners. A peer's mirrors are numbered in the order of its positions, so each word is a
// shifted window of the bitmap. Any grid; a thread writes a word.
DEVICE void write_mirrors(const Asked& a, const u32* bits, i64 number) {
    const Span mirrors = {env.masters, env.rows};
    for (i64 i = 0; i < env.peer_count; i++) {
        const Peer& peer = peer_of(in_turn(i));
        const Span span = span_of(peer.own_mirrors, a.role);
        u32* out = bits_in(peer.outbox[number & 1]);
        for (i64 w = (span.low >> 5) + (i64)thread_rank(); 32 * w < span.high; w += (i64)threads())
            out[w] = window(bits, mirrors, peer.first + 32 * w); // bits outside the role are ignored by the owner
    }
    fence_block(true);
}

// Send masters' bits to the ranks with mirrors of them. A warp gathers 16 words (512 positions) at a time. The words of
// all peers form one loop over warps, since one peer's may be too few for the grid.
DEVICE void write_masters(const Asked& a, const u32* bits, i64 number) {
    const u32 many = 16, absent = ~0u; // words of positions: loads of one kind are in flight at once
    const i64 all = 32 * many;
    i64 next = (i64)warp_rank();
    for (i64 n = 0; n < env.peer_count; n++) {
        const Peer& peer = peer_of(in_turn(n));
        const Span span = span_of(peer.peer_mirrors, a.role);
        const u32* lids = peer.lids;
        u32* out = bits_in(peer.outbox[number & 1]);
        const i64 first = span.low / all, count = larger((span.high + all - 1) / all - first, 0ll);
        for (; next < count; next += (i64)warps()) {
            const i64 k = first + next;
            u32 v[many], mine = 0;
            for (u32 w = 0; w < many; w++) {
                const i64 position = k * all + 32 * w + lane_id();
                v[w] = span.holds(position) ? lids[position] : absent;
            }
            for (u32 w = 0; w < many; w++) v[w] = v[w] != absent && bits[v[w] >> 5] >> (v[w] & 31) & 1;
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

// Send the bits of listed masters; cheaper than ``write_masters`` if few are listed. ``env.marks`` is zero before and
// after. Contains a grid barrier.
DEVICE void write_listed(const Asked& a, const u32* list, u64 count, i64 number, u32& due) {
    for (u64 i = thread_rank(); i < count; i += threads()) {
        const u32 v = FRESH(list + i);
        for (u32 e = env.mirror_slot_offsets[v]; e < env.mirror_slot_offsets[v + 1]; e++)
            atomicOr(env.marks + (env.mirror_slots[e] >> 5), 1u << (env.mirror_slots[e] & 31));
    }
    grid_barrier(env.gate, due);
    for (i64 n = 0; n < env.peer_count; n++) {
        const Peer& peer = peer_of(in_turn(n));
        const Span span = span_of(peer.peer_mirrors, a.role);
        u32 *out = bits_in(peer.outbox[number & 1]), *marks = env.marks + 32 * peer.peer_mirrors.chunk;
        for (i64 w = (i64)thread_rank(); 32 * w < peer.peer_mirrors.count; w += (i64)threads()) {
            const u32 word = FRESH(marks + w), mask = within(span, w);
            if (word) marks[w] = 0;
            if (mask) out[w] = word & mask;
        }
    }
    fence_block(true);
}

// Post bit messages, by the first block after all blocks have written.
DEVICE void post_bits(const Asked& a, i64 number) {
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(a.leaving(peer), a.role);
        PeerState* post = post_of(p);
        RELEASE_SYSTEM(peer.signal + signal_word(number), signal_value(number, span.total() > 0 ? COUNT_IN_HEAD : 0));
        post->sent += (span.total() + 7) / 8, post->sent_messages += span.total() > 0;
    }
}

// Count in peer p's ready word, or COUNT_IN_HEAD if its message is bits.
DEVICE i64 sent_by(i64 p, i64 number) { return (i64)(FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD); }

// Call ``f(mine, position, many)`` for every position in peer p's message, by whole warps, ``many`` (1 or
// NAMED_AT_ONCE) a lane.
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

// Bits of lids 32 i … 32 i + 31 of mirrors in the peers' bit messages.
DEVICE u32 mirrors_labelled(const Asked& a, i64 number, i64 i) {
    u32 word = 0;
    for (i64 p = 0; p < env.peer_count; p++) {
        const Peer& peer = peer_of(p);
        const Span span = span_of(peer.own_mirrors, a.role);
        const i64 at = 32 * i - peer.first;
        if (at < span.high && at + 32 > span.low && sent_by(p, number))
            word |= window(bits_in(peer.inbox[number & 1]), span, at);
    }
    return word;
}
