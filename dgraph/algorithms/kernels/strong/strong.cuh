// Strongly connected components around and beside one of them, on one GPU.
// [Fleischer, Hendrickson & Pinar 2000; Alabandi, Sands, Biros & Burtscher, SC 2023: ECL-SCC]
//
// The component of a pivot is what a search along arcs and one against them reach. Vertices without an arc from or to their
// part are trimmed. Vertices that have arcs to each other are contracted by union-find, which leaves little of a road network,
// and the contracted ones trimmed. Then each takes the smallest one that reaches it and the smallest that it reaches, both at
// once over a list of arcs, with a look at what those know (path compression). Equal ones name a component; arcs between
// different pairs leave the list, and the rest begins again. Values only fall and always name a vertex that reaches, so an
// old value is only less good; a launch that lowered none has read the final ones.

struct Env {
    const offset_t* offsets;
    const u32* neighbours;
    const offset_t* incoming_offsets;
    const u32* incoming;
    const original_t* original;
    const int *ahead, *behind; // levels of the two searches
    u8* part; // DONE, or which of the searches reached the vertex
    u32* component; // a vertex of it; parents while vertices are contracted
    u32 *into, *out_of; // by place in ``vertices``: place of the smallest vertex that reaches it, and that it reaches
    u32* number; // place of a vertex in the list that follows, or NO_HEAD: by vertex, once they are contracted by place
    const u32* vertices; // list of undecided vertices; null: all
    u32* vertices_left;
    const u32 *from, *to; // list of arcs, by places of their ends
    u32 *from_left, *to_left;
    u32* sizes;
    const u32* labelled; // vertices whose labels are written; null: all
    i64* labels;
    i64* names; // smallest id, at the vertex that names a component
    u64* products; // by warp: the largest in-degree times out-degree that it has seen
    u32* candidates; // a vertex of it
    u64* counts; // vertices left, arcs left, changes, components, vertices of the pivot's
    i64 n, pivot, vertex_count, arc_count, capacity, label_count;
};
CONSTANT Env env;

#define DONE 0
#define VERTICES_LEFT 0
#define ARCS_LEFT 1
#define CHANGES 2
#define COMPONENTS 3
#define OF_PIVOT 4
#define NOT_REACHED 0x7fffffff
#define ARCS_AT_ONCE 4
#define SWEEPS 32 // of a block over its arcs before it takes others

// Append to a list whose length is counted: by whole warps. Returns the place.
DEVICE u64 place_in(int counter, bool mine) {
    const u32 all = ballot(mine);
    u64 at = lane_id() == 0 && all ? atomicAdd(env.counts + counter, (u64)__popc(all)) : 0;
    return shuffle(at, 0) + __popc(all & ((1u << lane_id()) - 1));
}

KERNEL find_pivot(i64) {
    u64 most = 0;
    u32 vertex = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u64 leaving = (u64)(env.offsets[v + 1] - env.offsets[v]);
        const u64 product = leaving ? leaving * (u64)(env.incoming_offsets[v + 1] - env.incoming_offsets[v]) : 0;
        if (product > most) most = product, vertex = (u32)v;
    }
    for (u32 other = 16; other; other /= 2) {
        const u64 product = shuffle(most, lane_id() ^ other);
        const u32 v = shuffle(vertex, lane_id() ^ other);
        if (product > most || (product == most && v < vertex)) most = product, vertex = v;
    }
    if (lane_id() == 0) env.products[warp_rank()] = most, env.candidates[warp_rank()] = vertex;
}

KERNEL begin_parts(i64) {
    u64 count = 0;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const bool ahead = env.ahead[v] != NOT_REACHED, behind = env.behind[v] != NOT_REACHED;
        env.part[v] = ahead && behind ? DONE : 1 + ahead + 2 * behind;
        env.component[v] = ahead && behind ? (u32)env.pivot : (u32)v;
        count += ahead && behind;
    }
    count = warp_sum(count);
    if (lane_id() == 0 && count) atomicAdd(env.counts + OF_PIVOT, count);
}

