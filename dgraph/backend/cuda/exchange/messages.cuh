// Messages from GPU to GPU: positions of an agreed list and their values, written by one kernel for all peers, straight
// into their memory where they can be reached.   [Dathathri et al., PLDI 2018]
//
// Mailboxes come in pairs, by parity of the exchange's number. A rank writes message s over message s - 2 only after it
// heard message s - 1 from every peer, and a peer posts that one only after it has read message s - 2: so nothing that
// is unread is overwritten. That is why a peer posts even where it has nothing to say.

// Positions of one side of a pair: columns are 0 … columns, rows are rows … count; its chunks are numbered from ``chunk``.
struct Side {
    i64 count, columns, rows, chunk;
};

struct Peer {
    i64 rank;
    char *outbox[2], *inbox[2];
    u64 *signal, *signals; // words in the peer's memory that are mine, and the other way round; null: not within reach
    const u32* lids;       // my master at each position of the peer's mirrors
    i64 first;             // the lid of my mirror at position 0
    Side mine, theirs;
};


// Rows that a thread of a broad round moves together: loads of one kind are under way at once.
#define ROWS_AT_ONCE 4

// Warps that share the bits of a chunk that came.
#define SHARES 4

DEVICE const Peer& peer_of(i64 p) { return ((const Peer*)env.peers)[p]; }
// The i-th peer to write to: the next rank first and then round, so that not all ranks write to the same one.
DEVICE i64 in_turn(i64 i) {
    const i64 p = env.next_peer + i;
    return p < env.peer_count ? p : p - env.peer_count;
}
DEVICE i64* post_of(i64 p) { return env.post + POST_PEERS + POST_PEER * p; }

struct Asked {
    i64 fields;
    u32 role;
    bool reduces, dense, whole, marked, joins, failed, direct;

    __device__ const Side& leaving(const Peer& peer) const { return reduces ? peer.mine : peer.theirs; }
    __device__ const Side& arriving(const Peer& peer) const { return reduces ? peer.theirs : peer.mine; }
};

DEVICE Asked parsed(i64 asked) {
    Asked a;
    a.fields = asked & ((1ll << ASKED_ROLE) - 1), a.role = (u32)(asked >> ASKED_ROLE & 3);
    a.reduces = asked >> ASKED_REDUCES & 1, a.dense = asked >> ASKED_DENSE & 1, a.whole = asked >> ASKED_WHOLE & 1;
    a.marked = asked >> ASKED_MARKED & 1, a.joins = asked >> ASKED_JOINS & 1, a.failed = asked >> ASKED_FAILED & 1;
    a.direct = asked >> ASKED_DIRECT & 1;
    return a;
}

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

