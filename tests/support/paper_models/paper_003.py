"""Che et al., "Graph Coloring on the GPU" (003): Algorithms 1, 2 and 3; each loop does what the lines beside it print.

A round is a dict of ``rows`` and ``edges`` scanned and vertices ``colored``. ``rows``: neighbours of each vertex.
"""

import heapq

UNCOLORED = -1


def labelling(rows, color, number, cur_color):
    """Run one iteration of Algorithm 1, lines 2-20, and of DEGREECOLORING in Algorithm 3; return (round, cont).

    Line 9 of DEGREECOLORING sets ``flag`` where two uncoloured neighbours have one degree. Neither of them ever exceeds
    its maximum, so line 21 never decides anything beyond line 22.
    """
    cont, scanned, largest = False, {"rows": 0, "edges": 0, "colored": 0}, {}
    for i in range(len(rows)):  # line 2
        if color[i] == UNCOLORED:  # line 3
            scanned["rows"] += 1
            largest[i] = -1  # line 4
            for j in rows[i]:  # line 5
                scanned["edges"] += 1
                if color[j] == UNCOLORED:  # line 6
                    cont = True  # line 7
                    largest[i] = max(largest[i], number[j])  # lines 8-9, 13
    for i in largest:  # lines 16-17
        if number[i] > largest[i]:  # line 18
            color[i] = cur_color  # line 19
            scanned["colored"] += 1
    return scanned, cont


def hybrid(rows, node_val, stays):
    """Run HYBRID of Algorithm 3, with Algorithm 1 as its second phase; return (colours, rounds).

    ``stays(cur_color, colored)``: go on by degree, after ``cur_color`` iterations of which the last coloured that many.
    """
    degree, color, rounds, by_degree, cont = [len(row) for row in rows], [UNCOLORED] * len(rows), [], True, True
    while cont:  # HYBRID, line 3
        by_degree = by_degree and stays(len(rounds), rounds[-1]["colored"] if rounds else len(rows))  # line 5
        scanned, cont = labelling(rows, color, degree if by_degree else node_val, len(rounds))  # lines 6-8
        rounds.append(scanned)  # line 10: the next colour
    return color, rounds


def stealing(rows, color, queues, workgroup, steal):
    """Run Algorithm 2 once over all vertices; return elements by queue: (dealt, taken, stolen), lists.

    An element takes as long as its longest uncoloured row, since threads of a workgroup wait for each other (Fig. 4).
    """
    elements = -(-len(rows) // workgroup)
    left = [list(range(elements * q // queues, elements * (q + 1) // queues)) for q in range(queues)]  # line 6
    dealt, taken, stolen = [len(queue) for queue in left], [0] * queues, [0] * queues
    free = [(0, q) for q in range(queues)]
    while free:  # line 7
        now, q = heapq.heappop(free)
        victims = [q, *((q + k) % queues for k in range(1, queues) if steal)]
        victim = next((v for v in victims if left[v]), None)
        if victim is None:  # lines 12-13
            continue
        element = left[victim].pop(-1 if victim == q else 0)  # lines 8-10: the own tail, or another's head
        taken[q], stolen[q] = taken[q] + 1, stolen[q] + (victim != q)
        mine = range(element * workgroup, min((element + 1) * workgroup, len(rows)))  # line 15
        longest = max((len(rows[i]) for i in mine if color[i] == UNCOLORED), default=0)
        heapq.heappush(free, (now + longest + 1, q))
    return dealt, taken, stolen
