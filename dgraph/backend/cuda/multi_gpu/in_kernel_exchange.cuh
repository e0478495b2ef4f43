// Exchanges and agreements inside the kernel of many rounds (multi_gpu_rounds.cuh).

// What the first block heard, in a block's own memory: totals and sums as they lie behind POST_TOTALS, rows that came, and
// whether a rank did not answer.
struct Heard {
    i64 totals[TOTAL_SUMS + 8 * (SUMS ? SUMS : 1)], rows;
    bool late;
};

// Who takes the messages of exchange ``number``: ``all`` warps, this one the ``warp``-th. ``few``: a block is alone with few
// rows.
struct Takers {
    i64 number, most_few;
    u32 warp, all;
    bool few;

    // Several peers at a time. A message that tells in its head what it is may be bits, which all look at together.
    // ``take(peer, message, at, step)`` takes every ``step``-th row, the ``at``-th first.
    template <class F> __device__ void each(const Asked& a, const F& take) const {
        const u32 peers = (u32)env.peer_count, share = larger(all / peers, 1u), sides = all / share;
        for (u32 p = 0; p < peers; p++) {
            const u64 said = FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD;
            const bool together = !few && said == COUNT_IN_HEAD;
            if (!together && warp / share != p % sides) continue;
            const u32 mine = together ? warp : warp % share, of = together ? all : share;
            take(peer_of(p), incoming_any(a, p, number, most_few), (u64)(mine * 32 + lane_id()), (u64)(of * 32));
        }
    }
};

struct ExchangeRoom {
    PackRoom pack;
    Totalled totals;
    Heard received;
};

struct Exchanger {
    ExchangeRoom& said;
    Gate gate;
    Agreement agreement;
    i64 number, most_few;
    i64 packing, waiting, unpacking; // nanoseconds of the first thread

    __device__ void begin_exchanges() {
        const i64* post = env.post;
        gate = {(u32)KNOWN(env.control + GATE), (u32)KNOWN(post + POST_GO), env.gate, (u32*)(env.post + POST_GO)};
        number = KNOWN(post + POST_NUMBER), agreement.stamp = KNOWN(post + POST_STAMP), most_few = KNOWN(post + POST_FEW);
        packing = waiting = unpacking = 0;
    }

    // By one thread.
    __device__ void end_exchanges() const {
        env.control[GATE] = gate.due, env.post[POST_NUMBER] = number, env.post[POST_STAMP] = agreement.stamp;
        env.post[POST_PACKING] += packing, env.post[POST_WAITING] += waiting, env.post[POST_UNPACKING] += unpacking;
    }

    // Rows that came from all peers; -1: too many for one block, or not counted. By whole warps.
    __device__ i64 few_received() const {
        i64 rows = 0;
        for (i64 p = lane_id(); p < env.peer_count; p += 32)
            rows += (i64)(FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD);
        rows = warp_sum(rows);
        return rows > FEW_ROWS ? -1 : rows;
    }

    // What the first block heard, for all threads: one warp a block asks for it.
    __device__ void share(bool totals) {
        __syncthreads();
        if (warp_in_block() == 0) {
            for (int k = lane_id(); totals && k < TOTAL_SUMS + 8 * SUMS; k += 32)
                said.received.totals[k] = FRESH(env.post + POST_TOTALS + k);
            const i64 rows = few_received();
            if (lane_id() == 0) said.received.rows = rows, said.received.late = FRESH(env.post + POST_LATE) != 0;
        }
        __syncthreads();
    }

    // One exchange: all blocks write, the first posts and waits for what all peers posted; ``sent``: edges have written
    // already; ``pending``: and for the totals of the round before, which were on their way. ``take(by)`` takes what came; a
    // few rows the first block takes by itself. Whether all blocks took some, so that they have to meet before what came is
    // complete.
    template <class F>
    __device__ bool exchange(const Asked& a, const News& news, bool sent, bool pending, const F& take) {
        const u64 start = NOW();
        number++;
        const bool appends = sent || (!a.marked && news.count <= (u64)most_few);
        if (!appends) gate.due = pack_all(a, news, number, gate.due, said.pack);
        else if (!sent && news.count) append(a, news, number, most_few);
        gate.around([&]() {
            if (appends) post_few(a, number);
            else post_all(a, number);
            const u64 posted = NOW();
            if (pending) agreement.begin(said.totals), agreement.collect(said.totals, SUMS > 0);
            wait_for_messages(number);
            if (pending) agreement.keep(said.totals);
            __syncthreads();
            const u64 came = NOW();
            if (few_received() > 0 && !FRESH(env.post + POST_LATE)) take({number, most_few, warp_in_block(), BLOCK / 32, true});
            if (threadIdx.x) return;
            if (LOCAL_ROUNDS && a.reduces) env.post[POST_MIRRORS] = 0;
            packing += (i64)(posted - start), waiting += (i64)(came - posted), unpacking += (i64)(NOW() - came);
        });
        if (!appends && a.marked) mark_active(news, true);
        share(pending);
        if (said.received.rows >= 0 || said.received.late) return false;
        const u64 came = NOW();
        take({number, most_few, (u32)warp_rank(), (u32)warps(), false});
        if (thread_rank() == 0) unpacking += (i64)(NOW() - came);
        return true;
    }

    // The totals that were shared last.
    __device__ Totals shared_totals() const { return totals_in(said.received.totals, said.received.late); }
    __device__ void with_shared(Globals& G) const { with_sums(G, said.received.totals + TOTAL_SUMS); }
};
