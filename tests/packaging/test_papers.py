"""``python -m benchmarks papers``: counts under emulation, claims on rows written by hand, and a second start.

Oracles: plain Python over adjacency lists.
"""

import json

import numpy as np
import pytest
from emulated import needs_compiler
from scipy.sparse import csgraph, csr_array

import dgraph
from benchmarks.papers import across_ranks, command, p002, pages, sequential
from benchmarks.papers.bench import Bench, Shape
from benchmarks.papers.colorings import literal
from benchmarks.papers.figure import EMULATED, NUMBERS, Claim, NotTried, Rows, decided, ratio, verdict

pytestmark = pytest.mark.mpi_skip


def lists(graph):
    block = graph.block
    return [block.targets[a:b].tolist() for a, b in zip(block.offsets, block.offsets[1:], strict=False)]


def reached_edges(graph, source):
    """Return the edges that leave the vertices that a search reaches."""
    neighbours, seen, waiting = lists(graph), {source}, [source]
    while waiting:
        for v in neighbours[waiting.pop()]:
            if v not in seen:
                seen.add(v)
                waiting.append(v)
    return sum(len(neighbours[v]) for v in seen)


@needs_compiler
@pytest.mark.exhaustive
def test_emulated_figures_hold_their_counts(tmp_path, monkeypatch, capsys):
    graphs = {"rmat25": Shape("rmat-alb:{s}", (8, 8, 8, 8), "1..100", "rmat25")}
    monkeypatch.setattr(p002, "GRAPHS", graphs)
    monkeypatch.setitem(command.FIGURES, "002", [one for one in p002.FIGURES_HERE if one.name in ("T3", "F6")])
    command.measure(["002"], ["T3", "F6"], "small", [EMULATED], 1, None, tmp_path, tmp_path)
    first, _ = capsys.readouterr()
    rows = Rows(json.loads((tmp_path / "papers-002.json").read_text())["rows"])
    assert len(rows.of("T3")) == 18
    assert not [row["note"] for row in rows.rows if "note" in row]
    graph = dgraph.Graph.load("rmat-alb:8", weights="1..100")
    expected = reached_edges(graph, int(graph.hub())) / graph.arcs
    for system in ("TWC", "LB", "ALB"):
        assert rows.value("walked", "T3", graph="rmat25", work="bfs", system=system) == pytest.approx(expected)
        assert rows.value("walked", "T3", graph="rmat25", work="pagerank", system=system) == pytest.approx(20.0)
    loads = {system: rows.load("T3", "rmat25", "bfs", system) for system in ("TWC", "LB", "ALB")}
    assert loads["LB"] < 1.1 < 2.5 < loads["TWC"] > 1.5 * loads["ALB"]
    assert rows.value("paper", "T3", graph="rmat25", work="bfs", system="ALB") == 113.7
    works = ("bfs", "sssp", "cc", "kcore", "kcore, pull")
    answers = {work: {row["answer"] for row in rows.of("T3", work=work)} for work in works}
    assert all(len(one) == 1 for one in answers.values()), answers
    assert answers["kcore"] == answers["kcore, pull"]
    pulled = {system: rows.load("T3", "rmat25", "kcore, pull", system) for system in ("TWC", "LB", "ALB")}
    assert pulled["LB"] < 1.1 < 2 < pulled["TWC"] == pulled["ALB"]  # 256 vertices, none of 256 edges
    command.measure(["002"], ["T3", "F6"], "small", [EMULATED], 1, None, tmp_path, None)
    again, _ = capsys.readouterr()
    assert "\nT3 rmat25" in f"\n{first}"
    assert "\nT3 rmat25" not in f"\n{again}"
    page = (tmp_path / "002.md").read_text()
    assert "**held**" in page
    assert "**not tried**" in page


