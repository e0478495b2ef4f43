// Find the rows to fold along the out-edges of active vertices. All rows that they reach are marked, a bit each. With
// SUPPORTS only rows whose support gets less than their bound are folded. One edge of each finds that, so these rows
// make the list of touched vertices. Warps take equal pieces of the edges (``warp_shares.cuh``).

// Most edges of a piece; a warp searches for the source of the first edge.
#define MARKED_PIECE 1024

// Visit of edges u → v by ``search_pieces``.
struct Marking {
    Globals G;
    List rows;

    __device__ Source source(bool mine, u32 u) const {
        Source none = Source();
        return mine ? at_source(G, u) : none;
    }

    // Take u off the support of v if the key of u has fallen below the bound of v. True if v had just enough: v is
    // folded in this round, which counts its support again.
    __device__ bool takes_last(i64 was, i64 key, u32 v, i64 bound) const {
        if (key >= bound || bound > was) return false;
        return (i64)atomicAdd((u32*)(env.fold_support + v), EVERY_LANE) == bound;
    }

    template <int K>
    __device__ void batch(const bool (&has)[K], const offset_t (&e)[K], const u32 (&u)[K], const Source (&s)[K]) {
        u32 v[K];
        i64 key[K], bound[K], was[K];
        bool folds[K];
        for (int k = 0; k < K; k++) v[k] = has[k] ? streamed(env.out_neighbours + e[k]) : 0;
        for (int k = 0; k < K; k++) {
            key[k] = SUPPORTS ? propose(G, s[k], (weight_t)1, v[k]).p0 : 0;
            folds[k] = has[k] && !(SUPPORTS && keys_end(v[k], key[k]));
        }
        for (int k = 0; k < K; k++) {
            bound[k] = SUPPORTS && folds[k] ? fold_ceiling(v[k]) : 0;
            was[k] = SUPPORTS && folds[k] ? (i64)((const u32*)(env.fold_support + u[k]))[1] : 0;
        }
        for (int k = 0; k < K; k++) folds[k] = folds[k] && (!SUPPORTS || takes_last(was[k], key[k], v[k], bound[k]));
        for (int k = 0; k < K; k++) {
            u32 *word = env.fold_marks + (v[k] >> 5), bit = 1u << (v[k] & 31);
            if (SUPPORTS) rows.add(folds[k], v[k]);
            else if (folds[k] && !(fresh(word) & bit)) atomicOr(word, bit);
        }
    }
};

struct MarkRoom {
    u32 held[BLOCK / 32][STAGED_VERTICES];
};

DEVICE void mark_along(const Globals& G, const Work& work, i64* slot, MarkRoom& room) {
    Marking marking = {G};
    marking.rows.open(room.held[warp_in_block()], env.touched, slot + TOUCHED_TAIL);
    const u64 least = 32 * AT_ONCE, each = work.edges / warps() / least * least;
    search_pieces<AT_ONCE>(marking, work, smaller(larger(each, least), (u64)MARKED_PIECE));
    marking.rows.close();
}
