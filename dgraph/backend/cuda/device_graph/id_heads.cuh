// The in-neighbours of smallest original id of every row, ascending. Any grid: a thread takes a row of up to ALONE edges,
// a warp a longer one. Of row v the k-th is ``heads[k * rows + v]``, NO_HEAD behind the last.

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const original_t* original;
    i64 rows;
    u32* heads;
};
CONSTANT Env env;

#define ALONE 64
#define NO_ID 0x7fffffffffffffffll

struct Least {
    i64 id[ID_HEADS];
    u32 at[ID_HEADS];

    __device__ void add(i64 id_now, u32 at_now) {
        for (int k = 0; k < ID_HEADS; k++) {
            if (id_now >= id[k]) continue;
            const i64 other = id[k];
            const u32 place = at[k];
            id[k] = id_now, at[k] = at_now, id_now = other, at_now = place;
        }
    }

    __device__ void add_row(u64 first, u64 last, u64 step) {
        for (int k = 0; k < ID_HEADS; k++) id[k] = NO_ID, at[k] = NO_HEAD;
        for (u64 e = first; e < last; e += step) {
            const u32 u = env.neighbours[e];
            add((i64)env.original[u], u);
        }
    }
};

KERNEL find_id_heads(i64) {
    const u64 rows = (u64)env.rows;
    for (u64 v = thread_rank(); v < rows; v += threads()) {
        const u64 first = env.offsets[v], last = env.offsets[v + 1];
        if (last - first > ALONE) continue;
        Least least;
        least.add_row(first, last, 1);
        for (int k = 0; k < ID_HEADS; k++) env.heads[k * rows + v] = least.at[k];
    }
    for (u64 v = warp_rank(); v < rows; v += warps()) {
        const u64 first = env.offsets[v], last = env.offsets[v + 1];
        if (last - first <= ALONE) continue;
        Least least;
        least.add_row(first + lane_id(), last, 32);
        for (int k = 0; k < ID_HEADS; k++) {
            const i64 lowest = warp_least(least.id[0]);
            const u32 lane = __ffs(ballot(least.id[0] == lowest)) - 1;
            if (lane_id() != lane) continue;
            env.heads[k * rows + v] = least.at[0];
            for (int i = 1; i < ID_HEADS; i++) least.id[i - 1] = least.id[i], least.at[i - 1] = least.at[i];
            least.id[ID_HEADS - 1] = NO_ID, least.at[ID_HEADS - 1] = NO_HEAD;
        }
    }
}