@needs_compiler
def test_blocks_of_emulated_ranks_are_counted():
    shape = Shape("rmat-alb:7,seed=2", (7, 7, 7, 7), None, "rmat26")
    bench = Bench(EMULATED, "small")
    graph = bench.graph(shape)
    neighbours = lists(graph)
    hub = max(range(graph.n), key=lambda v: len(neighbours[v]))
    walked = reached_edges(graph, hub) / graph.arcs
    rows = []
    for key, cell in across_ranks.counted(bench, {"rmat26": shape}, ("twc", "alb")):
        rows.append(key | {"figure": "F7b", "scale": "small", "backend": EMULATED} | cell())
        assert rows[-1]["walked"] == pytest.approx(walked)
    most = {row["system"]: row["block_edges"] for row in rows}
    assert most["ALB × 1"] < len(neighbours[hub]) <= most["TWC × 1"], "a block of TWC walks the hub alone"
    assert (
        verdict(Claim("F7b", "", lambda rows: across_ranks.fuller_blocks("F7b", "rmat26", rows)), Rows(rows))[0]
        == "held"
    )
    slow = [row | {"block_edges": 1} if row["system"] == "TWC × 3" else row for row in rows]
    assert not across_ranks.fuller_blocks("F7b", "rmat26", Rows(slow))[0]


def test_scaling_of_cpu_ranks_is_judged():
    key = {"figure": "F7b", "graph": "g", "backend": "cpu", "work": "bfs", "scale": "small", "rounds": 2}
    times = {1: 8.0, 2: 5.0, 4: 4.0}
    rows = [key | {"ranks": k, "computation_ms": ms, "communication_ms": 1.0} for k, ms in times.items()]
    assert across_ranks.scaled("F7b", "g", Rows(rows[::-1]))[0]
    rows[2] = rows[2] | {"computation_ms": 5.5}
    assert not across_ranks.scaled("F7b", "g", Rows(rows))[0]
    assert across_ranks.short_rounds("F7b", "g", Rows(rows)).endswith("1 × 4 + 0.5, 4 × 2.8 + 0.5 ms")
    with pytest.raises(NotTried):
        across_ranks.scaled("F7b", "g", Rows(rows[:1]))


def plain_colouring(neighbours, key, scanned=0):
    """Return the round of each vertex under Algorithm 1, and the edges that were scanned."""
    color, number = {}, 0
    while len(color) < len(neighbours):
        waiting = [v for v in range(len(neighbours)) if v not in color]
        scanned += sum(len(neighbours[v]) for v in waiting)
        chosen = [v for v in waiting if key[v] > max((key[u] for u in neighbours[v] if u not in color), default=-1)]
        color |= dict.fromkeys(chosen, number)
        number += 1
    return color, scanned


@pytest.mark.parametrize("spec", ["rmat:6,symmetric", "grid:5x7"])
def test_the_literal_colouring_scans_as_plain_python(spec):
    graph = dgraph.Graph.load(spec)
    result = literal(graph.block.offsets, graph.block.targets, False, None)
    key = np.random.default_rng(1).permutation(graph.n)
    color, scanned = plain_colouring(lists(graph), key)
    assert result["rounds"] == max(color.values()) + 1
    assert result["scanned"] * graph.arcs == pytest.approx(scanned)
    assert result["colored_by_round"] == np.bincount(list(color.values())).tolist()[:16]
    switched = literal(graph.block.offsets, graph.block.targets, True, 2)
    assert (switched["switched"], switched["active_by_round"][0]) == (3, graph.n)


@pytest.mark.parametrize("name", sequential.TEXTS)
def test_sequential_searches_find_the_distances_of_scipy(name):
    block = dgraph.Graph.load("rmat:7,seed=4", weights="1..9").block
    n, m = block.n, block.arcs
    weights = np.ones(m) if name == "queue" else block.weights.astype(float)
    sources = np.repeat(np.arange(n), np.diff(block.offsets))
    lightest = np.lexsort((weights, block.targets, sources))
    first = np.unique(np.stack([sources, block.targets], axis=1)[lightest], axis=0, return_index=True)[1]
    kept = lightest[first]
    matrix = csr_array((weights[kept], (sources[kept], block.targets[kept])), (n, n))
    source = int(np.diff(block.offsets).argmax())
    expected = csgraph.dijkstra(matrix, indices=source)
    distance = sequential.TEXTS[name](block.offsets, block.targets, block.weights, source)
    np.testing.assert_array_equal(np.where(distance == sequential.FAR, np.inf, distance), expected)


