// expand_hybrid: ``expand_balanced`` where vertices have many edges, ``expand_gather`` where they have few; and plain
// gathering by a thread a vertex once a search has gone so deep that redistribution costs more than it gives. [004 4.4]

#define DEEP 64

struct ExpandHybridRoom {
    union {
        ExpandGatherRoom gather;
        ExpandBalancedRoom balanced;
        VertexRoom direct;
    };
};

template <class V> DEVICE void expand_hybrid(V& visit, const Work& work, ExpandHybridRoom& room) {
    if (KNOWN(env.control + ROUND) >= DEEP) vertex(visit, work, room.direct);
    else if (work.edges > (u64)work.number * work.count) expand_balanced(visit, work, room.balanced);
    else expand_gather(visit, work, room.gather);
}
