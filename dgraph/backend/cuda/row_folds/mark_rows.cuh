// Rows to fold, marked along the out-edges of active vertices: all that they reach, or with SUPPORTS those whose support gets
// less than their bound. Warps take equal pieces of the edges (``warp_search.cuh``).

// Most edges of a piece: a warp searches for the source of its first.
#define MARKED_PIECE 1024

struct Marking {
    Globals G;

    __device__ Source source(bool mine, u32 u) const {
        Source none = Source();
        return mine ? at_source(G, u) : none;
    }

    // Take u off the support of v if its key has fallen below the bound of v; whether v lacks it now. A row has the support
    // that it needs until then, and is folded in the same round.
    __device__ bool is_lacked(u32 u, i64 key, u32 v, i64 bound) const {
        if (key >= bound || bound > (i64)env.fold_was[u]) return false;
        return (i64)atomicAdd(env.fold_support + v, EVERY_LANE) == bound;
    }

    template <int K>
    __device__ void batch(const bool (&has)[K], const offset_t (&e)[K], const u32 (&u)[K], const Source (&s)[K]) const {
        u32 v[K];
        i64 key[K], bound[K];
        bool may[K];
        for (int k = 0; k < K; k++) v[k] = has[k] ? streamed(env.out_neighbours + e[k]) : 0;
        for (int k = 0; k < K; k++) {
            key[k] = SUPPORTS ? propose(G, s[k], (weight_t)1, v[k]).p0 : 0;
            may[k] = has[k] && !(SUPPORTS && keys_end(v[k], key[k]));
        }
        for (int k = 0; k < K; k++) bound[k] = SUPPORTS && may[k] ? fold_ceiling(v[k]) : 0;
        for (int k = 0; k < K; k++) {
            u32 *word = env.fold_marks + (v[k] >> 5), bit = 1u << (v[k] & 31);
            if (may[k] && (!SUPPORTS || is_lacked(u[k], key[k], v[k], bound[k])) && !(fresh(word) & bit)) atomicOr(word, bit);
        }
    }
};

DEVICE void mark_along(const Globals& G, const Work& work) {
    Marking marking = {G};
    const u64 least = 32 * AT_ONCE, each = work.edges / warps() / least * least;
    search_pieces<AT_ONCE>(marking, work, smaller(larger(each, least), (u64)MARKED_PIECE));
}
