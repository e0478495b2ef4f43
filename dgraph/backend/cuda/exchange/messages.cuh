// Messages between GPUs: positions of a list that both ranks know, and the fields' values at them. One kernel writes
// the messages for all peers, directly into their memory where there is peer access.   [Dathathri et al., PLDI 2018:
// Gluon]
//
// Mailboxes come in pairs, by parity of the exchange's number. A rank writes message s over message s - 2 only after it
// received message s - 1 from every peer. A peer posts s - 1 only after it has read s - 2, so no unread message is
// overwritten. For this reason a peer posts even if its message is empty.

// Positions of one side of a pair: columns are 0 … columns, rows are rows … count; its chunks are numbered from
// ``chunk``.
struct Side {
    i64 count, columns, rows, chunk;
};

struct Peer {
    i64 rank;
    char *outbox[2], *inbox[2];
    u64 *signal, *signals; // my words in the peer's memory, and its words in mine; null: no peer access
    const u32* lids;       // my master at each position of the peer's mirrors
    i64 first;             // the lid of my mirror at position 0
    Side own_mirrors, peer_mirrors;
};


// Rows that a thread of a large round moves together, so that loads of one kind are in flight at once.
#define ROWS_AT_ONCE 4

// Warps that share the bits of a received chunk.
#define SHARES 4

DEVICE const Peer& peer_of(i64 p) { return ((const Peer*)env.peers)[p]; }
// The i-th peer to write to: the next rank first, round robin, so that ranks write to different ones.
DEVICE i64 in_turn(i64 i) {
    const i64 p = env.next_peer + i;
    return p < env.peer_count ? p : p - env.peer_count;
}
DEVICE PeerState* post_of(i64 p) { return (PeerState*)(env.post + 1) + p; }

// An exchange as decoded from its word (``exchange.py``): fields, role and flags.
struct Asked {
    i64 fields;
    u32 role;
    bool reduces, dense, whole, marked, joins, failed, direct;

    __device__ const Side& leaving(const Peer& peer) const { return reduces ? peer.own_mirrors : peer.peer_mirrors; }
    __device__ const Side& arriving(const Peer& peer) const { return reduces ? peer.peer_mirrors : peer.own_mirrors; }
};

// ``reduces``: known where the text calls this, so that only one role's code is compiled.
DEVICE Asked parsed(i64 asked, bool reduces) {
    Asked a;
    a.fields = asked & ((1ll << ARG_ROLE) - 1), a.role = (u32)(asked >> ARG_ROLE & 3);
    a.reduces = reduces, a.dense = asked >> ARG_DENSE & 1, a.whole = asked >> ARG_WHOLE & 1;
    a.marked = asked >> ARG_MARKED & 1, a.joins = asked >> ARG_JOINS & 1, a.failed = asked >> ARG_FAILED & 1;
    a.direct = asked >> ARG_DIRECT & 1;
    return a;
}
DEVICE Asked parsed(i64 asked) { return parsed(asked, asked >> ARG_REDUCES & 1); }

// Range of positions that a role covers.
struct Span {
    i64 low, high;

    __device__ bool holds(i64 position) const { return low <= position && position < high; }
    __device__ i64 total() const { return high - low; }
    __device__ i64 chunk() const { return low >> CHUNK_BITS; }
    __device__ i64 chunks() const { return low < high ? ((high - 1) >> CHUNK_BITS) + 1 - chunk() : 0; }
};

DEVICE Span span_of(const Side& side, u32 role) {
    if (role == ROLE_NONE) return {0, 0};
    return {role == ROLE_ROW ? side.rows : 0, role == ROLE_COLUMN ? side.columns : side.count};
}

DEVICE i64 bitset_size(i64 chunks) { return padded(4 * chunks) + (chunks << CHUNK_BITS) / 8; }

// Encoding of the fewest bytes.
DEVICE i64 chosen(i64 count, const Span& span, i64 width, bool whole) {
    if (count == 0) return NOTHING;
    const i64 bitset = bitset_size(span.chunks()) + count * width, offsets = padded(4 * count) + count * width;
    const bool all = count == span.total() || (whole && span.total() * width <= smaller(bitset, offsets));
    return all ? EVERYTHING : bitset < offsets ? BITSET : OFFSETS;
}

// One message in a mailbox: its encoding and where its parts lie.
struct Message {
    i64 kind, count;
    Span span;
    u32 *bases, *bits, *positions;
    Columns values;
    i64 bytes;

    __device__ void place(char* at, i64 what, i64 many, i64 stride, const Span& of, i64 fields, bool marked) {
        kind = what, count = many, span = of;
        bases = positions = (u32*)(at + HEADER);
        bits = (u32*)(at + HEADER + padded(4 * span.chunks()));
        const i64 set = kind == BITSET ? bitset_size(span.chunks()) : kind == OFFSETS ? padded(4 * stride) : 0;
        values = columns(at + HEADER + set, fields, stride);
        bytes = kind == NOTHING ? 0 : HEADER + set + (i64)((char*)marks_of(values) - (at + HEADER + set));
        if (kind != NOTHING && marked) bytes += padded(stride);
    }