// The encoding of the fewest bytes.
DEVICE i64 chosen(i64 count, const Span& span, i64 width, bool whole) {
    if (count == 0) return NOTHING;
    const i64 bitset = bitset_size(span.chunks()) + count * width, offsets = padded(4 * count) + count * width;
    const bool all = count == span.total() || (whole && span.total() * width <= smaller(bitset, offsets));
    return all ? EVERYTHING : bitset < offsets ? BITSET : OFFSETS;
}

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

    // Every row: ``f(mine, position, row)`` of K at a time, by whole warps; of a message without bits, every ``step``-th
    // from ``at`` on.
    template <int K, class F> __device__ void each(const F& f, u64 at = thread_rank(), u64 step = threads()) const {
        if (kind == BITSET) { // hubs stand together: a chunk of theirs would keep its warp while others have nothing
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

    // The positions of a chunk whose bits are set, a lane each: so rows are moved side by side, however far apart bits are.
    // Each lane holds a word, and how many bits there are ``through`` it; the first of them is row ``base``. Every
    // ``shares``-th run of them.
    template <int K, class F>
    __device__ static void each_set(i64 chunk, u32 word, u32 through, i64 base, const F& f, u32 share = 0, u32 shares = 1) {
        const u32 before = through - __popc(word), all = shuffle(through, 31);
        for (u32 first = 32 * K * share; first < all; first += 32 * K * shares) {
            bool mine[K];
            i64 position[K], row[K];
            for (int k = 0; k < K; k++) {
                const u32 n = first + 32 * k + lane_id();
                u32 holder = 0; // the last lane that has no more bits in front of it
                for (u32 step = 16; step; step >>= 1)
                    if (shuffle(before, holder + step) <= n) holder += step;
                const u32 bit = nth_bit(shuffle(word, holder), n - shuffle(before, holder));
                mine[k] = n < all, position[k] = (chunk << CHUNK_BITS) + 32 * holder + bit, row[k] = base + n;
            }
            f(mine, position, row);
        }
    }
};

// What is about to be sent to peer p.
DEVICE Message outgoing(const Asked& a, i64 p, i64 number) {
    const Peer& peer = peer_of(p);
    const Span span = span_of(a.leaving(peer), a.role);
    const i64 count = a.failed ? 0 : a.dense ? span.total() : FRESH(post_of(p) + COUNTED);
    const i64 kind = chosen(count, span, width_of(a.fields, a.marked), a.whole);
    const i64 rows = kind == EVERYTHING ? span.total() : count;
    Message m;
    m.place(peer.outbox[number & 1], kind, rows, rows, span, a.fields, a.marked);
    return m;
}

// What came from peer p, by whole warps. A message of another number is an old one: a transport carries nothing where nothing
// was said.
DEVICE Message incoming(const Asked& a, i64 p, i64 number) {
    const Peer& peer = peer_of(p);
    char* at = peer.inbox[number & 1];
    const i64* head = (const i64*)at;
    const Span span = span_of(a.arriving(peer), a.role);
    Message m;
    const i64 said = span.total() ? FRESH(head + lane_id() % 4) : 0; // a word a lane
    const bool none = span.total() == 0 || shuffle(said, HEADER_NUMBER) != number;
    const i64 kind = shuffle(said, HEADER_KIND), count = shuffle(said, HEADER_COUNT), stride = shuffle(said, HEADER_STRIDE);
    m.place(at, none ? NOTHING : kind, none ? 0 : count, none ? 0 : stride, span, a.fields, a.marked);
    return m;
}

// K rows of a message: the vertices at ``position``.
template <int K>
DEVICE void put(const Asked& a, const Peer& peer, const Message& m, const bool* mine, const i64* position, const i64* row) {
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

// A message's head, and what the host counts. By one thread.
DEVICE void finish(i64 p, const Message& m, i64 stride, i64 number) {
    i64 *post = post_of(p), *head = (i64*)peer_of(p).outbox[number & 1];
    post[COUNTED] = post[RESERVED] = 0, post[BYTES] = m.bytes;
    post[SENT] += m.bytes, post[SENT_MESSAGES] += m.bytes > 0;
    head[HEADER_NUMBER] = number, head[HEADER_KIND] = m.kind;
    head[HEADER_COUNT] = m.count, head[HEADER_STRIDE] = stride;
}

// Spinning. Bounded: a rank that waits for too long tells all others, and Python raises. ``told``: ``rank`` gave up
// before, or cannot go on; nobody waited that long for it here.

DEVICE void abort_wait(i64 rank, bool told) {
    atomicCAS((u64*)(env.post + POST_LATE), 0ull, (u64)(1 + rank) << 1 | told);
    for (i64 p = 0; p < env.others; p++)
        if (peer_of(p).signal) RELEASE_SYSTEM(peer_of(p).signal + SIGNAL_ABORT, 1);
}

// Whether a peer came to what ``ready`` looks for in time.
template <class F> DEVICE bool received(const Peer& peer, const F& ready) {
    if (ready()) return true;
    const u64 began = NOW(), patience = (u64)FRESH(env.post + POST_PATIENCE);
    for (u32 looks = 0; !ready(); looks++) {
        WAIT_FOR_PEER();
        if (looks % 64) continue;
        if (FRESH(env.post + POST_LATE)) return false;
        const bool told = ACQUIRE_SYSTEM(peer.signals + SIGNAL_ABORT) != 0;
        if (told || NOW() - began > patience) {
            abort_wait(peer.rank, told);
            return false;
        }
    }
    return true;
}

// A word a parity says that a message lies ready: its number, and its count where that stands in no head.
DEVICE u32 signal_word(i64 number) { return SIGNAL_NUMBER + (u32)(number & 1); }
DEVICE u64 signal_value(i64 number, i64 count) { return (u64)number << COUNT_BITS | (u64)count; }

// By every thread of a block: whether messages of all peers came.
DEVICE bool all_received(i64 number) {
    bool late = false;
    for (i64 p = threadIdx.x; p < env.peer_count; p += BLOCK) {
        const u64* word = peer_of(p).signals + signal_word(number);
        late |= !received(peer_of(p), [&]() { return ACQUIRE_SYSTEM(word) >> COUNT_BITS >= (u64)number; });
    }
    return !__syncthreads_or(late);
}

// What both ends do with a message that came.

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
            if (a.joins) front.add(joins[k], v);
        }
    }, at, step);
}
