"""NumPy versions of compiled functions for small arrays do what the compiled ones do."""

import ast

import numpy as np
import pytest
from children import ROOT

from dgraph._support import compiled
from dgraph.algorithms.kernels.components import union_find
from dgraph.backend.cpu.threads import field_figures
from dgraph.engine.sync import bitset_kernels as kernels
from dgraph.graph import rows
from dgraph.graph.build import clean_kernels, fingerprint, local_graph, weights
from dgraph.graph.generators import random_graphs
from dgraph.graph.generators.counter import key, scramble_keys
from partitioning.arrays import gidset, lazy_numba
from partitioning.arrays.lazy_numba import Deferred

N, FIRST = 40, 7


def unsorted_rows(seed, count, kind):
    """Return offsets, targets with repetitions and loops, and weights."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.sort(rng.integers(0, count + 1, N - 1)), [count]]).astype(np.int64)
    targets = rng.integers(0, N, count).astype(np.uint32)
    kinds = {"none": None, "int": rng.integers(0, 5, count).astype(np.int32)}
    kinds["float"] = rng.choice([0.0, -0.0, 0.5, 2.0], count)
    return offsets, targets, kinds[kind]


def calls(seed, count, kind):
    """Yield a compiled function, its version for few elements, arguments, and the positions of those it changes."""
    rng = np.random.default_rng(seed)
    offsets, targets, of_edges = unsorted_rows(seed, count, kind)
    scratch = np.empty(count, np.uint32), None if of_edges is None else np.empty_like(of_edges), np.empty(257, np.int64)
    yield rows._sort, rows._sort_few, (offsets, targets, of_edges, *scratch), (1, 2)
    longer = offsets, np.append(targets, np.arange(5, dtype=np.uint32))
    yield rows._sort, rows._sort_few, (*longer, None, scratch[0], None, scratch[2]), (1,)
    yield rows._merge, rows._merge_few, (*longer, None, FIRST), (0, 1)
    yield fingerprint.arc_sums, fingerprint._few_arc_sums, (*longer, fingerprint.UNIT, FIRST, True), ()
    order = np.lexsort((targets, rows._rows_of(offsets)))
    in_order = offsets, targets[order], None if of_edges is None else of_edges[order]
    yield rows._merge, rows._merge_few, (*in_order, FIRST), (0, 1, 2)
    yield clean_kernels.count_loops, clean_kernels._count_few_loops, (*in_order[:2], FIRST), ()
    bits = fingerprint.weight_bits(of_edges)
    yield fingerprint.arc_sums, fingerprint._few_arc_sums, (offsets, targets, bits, FIRST, False), ()
    sources = (targets + FIRST).astype(np.uint32)
    yield rows._count, rows._count_few, (sources, FIRST, np.zeros(N + 1, np.int64)), (2,)
    yield rows._count_columns, rows._count_few_columns, (targets, FIRST, np.zeros(N - FIRST, np.uint32)), (2,)
    cursor = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=N))[:-1]])
    put = np.empty(count, np.uint32), None if of_edges is None else np.empty_like(of_edges)
    yield rows._place, rows._place_few, (sources, targets[::-1].copy(), of_edges, FIRST, cursor, *put), (4, 5, 6)
    turned = np.empty(count, np.uint32), None if of_edges is None else np.empty_like(of_edges)
    for turns in (None, rng.permutation(N)):
        yield rows._turn, rows._turn_few, (offsets, targets, of_edges, turns, cursor, *turned), (4, 5, 6)
    if kind != "none":
        return
    yield from calls_of_builds(rng, targets, cursor)
    yield from calls_of_components(rng, targets)
    yield from calls_of_messages(rng, np.unique(targets), targets)
    ends = targets, targets[::-1].copy()
    for directed in (True, False):
        rule = directed, key(seed, 3), -4, np.uint64(9), np.empty(count, np.int32)
        yield weights._fill_integers, weights._fill_few_integers, (*ends, *rule), (6,)
    for permute in (True, False):
        drawn = 5, 6, 0.57, 0.76, 0.95, key(seed, 1), permute, scramble_keys(seed, 2), *np.empty((2, count), np.uint32)
        yield random_graphs._fill_rmat, random_graphs._fill_few_rmat, drawn, (8, 9)
    values = rng.choice([3, 9, 2**31 - 1], count).astype(np.int32)
    end, degrees = np.iinfo(np.int32).max, rng.integers(0, 9, count)
    parts = 0, np.zeros(1, np.int64), 1, values, end, degrees, np.zeros((1, 8), np.int64), np.zeros((1, 8), np.int64)
    yield field_figures.count, field_figures._count_few, parts, (6, 7)


def calls_of_components(rng, targets):
    """Yield calls of the kernels of connected components: of a whole forest, and of its labels."""
    edges = np.sort(rng.integers(0, targets.size + 1, N - 1))
    ends = np.repeat(np.arange(N), np.diff(np.concatenate([[0], edges, [targets.size]]))), targets
    order = np.argsort(sources := np.concatenate(ends), kind="stable")  # both arcs of an edge, as the kernel takes them
    neighbours = np.concatenate(ends[::-1])[order].astype(np.uint32)
    offsets = np.searchsorted(sources[order], np.arange(N + 1))
    original = rng.permutation(N)
    words = np.zeros(8, np.int64)
    parent, lowest, scratch = np.empty(N, np.uint32), original.copy(), np.empty(2 * N, np.uint32)
    rest = np.zeros(0, np.uint32), scratch, np.empty(union_find.PROBES, np.uint32), np.zeros(72, np.int64)
    arguments = 0, words, 1, offsets, neighbours, rest[0], original, 0, parent, lowest, *rest, np.zeros(16, np.int64)
    yield union_find.components, union_find.few_components, arguments, (8, 9)
    forest = np.minimum(np.arange(N), rng.integers(0, 5, N)).astype(np.uint32)
    label, vertices = rng.integers(0, N, N), np.unique(targets)
    marks, listed = np.zeros(N, np.uint8), np.zeros(N, np.uint32)
    yield union_find.copy_labels, union_find._copy_few_labels, (0, 1, forest, original, label, N - 3), (4,)
    yield union_find.mark_roots, union_find._mark_few_roots, (vertices, forest, marks), (2,)
    yield (
        union_find.update_labels,
        union_find._update_few_labels,
        (vertices, forest, original, label, listed, 2),
        (3, 4),
    )
    mirrors = vertices, label, forest, original.copy(), marks, listed
    yield union_find.lower_from_mirrors, union_find._lower_from_few_mirrors, mirrors, (3, 4)
    positions = np.arange(vertices.size, dtype=np.uint32)
    masters = vertices, positions, label[vertices], forest, original.copy(), marks, listed
    yield union_find.lower_masters, union_find._lower_few_masters, masters, (4, 5)
    marked = rng.integers(0, 4, N).astype(np.uint8)
    yield union_find.clear_lowered, union_find._clear_few_lowered, (vertices, marked), (1,)


def calls_of_builds(rng, targets, cursor):
    """Yield calls of the functions that number vertices, as :func:`calls`."""
    yield local_graph._ranks, local_graph._ranks_few, (targets, cursor), (1,)
    members = gidset.GidSet(200)
    members.add(np.arange(0, 200, 3))
    members.seal()
    bits = members.words, members.before
    yield gidset._add, gidset._add_few, (members.words, targets), (0,)
    yield gidset._count, gidset._count_few, (members.words, np.empty_like(members.before)), (1,)
    yield gidset._members, gidset._members_few, (members.words, np.empty(len(members), np.int64)), (1,)
    yield gidset._mark, gidset._mark_few, (*bits, targets * 3, np.zeros(len(members), bool)), (3,)
    table, translated = rng.permutation(len(members)).astype(np.uint32), np.empty(targets.size, np.uint32)
    yield gidset._translate, gidset._translate_few, (*bits, targets * 3, table, translated), (4,)


def calls_of_messages(rng, lids, unsorted):
    """Yield calls of the functions that pack and unpack messages, as :func:`calls`."""
    starts, ends = np.array([2, 8, 20]), np.array([6, 20, 33])
    for touched, spans in ((lids, 3), (unsorted, 3), (unsorted, 0)):
        borders, counts = (starts[:spans], ends[:spans]), np.zeros(spans, np.int64)
        yield kernels.count_by_span, kernels._count_by_span_few, (touched, *borders, counts), (3,)
        inside = (touched[:, None] >= borders[0]) & (touched[:, None] < borders[1])
        scratch, positions = np.empty(spans, np.int64), np.zeros(touched.size, np.uint32)
        grouped = touched, *borders, inside.sum(axis=0), scratch, positions
        yield kernels.positions_by_span, kernels._positions_by_span_few, grouped, (5,)
    words = np.array([1 << 63, 0, 5, 3], np.uint64)
    yield kernels.set_bits, kernels._set_bits_few, (words, np.append(lids, np.uint32(200))), (0,)
    for length in (9, 5, 2, 0):
        yield kernels.positions_of, kernels._positions_of_few, (words, np.zeros(length, np.uint32)), (1,)
    yield kernels.largest, kernels._largest_few, (lids,), ()
    values = rng.integers(0, 9, N).astype(np.uint64)
    for row in (values, np.zeros(N, np.uint8)):
        yield kernels.uniform, kernels._uniform_few, (row, unsorted), ()
        yield kernels.gather, kernels._gather_few, (row, unsorted, np.empty(unsorted.size, row.dtype)), (2,)


@pytest.mark.parametrize("kind", ["none", "int", "float"])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_both_versions_agree(kind, count):
    for function, few, arguments, changed in calls(count + 1, count, kind):
        first, second = (tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments) for _ in range(2))
        answer = compiled_result(function, first)
        assert np.array_equal(few(*second), answer), function.__name__
        for place in changed:
            if arguments[place] is not None:
                length = count - answer[0] if function is rows._merge and place else arguments[place].size
                assert first[place][:length].tobytes() == second[place][:length].tobytes(), (function.__name__, place)


def compiled_result(function, arguments):
    """Call the compiled function, also where the arrays are small."""
    function = function.numba() if isinstance(function, Deferred) else function
    usual = vars(function).pop("_compile_for_args", None)
    try:
        return function(*arguments)
    finally:
        if usual is not None:
            function._compile_for_args = usual


def test_few_elements_are_not_compiled(monkeypatch):
    called = []

    def few(a, b):
        called.append(a.size)
        return int(a.sum()) + b

    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(lazy_numba, "FEW", 4)

    @compiled.njit(few=few)
    def total(a, b):
        total_of_both = b
        for x in a:
            total_of_both += x
        return total_of_both

    assert total(np.arange(4), 1) == 7
    assert total.compiled is None
    assert total(np.arange(5), 1) == 11
    assert called == [4]
    assert total(np.arange(3), 1) == 4  # compiled by now
    assert called == [4]


def test_a_version_for_few_elements_takes_the_arguments_of_the_compiled_function():
    wrong, compared = [], 0
    for path in [path for package in ("dgraph", "partitioning") for path in (ROOT / package).rglob("*.py")]:
        functions = {
            node.name: node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)
        }
        for function in functions.values():
            calls = [call for call in function.decorator_list if isinstance(call, ast.Call)]
            names = [word.value.id for call in calls for word in call.keywords if word.arg == "few"]
            for few in [functions[name] for name in names if name in functions]:
                compared += 1
                if few.args.vararg is None and len(few.args.args) != len(function.args.args):
                    wrong.append(f"{path.name}: {few.name} and {function.name}")
    assert wrong == []
    assert compared > 20


def test_threads_share_the_object_of_the_first_call(monkeypatch):
    deferred, compiled_function = Deferred(unsorted_rows, lambda function: object()), object()

    class Waited:
        """Lock that another thread holds while it makes the object."""

        def __enter__(self):
            deferred.compiled = compiled_function

        def __exit__(self, *error):
            pass

    monkeypatch.setattr(lazy_numba, "_lock", Waited())
    assert deferred.numba() is compiled_function


def test_each_kind_of_arguments_compiles_once():
    """Let calls of a second run find what the first one compiled, and compile what has other types."""
    longs, ints = np.zeros(0, np.int64), np.zeros(0, np.int32)
    frozen = np.zeros(0, np.int64)
    frozen.flags.writeable = False
    twice = np.zeros((4, 4))

    class Dispatcher:
        def __init__(self):
            self.compiled = []

        def compile(self, types):
            self.compiled.append(types)

    dispatcher = Dispatcher()
    kinds = [(longs, 0), (ints, 0), (longs, 0.5), (frozen, 0), (longs,), (twice, 0), (twice[:, ::2], 0), (None, 0)]
    for _ in range(3):
        for args in kinds:
            lazy_numba.ready(dispatcher, *args)
    assert len(dispatcher.compiled) == len(set(dispatcher.compiled)) == len(kinds)