    // Call ``f(mine, position, row)`` for every row of the message, K rows a lane at a time, by whole warps. Bitsets
    // are dealt to warps in parts of a chunk; of other encodings this thread takes row ``at`` and every ``step``-th one
    // after it.
    template <int K, class F> __device__ void each(const F& f, u64 at = thread_rank(), u64 step = threads()) const {
        if (kind == BITSET) { // hubs have neighbouring positions: several warps share a chunk for balance
            for (u64 i = warp_rank(); i < SHARES * (u64)span.chunks(); i += warps()) {
                const u64 k = i / SHARES;
                const u32 word = FRESH(bits + 32 * k + lane_id()), through = sum_up_to_lane((u32)__popc(word));
                if (ballot(word != 0)) each_set<K>(span.chunk() + (i64)k, word, through, FRESH(bases + k), f, i % SHARES, SHARES);
            }
        } else if (kind != NOTHING) {
            for (u64 i = at; i - lane_id() < (u64)count; i += K * step) {
                bool mine[K];
                i64 position[K], row[K];
                for (int k = 0; k < K; k++) {
                    row[k] = (i64)(i + k * step), mine[k] = row[k] < count;
                    position[k] = kind == OFFSETS ? (i64)(mine[k] ? FRESH(positions + row[k]) : 0) : span.low + row[k];
                }
                f(mine, position, row);
            }
        }
    }

    // Call ``f`` for the set bits of a chunk, one a lane, so that neighbouring lanes access neighbouring rows however
    // far apart the bits are. Each lane passes its word and the inclusive prefix sum of set bits (``through``); the
    // first bit is row ``base``. Takes the ``share``-th of every ``shares`` runs.
    template <int K, class F>
    __device__ static void each_set(i64 chunk, u32 word, u32 through, i64 base, const F& f, u32 share = 0, u32 shares = 1) {
        const u32 before = through - __popc(word), all = shuffle(through, 31);
        for (u32 first = 32 * K * share; first < all; first += 32 * K * shares) {
            bool mine[K];
            i64 position[K], row[K];
            for (int k = 0; k < K; k++) {
                const u32 n = first + 32 * k + lane_id();
                u32 holder = 0; // the last lane whose bits begin at n or before
                for (u32 step = 16; step; step >>= 1)
                    if (shuffle(before, holder + step) <= n) holder += step;
                const u32 bit = nth_bit(shuffle(word, holder), n - shuffle(before, holder));
                mine[k] = n < all, position[k] = (chunk << CHUNK_BITS) + 32 * holder + bit, row[k] = base + n;
            }
            f(mine, position, row);
        }
    }
};

// Message that is about to be sent to peer p.
CALLED Message outgoing(const Asked& a, i64 p, i64 number) {
    const Peer& peer = peer_of(p);
    const Span span = span_of(a.leaving(peer), a.role);
    const i64 count = a.failed ? 0 : a.dense ? span.total() : FRESH(&post_of(p)->counted);
    const i64 kind = chosen(count, span, width_of(a.fields, a.marked), a.whole);
    const i64 rows = kind == EVERYTHING ? span.total() : count;
    Message m;
    m.place(peer.outbox[number & 1], kind, rows, rows, span, a.fields, a.marked);
    return m;
}

// Message received from peer p; by whole warps. A header of another number is an older message: a staged transport
// moves no bytes for an empty one.
DEVICE Message incoming(const Asked& a, i64 p, i64 number) {
    const Peer& peer = peer_of(p);
    char* at = peer.inbox[number & 1];
    const i64* head = (const i64*)at;
    const Span span = span_of(a.arriving(peer), a.role);
    Message m;
    const i64 header = span.total() ? FRESH(head + lane_id() % 4) : 0; // a word a lane
    const bool none = span.total() == 0 || shuffle(header, HEADER_NUMBER) != number;
    const i64 kind = shuffle(header, HEADER_KIND), count = shuffle(header, HEADER_COUNT), stride = shuffle(header, HEADER_STRIDE);
    m.place(at, none ? NOTHING : kind, none ? 0 : count, none ? 0 : stride, span, a.fields, a.marked);
    return m;
}

