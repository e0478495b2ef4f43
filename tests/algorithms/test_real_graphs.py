"""Real graphs give the known answers on any number of ranks under every policy.

A number of ranks runs a third of the pairs of graph and policy. The figures were computed by two independent
implementations each (igraph, scipy, and a heap in NumPy) that agree; ``tests/data/README.md`` has the sources of the
files and of the per-vertex answers. Files above 1 MB are not stored there: ``DGRAPH_TEST_DATA`` names a folder that has
all files.
"""

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from battery import EVERYTHING
from children import ROOT
from flat_run import flat_run

import dgraph
from dgraph.comm import world
from dgraph.result.result import UNREACHED
from partitioning import POLICIES

pytestmark = [pytest.mark.mpi, pytest.mark.compiled]

DATA = Path(os.environ.get("DGRAPH_TEST_DATA", ROOT / "tests" / "data"))


@dataclass(frozen=True)
class Known:
    """A file, how it is read, and its answers.

    Attributes:
        n, m: after loops were dropped and parallel edges merged.
        bfs: vertices reached from ``source``, depth, sum of levels.
        core: largest core number, and the number of vertices that have it.
        top: vertex of largest PageRank, and its rank.
        sssp: sum of distances from ``source``; None if unweighted.
        files: per-vertex answers, by algorithm.
    """

    file: str
    directed: bool | None
    n: int
    m: int
    loops: int
    components: int
    source: int
    bfs: tuple[int, int, int]
    core: tuple[int, int]
    top: tuple[int, float]
    sssp: float | None = None
    files: dict[str, str] = field(default_factory=dict)


KNOWN = [
    Known(
        "rome99.gr", None, 3353, 8859, 0, 1, 1, (3353, 47, 92781), (2, 2689), (1378, 0.0006713078417558049), 116006476,
        {"bfs": "expected/rome99-BFS-from-1", "sssp": "expected/rome99-SSSP-from-1"},
    ),
    Known(
        "california_road.cedge", False, 21048, 21693, 0, 1, 0, (21048, 601, 7199250), (2, 18685),
        (14300, 0.00014581443215338604), 154519.02167800005, {"sssp": "expected/california_road-SSSP-from-0"},
    ),
    Known(
        "facebook_combined.txt", False, 4039, 88234, 0, 1, 0, (4039, 6, 11428), (115, 158),
        (3437, 0.007574566524615099),
    ),
    Known(
        "CA-GrQc.txt", False, 5242, 14484, 12, 355, 3466, (4158, 11, 21621), (43, 44), (14265, 0.0014431243212114492),
        None, {"cc": "expected/CA-GrQc-WCC-minid", "kcore": "expected/CA-GrQc-core"},
    ),
    Known("karate.mtx", None, 34, 78, 0, 1, 1, (34, 3, 58), (4, 10), (34, 0.10091918233262318)),
    Known("chesapeake.mtx", None, 39, 170, 0, 1, 1, (39, 2, 65), (6, 26), (39, 0.08972000021628951)),
    Known("netscience.mtx", None, 1589, 2742, 0, 396, 1, (4, 2, 4), (19, 20), (79, 0.004128986150127396), 3.5),
    Known("le450_15b.col", None, 450, 8169, 0, 1, 1, (450, 3, 881), (24, 271), (32, 0.005085685058708974)),
    Known("myciel3.col", None, 11, 20, 0, 1, 1, (11, 2, 16), (3, 11), (11, 0.12200574896199239)),
    Known("queen5_5.col", None, 25, 160, 0, 1, 1, (25, 2, 36), (12, 25), (13, 0.048436984616828445)),
    Known("miles1000.col", None, 128, 3216, 0, 1, 1, (128, 3, 221), (41, 50), (27, 0.011573952083573837)),
    Known(
        "luxembourg_osm.mtx", None, 114599, 119666, 0, 1, 1, (114599, 1034, 43781025), (2, 93000),
        (6398, 1.9356863565207264e-05),
    ),
    Known(
        "Wiki-Vote.txt", True, 7115, 103689, 0, 24, 30, (2316, 5, 6920), (53, 336), (4037, 0.004607173515797498), None,
        {"bfs": "expected/Wiki-Vote-directed-BFS-from-30", "pagerank": "expected/Wiki-Vote-directed-PR-converged"},
    ),
    Known(
        "Wiki-Vote.txt", False, 7115, 100762, 0, 24, 30, (7066, 5, 20028), (53, 336), (2565, 0.004337296349779143),
    ),
    Known(
        "cit-HepPh_part.txt", True, 21550, 201275, 25, 60, 9907233, (4299, 22, 41218), (29, 40),
        (9303255, 0.00437461192034769),
    ),
    Known(
        "p2p-31.e", None, 62586, 147892, 0, 12, 6, (60826, 26, 586197), (6, 1004), (585, 0.00012860230386472238),
        25821917, {"bfs": "expected/p2p-31-BFS-directed", "sssp": "expected/p2p-31-SSSP-directed"},
    ),
]  # fmt: skip

HERE = [reference for reference in KNOWN if (DATA / reference.file).exists()]
UNDER_ALL = pytest.mark.parametrize("policy", sorted(POLICIES))
GRAPHS = pytest.mark.parametrize("reference", HERE, ids=[f"{k.file}-{k.directed}" for k in HERE])


