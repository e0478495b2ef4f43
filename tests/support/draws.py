"""Random draws of (graph, algorithm, variant, policy, transport), each compared with NetworkX, SciPy or plain Python.

All ranks draw the same rows from one seed. Most of a check's time is compilation: with ``--pool`` the ways to run are
drawn once, and only graphs are drawn afterwards. Entry: :func:`checked`; as a program, on GPUs where there are some:

    mpirun -n 2 python tests/support/draws.py --checks 1000 --seed 1 --device cuda --pool 40
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
from kept_edges import FREE, KEPT, ORACLES, Kept, check, check_free, distances
from scipy.sparse import csgraph

import dgraph
from dgraph.comm import Comm

POLICIES = (
    "auto", "oec", "iec", "cvc", "hvc", "hvc,threshold=2", "metis", "ldg", "fennel", "hash", "random",
)  # fmt: skip
TRANSPORTS = ("auto", "p2p", "nccl", "mpi-host")
SHAPES = ("random", "sparse", "dense", "path", "star", "grid", "skewed", "islands")
SYNCS = ("auto", "auto", "full")
ROUNDS = ("auto", "auto", "local", "each", "host")
"""Options of the rounds of several GPUs."""


def lengths(graph: Drawn, weighted: bool) -> dict[str, dict]:
    """Return distances from vertex 0 by SciPy, which takes no weight 0."""
    rows = graph.matrix(weighted)
    far = csgraph.dijkstra(rows, directed=True, indices=0, unweighted=not weighted)
    return {"distance": dict(enumerate(far.tolist()))}


def components(graph: Drawn, connection: str) -> dict[str, dict]:
    """Return the smallest vertex of each component, by SciPy."""
    _, membership = csgraph.connected_components(graph.matrix(False), directed=True, connection=connection)
    _, first, label = np.unique(membership, return_index=True, return_inverse=True)
    return {"labels": dict(enumerate(first[label].tolist()))}


def from_zero(graph: Drawn) -> dict[str, dict]:
    """Return weighted distances from vertex 0 by NetworkX."""
    return {"distance": distances(graph, [0], "weight")["distance_0"]}


MORE = [
    ("bfs", {"source": 0}, lambda g: lengths(g, False)),
    ("bfs", {"source": 0, "predecessors": "any"}, lambda g: lengths(g, False)),
    ("sssp", {"source": 0}, lambda g: lengths(g, True)),
    ("sssp", {"source": 0, "variant": "buckets"}, lambda g: lengths(g, True)),
    ("sssp", {"source": 0, "variant": "gather"}, from_zero),
    ("sssp", {"source": 0, "variant": "delta-stepping"}, from_zero),
    ("cc", {}, lambda g: components(g, "weak")),
    ("cc", {"variant": "label-propagation"}, lambda g: components(g, "weak")),
    ("scc", {}, lambda g: components(g, "strong")),
    ("kcore", {"variant": "peeling"}, next(oracle for name, _, oracle in ORACLES if name == "kcore")),
]
"""Rows as ``ORACLES`` has them: SciPy's answers, and further variants."""

SMALL = {"apsp", "bc", "closeness", "edge_bc", "hits", "eigenvector", "ktruss", "multi_source_pagerank", "similarity"}
"""Algorithms whose oracle takes long: drawn a quarter as often."""

ROWS = [(name, parameters, oracle) for name, parameters, oracle in [*ORACLES, *MORE] if "nstart" not in parameters]
ROWS += [(name, parameters, None) for name, parameters in FREE]
CORE = ("bfs", "sssp", "cc", "pagerank", "kcore", "scc", "mst", "mis", "color", "triangles", "cdlp", "lcc")
"""Algorithms that rounds or kernels of several GPUs solve; the rest is drawn with ``--all``."""


