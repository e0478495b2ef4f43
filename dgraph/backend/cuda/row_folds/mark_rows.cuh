// Mark the rows to fold along the out-edges of active vertices: all rows that they reach, or with SUPPORTS those whose
// support gets less than their bound. Warps take equal pieces of the edges (``warp_search.cuh``).

// Most edges of a piece; a warp searches for the source of the first edge.
#define MARKED_PIECE 1024

// Visit of edges u → v by ``search_pieces``.
struct Marking {
    Globals G;

    __device__ Source source(bool mine, u32 u) const {
        Source none = Source();
        return mine ? at_source(G, u) : none;
    }

    // Take u off the support of v if the key of u has fallen below the bound of v. True if v had just enough: v is
    // folded in this round, which counts its support again.
    __device__ bool takes_last(u32 u, i64 key, u32 v, i64 bound) const {
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
            const bool folds = may[k] && (!SUPPORTS || takes_last(u[k], key[k], v[k], bound[k]));
            if (folds && !(fresh(word) & bit)) atomicOr(word, bit);
        }
    }
};

DEVICE void mark_along(const Globals& G, const Work& work) {
    Marking marking = {G};
    const u64 least = 32 * AT_ONCE, each = work.edges / warps() / least * least;
    search_pieces<AT_ONCE>(marking, work, smaller(larger(each, least), (u64)MARKED_PIECE));
}
