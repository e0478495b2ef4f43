# ruff: noqa: F821
# mypy: ignore-errors
"""Entry of threads into rounds on CPU threads: source at the end of a program's generated file; see ``phases.py``.

A generated file contains it twice. The copy ``FUSES`` serves graphs without mirrors, on which no other phase than START
runs alone; a run compiles only the one that it calls.
"""


@njit(**OPTIONS)
def work(t, team, threads, phases, limit, small, push, pull, F, P, results, arrays, words):
    """Run thread t of ``threads`` of a team (``launch.py``): one phase, or FUSED rounds; return the number of rounds.

    EDGE and VERTEX use the same counters: the exchange between them adds to those of EDGE. Fused rounds end when the
    program is done, after ``limit`` rounds, or at a frontier for which another number of threads is better: larger than
    ``small`` if that is positive, smaller than ``-small`` if negative. For EDGE, see ``run_edges``. Without a phase
    nothing happens: the caller wants the machine code, perhaps in the middle of a round.
    """
    if phases == 0:
        return 0
    begin_team(t, team, threads)
    R, W = Results(*pointers(results)), WorkArrays(*pointers(arrays))
    F, push, pull, c = pointers(F), pointers(push), pointers(pull), offset(W.states, t * STATE)
    for i in range(CONTROLS):
        c[i] = words[i]
    if PRIORITY and t == 0:
        W.shared[far_count(c)] = words[FAR]
    G = load_globals(R.integers, R.floats, c[N], c[M], c[ROUND], c[TOTAL_ACTIVE], c[BUCKET])
    barrier(W.gate, threads)
    if FUSES and phases == FUSED:
        G = run_fused(t, threads, limit, small, push, pull, F, P, G, R, W, c)
    else:
        clear_slot(t, threads, W, c)
        if phases == START:
            run_start(t, threads, F, P, G, W, c)
        elif not FUSES:
            if phases == EDGE:
                run_edges(t, threads, limit, small, push, pull, F, P, G, W, c)
            elif phases == VERTEX:
                run_vertex(t, threads, False, pull, F, P, G, W, c)
            elif PRIORITY and phases == LOWEST:
                run_lowest(t, threads, F, P, G, W, c)
            elif PRIORITY and phases == OPEN:
                run_open(t, threads, push, F, P, G, W, c)
        base = slot(c)
        c[MIRRORS_TOUCHED] = load_acquire(W.shared, base + MIRROR_TAIL)
        c[DIRTIED] = load_acquire(W.shared, base + DIRTY_TAIL)
        if phases != EDGE:
            c[TICK] += 1
        if t == 0:
            for i in range(SUMS):
                R.sums[8 * i] = load_acquire(W.shared, base + SUMS_AT + 8 * i)
            if FLOAT_SUMS:
                store_floats(R.float_sums, fold_parts(W.parts, blocks_of(c)))
    rounds = c[ROUND] - words[ROUND]
    barrier(W.gate, threads)
    if t == 0:
        if FUSES and phases == FUSED:
            store_globals(G, R.integers, R.floats)
        c[ACTIVE] = c[QUEUED]
        for i in range(CONTROLS):
            words[i] = c[i]
    end_team(t, team, threads)
    return rounds