@dataclass(frozen=True)
class Drawn(Kept):
    """A graph of a shape, with ``n`` vertices; ``heavy``: dtype of the weights."""

    shape: str = "random"
    heavy: str = "int64"

    @cached_property
    def edges(self):
        rng = np.random.default_rng(self.seed)
        src, dst = _ends(self.shape, self.n, rng)
        some = rng.integers(0, src.size, src.size // 8)
        loops = rng.integers(0, self.n, 3)
        src, dst = (np.concatenate([a, a[some], b[some], loops]) for a, b in ((src, dst), (dst, src)))
        weights = rng.integers(1, 9, src.size).astype(self.heavy) if self.weighted else None
        return src.astype(np.int64), dst.astype(np.int64), weights

    def matrix(self, weighted: bool) -> Any:
        """Return the simple graph as SciPy's matrix."""
        return nx.to_scipy_sparse_array(self.simple, range(self.n), weight="weight" if weighted else None)


def _ends(shape: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the edges of a shape; vertex names are permuted, so that parts of ranks are mixed."""
    names, v = rng.permutation(n), np.arange(n)
    if shape == "path":
        src, dst = v[:-1], v[1:]
    elif shape == "star":
        src, dst = np.zeros(n - 1, np.int64), v[1:]
    elif shape == "grid":
        side = max(int(n**0.5), 2)
        src, dst = np.concatenate([v[:-1], v[:-side]]), np.concatenate([v[1:], v[side:]])
    elif shape == "skewed":
        src, dst = (n * rng.random((2, 4 * n)) ** 3).astype(np.int64)
    elif shape == "islands":
        src, dst = rng.integers(0, n // 3, (2, n)) + n // 3 * rng.integers(0, 3, n)
    else:
        src, dst = rng.integers(0, n, (2, {"sparse": n // 2, "random": 2 * n, "dense": 8 * n}[shape]))
    return names[src], names[dst]


@dataclass(frozen=True)
class Draw:
    """One check: a graph, a row of ``ROWS``, and how it runs; its text names all of them."""

    graph: Drawn
    algorithm: str
    parameters: dict
    oracle: Any
    policy: str
    transport: str
    options: dgraph.Options

    def __str__(self) -> str:
        shown = {k: v for k, v in dataclasses.asdict(self.options).items() if v != getattr(dgraph.Options(), k)}
        return f"{self.algorithm} {self.parameters} {self.policy} {self.transport} {shown} on {self.graph}"


def drawn(
    seed: int, algorithms: tuple[str, ...] = (), transports: tuple[str, ...] = (), pool: int = 0
) -> Iterator[Draw]:
    """Yield draws without end, the same ones on all ranks; each graph serves four.

    Args:
        seed: of all draws.
        algorithms: those to draw; () for all.
        transports: those of GPUs to draw, with their rounds; () on CPUs.
        pool: distinct ways to run, of four a kind of graph; 0: no limit.
    """
    rng = np.random.default_rng(seed)
    rows = [row for row in ROWS if not algorithms or row[0] in algorithms]
    often = np.array([0.25 if name in SMALL else 1.0 for name, *_ in rows])
    kinds = [_kind(rng, rows, often, transports) for _ in range(pool // 4)]
    while True:
        traits, ways = kinds[rng.integers(len(kinds))] if kinds else _kind(rng, rows, often, transports)
        graph = Drawn(
            seed=int(rng.integers(1 << 30)), n=int(rng.integers(6, 60)), shape=str(rng.choice(SHAPES)), **traits
        )
        for way in ways:
            yield Draw(graph, *way)


def _kind(
    rng: np.random.Generator, rows: list[tuple], often: np.ndarray, transports: tuple[str, ...]
) -> tuple[dict, list[tuple]]:
    """Return what a kind of graphs has in common, and four ways to run: what decides which programs are compiled."""
    traits = {
        "directed": bool(rng.integers(2)), "kept": str(rng.choice([*KEPT, "neither"])),
        "weighted": bool(rng.integers(2)), "heavy": str(rng.choice(["int64", "int32", "float64"])),
    }  # fmt: skip
    ways = []
    for _ in range(4):
        name, parameters, oracle = rows[rng.choice(len(rows), p=often / often.sum())]
        policy, transport = str(rng.choice(POLICIES)), str(rng.choice(transports or [""]))
        sync, rounds = str(rng.choice(SYNCS)), str(rng.choice(ROUNDS))
        options = dgraph.Options(sync=sync, rounds=rounds if transports else "auto")
        ways.append((name, parameters, oracle, policy, transport, options))
    return traits, ways


def checked(draws: Iterator[Draw], device: Any, comm: Comm, checks: int, seconds: float) -> dict[str, Any]:
    """Run draws until there are enough checks or the time is over; collective.

    Returns:
        ``checks``, ``wrong`` (texts of draws with what was wrong), ``refused`` (reason → count), ``by`` (counts).
    """
    figures: dict[str, Any] = {"checks": 0, "wrong": [], "refused": collections.Counter(), "by": collections.Counter()}
    began, last, graph, plain = time.perf_counter(), None, None, None
    while figures["checks"] < checks and comm.largest(int(time.perf_counter() - began)) < seconds:
        draw = next(draws)
        if draw.graph is not last:
            last, graph, plain = draw.graph, draw.graph.engine(comm), draw.graph.engine(comm, **SIMPLE)
        try:
            results = _solved(draw, graph, device), _solved(draw, plain, device) if draw.oracle is None else None
        except (dgraph.UsageError, dgraph.DataError) as refused:  # such as sums of weights that are not integers
            figures["refused"][f"{draw.algorithm} {draw.transport}: {str(refused)[:120]}"] += 1
            continue
        except dgraph.DgraphError as error:
            figures["wrong"].append(f"{draw}: {type(error).__name__}: {error}")
            figures["checks"] += 1
            continue
        fault = _fault(draw, *results)
        faults = [text for text in comm.allgather_json(fault) if text]
        figures["wrong"] += [f"{draw}: {text}" for text in faults[:1]]
        figures["checks"] += 1
        figures["by"].update((draw.algorithm, draw.policy, draw.graph.shape, draw.transport or "ranks"))
    return figures | {"seconds": time.perf_counter() - began}


SIMPLE = {"keep_loops": False, "keep_parallel": False}
KEPT["neither"] = (False, False)


def _solved(draw: Draw, graph: dgraph.Graph, device: Any) -> dgraph.Result:
    if draw.transport and isinstance(device, dgraph.Cuda):
        device = replace(device, transport=draw.transport)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dgraph.run(draw.algorithm, graph.on(draw.policy, device), options=draw.options, **draw.parameters)


def _fault(draw: Draw, result: dgraph.Result, plain: dgraph.Result | None) -> str:
    """Return what is wrong with this rank's rows, or ""; collective."""
    if draw.algorithm == "katz" and _diverges(draw.graph, draw.parameters["alpha"]):
        return "sums without a limit converged" if result.converged else ""
    try:
        if plain is None:
            check(draw.graph, result, draw.oracle)
        else:
            check_free(draw.graph, draw.algorithm, draw.parameters, result, plain)
    except AssertionError as wrong:
        return str(wrong)[:400] or "an assertion failed"
    return ""


def _diverges(graph: Drawn, alpha: float) -> bool:
    """Return True if alpha is not below 1 / the largest eigenvalue: sums over longer and longer walks grow."""
    matrix = nx.to_numpy_array(graph.multigraph, nodelist=range(graph.n))
    return alpha * np.abs(np.linalg.eigvals(matrix)).max() >= 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--share", action="store_true", help="ranks share GPUs")
    parser.add_argument("--all", action="store_true", help="draw all algorithms")
    parser.add_argument("--pool", type=int, default=0, help="ways to run, in all; 0: each check draws one")
    parser.add_argument("--transports", default=",".join(TRANSPORTS), help="names with commas between them")
    words = parser.parse_args()
    comm, gpus = dgraph.communicator(), words.device == "cuda"
    device = dgraph.Cuda(share=words.share) if gpus else dgraph.Cpu(threads=1)
    transports = tuple(words.transports.split(",")) if gpus else ()
    draws = drawn(words.seed, () if words.all else CORE, transports, words.pool)
    figures = checked(draws, device, comm, words.checks, words.seconds)
    if comm.rank == 0:
        print(f"seed {words.seed}, {comm.size} ranks on {words.device}: {figures['checks']} checks, "
              f"{len(figures['wrong'])} wrong, {figures['seconds']:.0f} s")  # fmt: skip
        print(dict(figures["by"].most_common()))
        for reason, count in figures["refused"].most_common():
            print(f"refused {count}: {reason}")
        for text in figures["wrong"][:20]:
            print(f"WRONG {text}")
    raise SystemExit(bool(figures["wrong"]))


if __name__ == "__main__":
    main()