def by_turns(references):
    """Parametrise with pairs of graph and policy; one rank, where policies do not matter, runs one policy per graph."""
    policies, size = sorted(POLICIES), world().size
    turns = len(policies) if size == 1 else 1 if EVERYTHING else 3
    pairs = pytest.mark.parametrize(("reference", "policy"), [
        pytest.param(graph, policy, id=f"{graph.file}-{graph.directed}-{policy}")
        for i, graph in enumerate(references) for j, policy in enumerate(policies) if (i + j + size) % turns == 0
    ])  # fmt: skip
    return lambda test: pytest.mark.by_turns(pairs(test))


PAIRS = by_turns(HERE)


@cache
def loaded(file, directed, weights=None):
    return dgraph.Graph.load(str(DATA / file), directed=directed, weights=weights)


def solve(algorithm, reference, policy, **parameters):
    return flat_run(algorithm, loaded(reference.file, reference.directed), policy=policy, **parameters)


def sums(*values):
    """Return sums over all ranks, exact for integers."""
    return [value.item() for value in world().allreduce(np.array(values))]


def check_file(result, column, file, **tolerance):
    """Compare this rank's rows with a per-vertex answer, and check that no vertex is missing.

    With a ``tolerance`` the answers are floats; else integers, which must be equal.
    """
    text = (DATA / file).read_text().split()
    wanted = dict(zip(map(int, text[::2]), text[1::2], strict=True))
    vertices = result.columns["vertex"].tolist()
    with world().together():
        right, values = np.array([wanted[v] for v in vertices]), result.columns[column]
        if tolerance:
            values = np.where(values == UNREACHED, np.inf, values)
            np.testing.assert_allclose(values, right.astype(np.float64), **tolerance)
        else:
            np.testing.assert_array_equal(values, right.astype(np.int64))
    assert sums(len(vertices)) == [len(wanted)]


@GRAPHS
def test_load(reference):
    graph = loaded(reference.file, reference.directed)
    assert (graph.n, graph.m, graph.block.facts.loops) == (reference.n, reference.m, reference.loops)
    assert graph.block.facts.lines_dropped == 0


@pytest.mark.exhaustive
@PAIRS
def test_bfs(reference, policy):
    result = solve("bfs", reference, policy, source=reference.source)
    levels = result.columns["distance"]
    levels = levels[levels != UNREACHED]
    assert sums(levels.size, levels.sum()) == [reference.bfs[0], reference.bfs[2]]
    assert world().largest(int(levels.max(initial=0))) == reference.bfs[1]
    if "bfs" in reference.files:
        check_file(result, "distance", reference.files["bfs"])


@by_turns([k for k in HERE if k.sssp])
def test_sssp(reference, policy):
    result = solve("sssp", reference, policy, source=reference.source)
    distance = result.columns["distance"].astype(np.float64)
    distance = distance[np.isfinite(distance) & (distance < UNREACHED)]
    assert sums(distance.size) == [reference.bfs[0]]
    np.testing.assert_allclose(sums(distance.sum()), reference.sssp, rtol=1e-12)
    if "sssp" in reference.files:
        check_file(result, "distance", reference.files["sssp"], rtol=1e-12)


@pytest.mark.exhaustive
@PAIRS
def test_cc(reference, policy):
    result = solve("cc", reference, policy)
    roots = result.columns["labels"] == result.columns["vertex"]
    assert sums(np.count_nonzero(roots)) == [reference.components]
    if "cc" in reference.files:
        check_file(result, "labels", reference.files["cc"])


@pytest.mark.exhaustive
@PAIRS
def test_pagerank(reference, policy):
    graph = loaded(reference.file, reference.directed, "unit")  # the known answers ignore weights
    result = flat_run("pagerank", graph, policy=policy, tol=1e-13, max_iter=1000)
    assert result.converged
    top = result.top(1, "pagerank")
    assert top["vertex"].tolist() == [reference.top[0]]
    np.testing.assert_allclose(top["pagerank"], reference.top[1], rtol=1e-10)
    np.testing.assert_allclose(sums(result.columns["pagerank"].sum()), 1, rtol=1e-12)
    if "pagerank" in reference.files:
        check_file(result, "pagerank", reference.files["pagerank"], rtol=1e-9)


@pytest.mark.exhaustive
@PAIRS
def test_kcore(reference, policy):
    result = solve("kcore", reference, policy)
    core, (most, size) = result.columns["core_number"], reference.core
    assert sums(np.count_nonzero(core == most), np.count_nonzero(core > most)) == [size, 0]
    if "kcore" in reference.files:
        check_file(result, "core_number", reference.files["kcore"])


LDBC = {
    "bfs": ("BFS", "distance", {}),
    "sssp": ("SSSP", "distance", {"rtol": 1e-12}),
    "pagerank": ("PR", "pagerank", {"rtol": 1e-12}),
    "cc": ("WCC", "labels", {}),
}


@pytest.mark.parametrize("algorithm", LDBC)
@pytest.mark.parametrize(("name", "source"), [("example-directed", 1), ("example-undirected", 2)])
@UNDER_ALL
def test_ldbc_example(name, source, algorithm, policy):
    """Check outputs of LDBC Graphalytics' examples, with the parameters of their .properties files.

    LDBC's PageRank ignores weights.
    """
    ending, column, tolerance = LDBC[algorithm]
    parameters = {"bfs": {"source": source}, "sssp": {"source": source}, "pagerank": {"tol": 0, "max_iter": 2}}
    graph = loaded(f"ldbc_example/{name}.e", None, "unit" if algorithm == "pagerank" else None)
    assert graph.directed == (name == "example-directed")
    result = flat_run(algorithm, graph, policy=policy, **parameters.get(algorithm, {}))
    check_file(result, column, f"ldbc_example/{name}-{ending}", **tolerance)
