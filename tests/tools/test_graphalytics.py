"""LDBC Graphalytics: its examples on any number of ranks, its directed rules against plain Python, its match rules."""

import json
import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import dgraph
from dgraph.cli import main
from dgraph.comm import world
from dgraph.errors import DataError, UsageError
from dgraph.graph.devices import Cpu
from dgraph.tools.graphalytics.benchmark_properties import ALGORITHMS, read_benchmark
from dgraph.tools.graphalytics.jobs import jobs
from dgraph.tools.graphalytics.reference_outputs import difference

EXAMPLES = Path(__file__).parents[1] / "data" / "ldbc_example"


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["example-directed", "example-undirected"])
def test_examples_match_their_references(name):
    finished = list(jobs(read_benchmark(EXAMPLES / f"{name}.properties"), world(), Cpu(), "auto", lambda line: None))
    assert {job.algorithm for job in finished} == set(ALGORITHMS)
    assert {job.verdict for job in finished} == {"valid"}
    for job in finished:
        assert job.evps == (job.vertices + job.edges) / job.processing
        assert job.makespan >= job.processing > 0 < job.load


@pytest.mark.mpi
def test_arcs_count_by_direction():
    comm, digraph = world(), nx.gnp_random_graph(60, 0.15, seed=1, directed=True)
    graph = dgraph.Graph.from_networkx(digraph if comm.rank == 0 else None, comm=comm)
    around = {v: set(digraph.successors(v)) | set(digraph.predecessors(v)) for v in digraph}
    for policy in ("oec", "cvc"):
        result = dgraph.run("lcc", graph.on(policy=policy), count="arcs", validate=True)
        wanted = [
            digraph.subgraph(around[v]).number_of_edges() / max(len(around[v]) * (len(around[v]) - 1), 1)
            for v in result.columns["vertex"].tolist()
        ]
        np.testing.assert_allclose(result.columns["lcc"], wanted, rtol=1e-14)
    labels = {v: v for v in digraph}
    for _ in range(3):
        heard = {v: [labels[u] for u in [*digraph.successors(v), *digraph.predecessors(v)]] for v in digraph}
        labels = {v: min(seen, key=lambda x: (-seen.count(x), x)) if (seen := heard[v]) else labels[v] for v in digraph}
    result = dgraph.run("cdlp", graph.on(policy="auto"), count="arcs", max_iter=3, validate=True)
    assert result.columns["labels"].tolist() == [labels[v] for v in result.columns["vertex"].tolist()]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("rule", "values", "reference", "apart"),
    [
        ("exact", [5, 2**63 - 1, 7], "1 5\n2 9223372036854775807\n3 7\n", None),
        ("exact", [5, 6, 7], "1 5\n2 8\n3 7\n", "vertex 2 has 6, the reference has 8"),
        ("exact", [5, 6, 7], "1 5\n2 6\n4 7\n", "vertex 3 is in one of the two only"),
        ("exact", [5, 6, 7], "1 5\n2 6\n", "vertex 3 is in one of the two only"),
        ("exact", [5, 6, 7], "1 5\n2 6\n2 6\n3 7\n", "a vertex is repeated"),
        ("epsilon", [1.00009, math.inf, 0.0], "1 1\n2 Infinity\n3 0.0e+00", None),
        ("epsilon", [1.0002, 2, 3], "1 1\n2 2\n3 3\n", "vertex 1 has 1.0002, the reference has 1.0"),
        ("epsilon", [1, math.inf, 3], "1 1\n2 2\n3 3\n", "vertex 2 has inf, the reference has 2.0"),
        ("epsilon", [1, 2, math.nan], "1 1\n2 2\n3 3\n", "vertex 3 has nan, the reference has 3.0"),
        ("epsilon", [1e-9, 2, 3], "1 0\n2 2\n3 3\n", "vertex 1 has 1e-09, the reference has 0.0"),
        ("equivalence", [4, 4, 9], "1 77\n2 77\n3 2\n", None),
        ("equivalence", [4, 4, 9], "1 77\n2 2\n3 2\n", "labels do not match one to one"),
        ("equivalence", [4, 5, 9], "1 77\n2 77\n3 2\n", "labels do not match one to one"),
    ],
)
def test_match_rules(rule, values, reference, apart, tmp_path):
    comm = world()
    path = Path(comm.bcast_json(str(tmp_path))) / "reference"
    if comm.rank == 0:
        path.write_text(reference)
    comm.barrier()
    vertex = np.arange(1, 4)[comm.rank :: comm.size]
    mine = np.array(values)[comm.rank :: comm.size]
    assert difference(rule, path, vertex, mine, comm) == apart
    comm.barrier()


@pytest.mark.mpi_skip
def test_a_benchmark_of_several_files(tmp_path, capsys):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "example-directed-BFS").write_text("1 0\n2 5\n")
    (tmp_path / "benchmark.properties").write_text(
        f"graphs.root-directory = {EXAMPLES}\ngraphs.validation-directory = references\n"
        "graphs.output-directory = out\nbenchmark.type = custom\ninclude = benchmarks/custom.properties\n"
    )
    (tmp_path / "benchmarks" / "custom.properties").write_text(
        "benchmark.custom.graphs = example-directed, example-undirected\n"
        "benchmark.custom.algorithms = BFS, SSSP\nbenchmark.custom.repetitions = 2\nbenchmark.custom.timeout = 7200\n"
    )
    assert main(["graphalytics", str(tmp_path / "benchmark.properties"), "--json", "-q", "--backend", "cpu"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["official"] is False
    verdicts = [(job["graph"], job["algorithm"], job["repetition"], job["verdict"][:3]) for job in told["jobs"]]
    assert verdicts[:2] == [("example-directed", "BFS", 1, "VAL"), ("example-directed", "BFS", 2, "VAL")]
    assert {verdict[3] for verdict in verdicts[2:]} == {"not"}
    assert (tmp_path / "out" / "example-directed-SSSP.txt").read_text().splitlines()[1] == "2 Infinity"
    assert main(["graphalytics", str(EXAMPLES / "example-directed.properties"), "--skip-validation", "-q"]) == 0
    assert "unofficial" in capsys.readouterr().out


@pytest.mark.mpi_skip
@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("graphs.root-directory = .\n", UsageError, "no graph is named"),
        ("benchmark.custom.graphs = none\n", UsageError, "has no none.properties"),
        ("benchmark.custom.graphs\n", DataError, "a line is 'KEY = VALUE'"),
        ("include = benchmark.properties\n", DataError, "include each other"),
        ("graph.x.algorithms = bfs\n", DataError, "graph.x.bfs.source-vertex is missing"),
        ("graph.x.algorithms = bfs\ngraph.x.bfs.source-vertex = one\n", DataError, "'one', which is not a number"),
        ("graph.x.algorithms = louvain\n", UsageError, "'LOUVAIN' is not of LDBC Graphalytics"),
    ],
)
def test_refused_properties(text, error, words, tmp_path):
    (tmp_path / "benchmark.properties").write_text(text)
    with pytest.raises(error, match=words):
        read_benchmark(tmp_path / "benchmark.properties")
    with pytest.raises(UsageError, match="No such file"):
        read_benchmark(tmp_path / "absent.properties")
