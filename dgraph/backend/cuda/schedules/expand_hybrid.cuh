// expand_hybrid: ``expand_balanced`` above ``work.number`` edges a vertex, ``expand_gather`` below [004, 4.4].
//
// From round DEEP of a search on, redistribution costs more than it saves: then a thread walks each vertex (``vertex``).

struct ExpandHybridRoom {
    union {
        ExpandGatherRoom gather;
        ExpandBalancedRoom balanced;
        VertexRoom direct;
    };
};

template <class V> DEVICE void expand_hybrid(V& visit, const Work& work, ExpandHybridRoom& room) {
    if (KNOWN(&env.control->round) >= DEEP) vertex(visit, work, room.direct);
    else if (work.edges > (u64)work.number * work.count) expand_balanced(visit, work, room.balanced);
    else expand_gather(visit, work, room.gather);
}
