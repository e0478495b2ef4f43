// Exchange and allreduce inside the persistent multi-GPU kernel (multi_gpu_rounds.cuh).

// Results of the first block, copied to shared memory: totals and sums as they lie in ``ExchangeState``, rows received
// (-1: too many for one block), and whether a rank did not answer.
struct RoundResult {
    i64 totals[TOTAL_SUMS + 8 * (SUMS ? SUMS : 1)], rows;
    bool late;
};

// Warps that read the messages of exchange ``number``: ``all`` warps, this one the ``warp``-th. ``few``: the first
// block reads a few rows alone.
struct Receivers {
    i64 number, most_few;
    u32 warp, all;
    bool few;

    // Call ``take(peer, message, at, step)`` for each message: it reads row ``at`` and every ``step``-th after it.
    // Peers are divided among the warps, but all warps share a message with a header, which may be a bitset.
    template <class F> __device__ void each(const Asked& a, const F& take) const {
        const u32 peers = (u32)env.peer_count, share = larger(all / peers, 1u), sides = all / share;
        for (u32 p = 0; p < peers; p++) {
            const u64 rows = FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD;
            const bool together = !few && rows == COUNT_IN_HEAD;
            if (!together && warp / share != p % sides) continue;
            const u32 own = together ? warp : warp % share, of = together ? all : share;
            take(peer_of(p), incoming_any(a, p, number, most_few), (u64)(own * 32 + lane_id()), (u64)(of * 32));
        }
    }
};

// Rounds of a rank alone between exchanges.
#define LOCAL_ROUNDS (MIRROR_PROPOSALS == PROPOSALS_KEPT)

struct ExchangeRoom {
    PackRoom pack;
    Totalled totals;
    RoundResult received;
};

struct Exchanger {
    ExchangeRoom& shared;
    Gate gate;
    Agreement agreement;
    i64 number, most_few;
    i64 packing, waiting, unpacking; // nanoseconds of the first thread

    __device__ void begin_exchanges() {
        const ExchangeState* post = env.post;
        gate = {(u32)KNOWN(&env.control->gate), (u32)KNOWN(&post->releases), env.gate, (u32*)&env.post->releases};
        number = KNOWN(&post->number), agreement.stamp = KNOWN(&post->stamp), most_few = KNOWN(&post->offset_limit);
        packing = waiting = unpacking = 0;
    }

    // Store the state for the kernels that follow. By one thread.
    __device__ void end_exchanges() const {
        env.control->gate = gate.due, env.post->number = number, env.post->stamp = agreement.stamp;
        env.post->packing += packing, env.post->waiting += waiting, env.post->unpacking += unpacking;
    }

    // Count the rows from all peers; -1: too many for one block, or some message has a header. By whole warps.
    __device__ i64 few_received() const {
        i64 rows = 0;
        for (i64 p = lane_id(); p < env.peer_count; p += 32)
            rows += (i64)(FRESH(peer_of(p).signals + signal_word(number)) & COUNT_IN_HEAD);
        rows = warp_sum(rows);
        return rows > FEW_ROWS ? -1 : rows;
    }

    // Copy the first block's results to shared memory of every block: one warp a block reads them.
    __device__ void share(bool totals) {
        __syncthreads();
        if (warp_in_block() == 0) {
            for (int k = lane_id(); totals && k < TOTAL_SUMS + 8 * SUMS; k += 32)
                shared.received.totals[k] = FRESH(env.post->totals + k);
            const i64 rows = few_received();
            if (lane_id() == 0) shared.received.rows = rows, shared.received.late = FRESH(&env.post->stalled) != 0;
        }
        __syncthreads();
    }

    // One exchange. All blocks pack, the first posts and waits for all peers; it also collects the totals of the round
    // before if they are ``pending``. ``sent``: the edge operator has written the messages already. The first block
    // applies a few rows by itself with ``take(by)``, else all blocks do. Returns true in the latter case: a grid
    // barrier is needed before the result is complete.
    template <class F>
    __device__ bool exchange(const Asked& a, const ChangeLists& news, bool sent, bool pending, const F& take) {
        const u64 start = NOW();
        number++;
        const bool appends = sent || (!a.marked && news.count <= (u64)most_few);
        if (!appends) gate.due = pack_all(a, news, number, gate.due, shared.pack);
        else if (!sent && news.count) append(a, news, number, most_few);
        gate.around([&]() {
            if (appends) post_few(a, number);
            else post_all(a, number);
            const u64 posted = NOW();
            if (pending) agreement.begin(shared.totals), agreement.collect(shared.totals, SUMS > 0);
            wait_for_messages(number);
            if (pending) agreement.keep(shared.totals);
            __syncthreads();
            const u64 came = NOW();
            if (few_received() > 0 && !FRESH(&env.post->stalled)) take({number, most_few, warp_in_block(), BLOCK / 32, true});
            if (threadIdx.x) return;
            if (LOCAL_ROUNDS && a.reduces) env.post->mirrors = 0;
            packing += (i64)(posted - start), waiting += (i64)(came - posted), unpacking += (i64)(NOW() - came);
        });
        if (!appends && a.marked) mark_active(news, true);
        share(pending);
        if (shared.received.rows >= 0 || shared.received.late) return false;
        const u64 came = NOW();
        take({number, most_few, (u32)warp_rank(), (u32)warps(), false});
        if (thread_rank() == 0) unpacking += (i64)(NOW() - came);
        return true;
    }

    // Totals of the last ``share(true)``.
    __device__ Totals shared_totals() const { return totals_in(shared.received.totals, shared.received.late); }
    __device__ void with_shared(Globals& G) const { with_sums(G, shared.received.totals + TOTAL_SUMS); }
};