// True for vertices that have a neighbour of their part in a row: by lanes for short rows, by warps for others.
DEVICE bool has_neighbour(bool asks, u32 v, u8 part, const offset_t* offsets, const u32* neighbours) {
    const offset_t first = asks ? offsets[v] : 0, last = asks ? offsets[v + 1] : 0;
    const bool longer = last - first > SHORT_ROW;
    bool found = false;
    for (offset_t e = first; !longer && !found && e < last; e++) {
        const u32 u = neighbours[e];
        found = u != v && env.part[u] == part;
    }
    for (u32 left = ballot(longer); left; left &= left - 1) {
        const u32 lane = __ffs(left) - 1, row = shuffle(v, lane), wanted = shuffle((u32)part, lane);
        const offset_t end = shuffle(last, lane);
        bool any = false;
        for (offset_t e = shuffle(first, lane) + lane_id(); !any && e - lane_id() < end; e += 32) {
            const u32 u = e < end ? neighbours[e] : row;
            any = ballot(u != row && env.part[u] == wanted) != 0;
        }
        if (lane_id() == lane) found = any;
    }
    return found;
}

// Decide vertices that no arc of their part enters, or none leaves; list the others.
KERNEL trim(i64) {
    const u64 count = (u64)env.vertex_count;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 v = i < count ? env.vertices ? env.vertices[i] : (u32)i : 0;
        const u8 part = i < count ? env.part[v] : DONE;
        bool stays = has_neighbour(part != DONE, v, part, env.offsets, env.neighbours);
        stays = has_neighbour(stays, v, part, env.incoming_offsets, env.incoming);
        if (part != DONE && !stays) env.part[v] = DONE;
        const u64 at = place_in(VERTICES_LEFT, stays);
        if (stays) env.vertices_left[at] = v;
    }
}

// Join vertices of short rows that have arcs to each other.
KERNEL contract(i64) {
    for (u64 i = thread_rank(); i < (u64)env.vertex_count; i += threads()) {
        const u32 v = env.vertices[i];
        const offset_t first = env.offsets[v], last = env.offsets[v + 1];
        const offset_t begin = env.incoming_offsets[v], end = env.incoming_offsets[v + 1];
        if (env.part[v] == DONE || last - first > SHORT_ROW || end - begin > SHORT_ROW) continue;
        for (offset_t e = first; e < last; e++) {
            const u32 u = env.neighbours[e];
            bool back = false;
            for (offset_t r = begin; u < v && !back && r < end; r++) back = env.incoming[r] == u;
            if (back) join_in(env.component, u, v);
        }
    }
}

// Make every vertex a child of its root, and list the roots. Path halving could undo the store of another thread.
KERNEL flatten(i64) {
    const u64 count = (u64)env.vertex_count;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 v = i < count ? env.vertices[i] : 0, root = i < count ? root_now_in(env.component, v) : 0;
        const bool stays = i < count && root == v;
        if (i < count && !stays) env.component[v] = root;
        const u64 at = place_in(VERTICES_LEFT, stays);
        if (stays) env.vertices_left[at] = v, env.number[v] = (u32)at;
    }
}

// List the arcs inside parts, between roots.
KERNEL list_arcs(i64) {
    const u64 count = (u64)env.vertex_count;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 v = i < count ? env.vertices[i] : 0;
        const u8 part = i < count ? env.part[v] : DONE;
        const offset_t first = part != DONE ? env.offsets[v] : 0, last = part != DONE ? env.offsets[v + 1] : 0;
        const bool longer = last - first > SHORT_ROW;
        const auto list = [&](bool mine, u32 row, u32 wanted, offset_t e) {
            const u32 u = mine ? env.neighbours[e] : row;
            mine = mine && u != row && env.part[u] == wanted;
            const u32 from = env.component[row], to = env.component[u];
            mine = mine && from != to;
            const u64 at = place_in(ARCS_LEFT, mine);
            if (mine && at < (u64)env.capacity) env.from_left[at] = env.number[from], env.to_left[at] = env.number[to];
        };
        for (offset_t e = first; ballot(!longer && e < last); e++) list(!longer && e < last, v, part, e);
        for (u32 left = ballot(longer); left; left &= left - 1) {
            const u32 lane = __ffs(left) - 1, row = shuffle(v, lane), wanted = shuffle((u32)part, lane);
            const offset_t end = shuffle(last, lane);
            for (offset_t e = shuffle(first, lane) + lane_id(); e - lane_id() < end; e += 32) list(e < end, row, wanted, e);
        }
    }
}

// Note which vertices arcs enter and leave, by the number of the pass.
KERNEL mark_ends(i64 pass) {
    for (u64 i = thread_rank(); i < (u64)env.arc_count; i += threads())
        env.into[env.to[i]] = (u32)pass, env.out_of[env.from[i]] = (u32)pass;
}

// Keep a vertex of the list, and its number in the next list. By whole warps.
DEVICE void keep_vertex(u64 i, bool stays) {
    const u64 at = place_in(VERTICES_LEFT, stays);
    if (stays) env.vertices_left[at] = env.vertices[i];
    if (i < (u64)env.vertex_count) env.number[i] = stays ? (u32)at : NO_HEAD;
}