// Write K rows of a message from the vertices at ``position``. In a reduce the mirrors are reset to the identity.
template <int K>
CALLED void put(const Asked& a, const Peer& peer, const Message& m, const bool* mine, const i64* position, const i64* row) {
    u32 v[K];
    Row values[K];
    u8 mark[K];
    for (int k = 0; k < K; k++)
        v[k] = !mine[k] ? 0 : a.reduces ? (u32)(peer.first + position[k]) : peer.lids[position[k]];
    for (int k = 0; k < K; k++) {
        if (mine[k]) values[k] = row_of(a.fields, v[k]);
        if (mine[k] && a.marked) mark[k] = (u8)(FRESH(env.awake + (v[k] >> 5)) >> (v[k] & 31) & 1);
    }
    for (int k = 0; k < K; k++) {
        if (!mine[k]) continue;
        if (m.kind == OFFSETS) m.positions[row[k]] = (u32)position[k];
        put_row(m.values, a.fields, row[k], values[k]);
        if (a.marked) marks_of(m.values)[row[k]] = mark[k];
        if (a.reduces) reset(v[k]);
    }
}

// Write a message's header and the counters that the host reads. By one thread.
DEVICE void finish(i64 p, const Message& m, i64 stride, i64 number) {
    PeerState* post = post_of(p);
    i64* head = (i64*)peer_of(p).outbox[number & 1];
    post->counted = post->reserved = 0, post->bytes = m.bytes;
    post->sent += m.bytes, post->sent_messages += m.bytes > 0;
    head[HEADER_NUMBER] = number, head[HEADER_KIND] = m.kind;
    head[HEADER_COUNT] = m.count, head[HEADER_STRIDE] = stride;
}

// Bounded spinning. A rank that waits too long notifies all others and Python raises. ``remote``: ``rank`` gave up
// first or has failed, so no timeout passed here; its number is passed on.

CALLED void abort_wait(i64 rank, bool remote) {
    const u64 now = (u64)(1 + rank) << 1 | remote, before = atomicCAS((u64*)&env.post->stalled, 0ull, now);
    const u64 first = before ? before : now;
    for (i64 p = 0; p < env.others; p++)
        if (peer_of(p).signal) RELEASE_SYSTEM(peer_of(p).signal + SIGNAL_ABORT, first & 1 ? 1 + (first >> 1) : 1);
}

// Spin until ``ready()`` is true; false on timeout or if any rank gave up.
template <class F> DEVICE bool received(const Peer& peer, const F& ready) {
    if (ready()) return true;
    const u64 began = NOW(), patience = (u64)FRESH(&env.post->patience);
    for (u32 looks = 0; !ready(); looks++) {
        WAIT_FOR_PEER();
        if (looks % 64) continue;
        if (FRESH(&env.post->stalled)) return false;
        const u64 aborted = ACQUIRE_SYSTEM(peer.signals + SIGNAL_ABORT);
        if (aborted || NOW() - began > patience) {
            abort_wait(aborted > 1 ? (i64)aborted - 2 : peer.rank, aborted != 0);
            return false;
        }
    }
    return true;
}

// Ready word of an exchange, one a parity: the message's number, and its count unless the header has it.
DEVICE u32 signal_word(i64 number) { return SIGNAL_NUMBER + (u32)(number & 1); }
DEVICE u64 signal_value(i64 number, i64 count) { return (u64)number << COUNT_BITS | (u64)count; }

// Wait for messages of all peers, by every thread of a block; true if all came. The acquire (system scope) orders later
// reads of the mailboxes after the peers' release.
DEVICE bool all_received(i64 number) {
    bool late = false;
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const u64* word = peer_of(p).signals + signal_word(number);
        late |= !received(peer_of(p), [&]() { return ACQUIRE_SYSTEM(word) >> COUNT_BITS >= (u64)number; });
    }
    return !__syncthreads_or(late);
}


template <int K>
DEVICE void combine_from(const Peer& peer, const Message& m, Visit& visit, u64 at = thread_rank(), u64 step = threads()) {
    m.each<K>([&](const bool (&mine)[K], const i64* position, const i64* row) {
        u32 v[K];
        Proposal p[K];
        for (int k = 0; k < K; k++) {
            v[k] = mine[k] ? peer.lids[position[k]] : 0;
            if (mine[k]) p[k] = proposal_in(m.values, row[k]);
        }
        visit.receive<K>(mine, v, p);
    }, at, step);
}

template <int K>
DEVICE void take_from(const Asked& a, const Peer& peer, const Message& m, Front& front, u64 at = thread_rank(),
                      u64 step = threads()) {
    m.each<K>([&](const bool* mine, const i64* position, const i64* row) {
        Row values[K];
        bool joins[K];
        for (int k = 0; k < K; k++) {
            if (mine[k]) values[k] = row_in(m.values, a.fields, row[k]);
            joins[k] = mine[k] && (!a.marked || FRESH(marks_of(m.values) + row[k]));
        }
        for (int k = 0; k < K; k++) {
            const u32 v = mine[k] ? (u32)(peer.first + position[k]) : 0;
            if (mine[k]) take_row(a.fields, v, values[k]);
            if (!ALL && a.joins) front.add(joins[k], v);
        }
    }, at, step);
}