def test_claims_are_held_not_held_or_not_tried():
    rows = Rows([
        {"figure": "F", "scale": "small", "backend": "cuda", "graph": "g", "work": "bfs", "system": "a", "ms": 4.0},
        {"figure": "F", "scale": "small", "backend": "cuda", "graph": "g", "work": "bfs", "system": "b", "ms": 2.0},
        {"figure": "F", "scale": "small", "backend": "cuda", "graph": "g", "work": "bfs", "system": "c",
         "note": "not tried: this version has no c"},
        {"figure": "F", "scale": "full", "backend": "cuda", "graph": "g", "work": "bfs", "system": "b", "ms": 8.0},
        {"figure": "F", "scale": "full", "backend": "cuda", "graph": "g", "work": "bfs", "system": "c", "ms": 9.0},
    ])  # fmt: skip

    def judged(above, below):
        claim = Claim("F", "", lambda rows: ratio("", *(rows.ms("F", "g", "bfs", name) for name in (above, below))))
        return verdict(claim, rows)

    assert judged("a", "b")[0] == "held", "a has no row of the paper's size, so small ones are compared"
    assert judged("b", "a")[0] == "not held"
    assert judged("a", "c") == ("not tried", "this version has no c", "")
    assert judged("a", "d")[0] == "not tried"
    with pytest.raises(NotTried):
        rows.ms("F", "h", "bfs", "a")
    rows.rows.append(rows.rows[0] | {"scale": "full", "ms": 6.0})
    assert judged("b", "a")[0] == "held", "rows of the paper's size are taken"
    claim = Claim("F", "", lambda rows: (False, ""), lambda rows: rows.split("F", "g", "bfs", "a"))
    assert verdict(claim, rows) == ("not held", "", ""), "rows without times of kernels do not say why"
    timed = Rows([row | {"kernel_ms": 1.5, "overhead_ms": 2.5} for row in rows.rows])
    assert verdict(claim, timed)[2] == "g: a 1.5 + 2.5"


def test_a_claim_of_many_cells_fails_by_one_of_them():
    def lacks():
        raise NotTried("no row")

    assert decided([lambda: (True, "a"), lambda: (False, "b"), lacks]) == (False, "b")
    assert decided([lambda: (True, "a"), lambda: (True, "b")]) == (True, "a; b")
    with pytest.raises(NotTried, match="no row"):
        decided([lambda: (True, "a"), lacks])


def test_rows_of_another_machine_replace_older_ones(tmp_path):
    def document(when, **ms):
        run = {"when": when, "commit": "c", "processor": "p", "device": "d"}
        rows = [
            {"figure": "F7", "graph": graph, "backend": "cuda", "ms": value, "run": 0} for graph, value in ms.items()
        ]
        return {"runs": [run], "rows": rows}

    (tmp_path / "papers-000.json").write_text(json.dumps(document("monday", a=1.0, b=2.0)))
    measured = document("tuesday", b=3.0)
    for _ in range(2):
        command.keep(tmp_path, "000", measured)
    result = json.loads((tmp_path / "papers-000.json").read_text())
    assert [(row["graph"], row["ms"], result["runs"][row["run"]]["when"]) for row in result["rows"]] == [
        ("a", 1.0, "monday"), ("b", 3.0, "tuesday"),
    ]  # fmt: skip
    assert len(result["runs"]) == 2


def test_every_figure_and_claim_has_a_name_of_its_own():
    assert set(command.FIGURES) == set(NUMBERS) - {"_about"} == set(command.CLAIMS)
    for paper, figures in command.FIGURES.items():
        names = [figure.name for figure in figures]
        assert len(set(names)) == len(names)
        assert {claim.figure for claim in command.CLAIMS[paper]} <= set(names)
        bench = Bench("cpu", "small")
        keys = [key["system"] for figure in figures if "cpu" in figure.backends and figure.name == "F8"
                for key, _ in figure.cells(bench) if "system" in key]  # fmt: skip
        assert all(isinstance(key, str) for key in keys)


def test_unknown_names_are_refused():
    with pytest.raises(dgraph.UsageError, match="F99"):
        command.measure(["002"], ["F99"], "small", [], 1, None, pages.Path("."), None)