// Keep vertices with both kinds of arcs; the others are components by themselves.
KERNEL trim_ends(i64 pass) {
    const u64 count = (u64)env.vertex_count;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads())
        keep_vertex(i, i < count && env.into[i] == (u32)pass && env.out_of[i] == (u32)pass);
}

KERNEL begin_names(i64) {
    for (u64 i = thread_rank(); i < (u64)env.vertex_count; i += threads()) env.into[i] = env.out_of[i] = (u32)i;
}

// Lower what v knows to what u knows, and what the vertex that u names knows. Returns whether it fell.
DEVICE bool lower(u32* known, u32 v, u32 u) {
    const u32 own = FRESH(known + v), name = FRESH(known + u);
    if (name >= own) return false;
    const u32 least = smaller(name, FRESH(known + name));
    return atomicMin(known + v, least) > least;
}

// A block repeats its arcs until none lowers a name, or some times. Any grid.
KERNEL propagate(i64) {
    const u64 count = (u64)env.arc_count, piece = (u64)ARCS_AT_ONCE * BLOCK;
    bool changed = false;
    for (u64 begin = blockIdx.x * piece; begin < count; begin += gridDim.x * piece) {
        u32 u[ARCS_AT_ONCE], v[ARCS_AT_ONCE];
        for (int k = 0; k < ARCS_AT_ONCE; k++) {
            const u64 e = begin + k * BLOCK + threadIdx.x;
            u[k] = e < count ? env.from[e] : 0, v[k] = e < count ? env.to[e] : 0;
        }
        bool lowered = true;
        for (int sweep = 0; sweep < SWEEPS && __syncthreads_or(lowered); sweep++) {
            lowered = false;
            for (int k = 0; k < ARCS_AT_ONCE; k++) {
                if (u[k] == v[k]) continue;
                lowered |= lower(env.into, v[k], u[k]);
                lowered |= lower(env.out_of, u[k], v[k]);
            }
            changed |= lowered;
        }
    }
    if (ballot(changed) && lane_id() == 0) env.counts[CHANGES] = 1;
}

// Decide vertices whose two names are equal; keep the others.
KERNEL decide(i64) {
    const u64 count = (u64)env.vertex_count;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 name = i < count ? env.into[i] : 0;
        const bool stays = i < count && name != env.out_of[i];
        if (i < count && !stays) env.component[env.vertices[i]] = env.vertices[name];
        keep_vertex(i, stays);
    }
}

// Keep the arcs between remaining vertices; if ``named``, only of equal names.
KERNEL shrink(i64 named) {
    const u64 count = (u64)env.arc_count;
    for (u64 i = thread_rank(); i - lane_id() < count; i += threads()) {
        const u32 u = i < count ? env.from[i] : 0, v = i < count ? env.to[i] : 0;
        const u32 from = env.number[u], to = env.number[v];
        bool stays = i < count && from != NO_HEAD && to != NO_HEAD;
        stays = stays && (!named || (env.into[u] == env.into[v] && env.out_of[u] == env.out_of[v]));
        const u64 at = place_in(ARCS_LEFT, stays);
        if (stays) env.from_left[at] = from, env.to_left[at] = to;
    }
}

KERNEL begin_labels(i64) {
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) env.names[v] = (i64)env.original[v], env.sizes[v] = 1;
}

// The smallest id and the size of every component, and their number; for the pivot's by warps.
KERNEL name_components(i64) {
    u64 components = 0;
    i64 least = 0x7fffffffffffffffll;
    for (u64 v = thread_rank(); v < (u64)env.n; v += threads()) {
        const u32 name = env.component[env.component[v]];
        const i64 id = (i64)env.original[v];
        components += name == (u32)v;
        if (name == (u32)env.pivot) least = smaller(least, id);
        else if (name != (u32)v) {
            if (id < env.names[name]) atomicMin(env.names + name, id);
            atomicAdd(env.sizes + name, 1u);
        }
    }
    least = warp_least(least), components = warp_sum(components);
    if (lane_id() == 0 && least < env.names[env.pivot]) atomicMin(env.names + env.pivot, least);
    if (lane_id() == 0 && components) atomicAdd(env.counts + COMPONENTS, components);
}

KERNEL write_labels(i64) {
    for (u64 i = thread_rank(); i < (u64)env.label_count; i += threads()) {
        const u32 v = env.labelled ? env.labelled[i] : (u32)i;
        env.labels[i] = env.names[env.component[env.component[v]]];
    }
}
