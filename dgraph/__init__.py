"""Distributed graph analytics on CPUs and NVIDIA GPUs, alone or under mpirun.

Load a graph with ``graph = dgraph.Graph.load("road.gr")``; then call ``dgraph.sssp(graph, source=1)`` or, by name,
``dgraph.run("sssp", graph, source=1)``.
"""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dgraph._support.cache import keep_kernels
from dgraph._support.version import __version__
from dgraph.errors import (
    Checkpointed,
    ConvergenceWarning,
    DataError,
    DgraphError,
    InternalError,
    NotConverged,
    OutputError,
    PeerLost,
    UsageError,
    ValidationFailed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal, TypeAlias

    from dgraph.algorithms import Algorithm, Answer, Parameter, ResultColumn, algorithm
    from dgraph.backend.build import build_on_gpus
    from dgraph.comm import Comm, communicator
    from dgraph.engine.checkpoint import Checkpoint
    from dgraph.engine.run_options import Options
    from dgraph.graph.devices import Auto, Cpu, Cuda
    from dgraph.graph.stored_graph import Graph
    from dgraph.program import (
        ADD,
        ALL,
        CHANGED,
        INF,
        MAX,
        MIN,
        OR,
        Field,
        Global,
        Program,
        maximum,
        minimum,
        mixed,
        sqrt,
        where,
    )
    from dgraph.result.result import Result
    from dgraph.service.client.connection import connect
    from dgraph.service.client.run_dispatch import run

    GraphLike: TypeAlias = str | PathLike | Graph | Any
    Vertices: TypeAlias = Sequence[int | str] | Mapping[int | str, float]

    # Written by tests/support/typed_functions.py; a test compares them with the register.
    def apsp(
        graph: GraphLike,
        *,
        variant: Literal[
            "auto", "johnson", "squaring", "floyd-warshall", "blocked", "recursive", "separators"
        ] = "auto",
        dtype: Literal["auto", "float32", "float64"] = "auto",
        block: int | None = None,
        parts: int | None = None,
        matrix_file: str | None = None,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def bc(
        graph: GraphLike,
        *,
        k: int | None = None,
        random_state: int = 1,
        sources: Vertices | None = None,
        epsilon: float | None = None,
        delta: float = 0.1,
        weighted: bool = False,
        normalized: bool = True,
        endpoints: bool = False,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def bfs(
        graph: GraphLike,
        source: int | str,
        *,
        depth_limit: int | None = None,
        return_predecessors: bool = True,
        predecessors: Literal["smallest", "any"] = "smallest",
        variant: Literal[
            "direction-optimizing",
            "topology",
            "edge-topology",
            "matrix",
            "queue",
            "expand-contract",
            "contract-expand",
            "two-phase",
            "hybrid",
            "bfs-4k",
            "expand-gather",
            "expand-balanced",
            "expand-hybrid",
        ] = "direction-optimizing",
        without: str | None = None,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
        previous: Result | None = None,
    ) -> Result: ...
    def cc(
        graph: GraphLike,
        *,
        variant: Literal["union-find", "label-propagation"] = "union-find",
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
        previous: Result | None = None,
    ) -> Result: ...
    def cdlp(
        graph: GraphLike,
        *,
        max_iter: int = 10,
        count: Literal["edges", "arcs"] = "edges",
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def closeness(
        graph: GraphLike,
        *,
        k: int | None = None,
        random_state: int = 1,
        wf_improved: bool = True,
        weighted: bool = False,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def color(
        graph: GraphLike,
        *,
        variant: Literal["greedy", "jones-plassmann", "degree", "hybrid", "steal"] = "greedy",
        switch_round: int | None = None,
        random_state: int = 1,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def edge_bc(
        graph: GraphLike,
        *,
        k: int | None = None,
        random_state: int = 1,
        sources: Vertices | None = None,
        epsilon: float | None = None,
        delta: float = 0.1,
        weighted: bool = False,
        normalized: bool = True,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def hits(
        graph: GraphLike,
        *,
        tol: float = 1e-08,
        max_iter: int = 100,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def kcore(
        graph: GraphLike,
        *,
        k: int | None = None,
        variant: Literal["auto", "peeling", "shells", "estimates"] = "auto",
        count: Literal["edges", "arcs"] = "edges",
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def ktruss(
        graph: GraphLike,
        *,
        k: int | None = None,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def lcc(
        graph: GraphLike,
        *,
        count: Literal["edges", "arcs"] = "edges",
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def mis(
        graph: GraphLike,
        *,
        random_state: int = 1,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def mst(
        graph: GraphLike,
        *,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def multi_source_bfs(
        graph: GraphLike,
        *,
        sources: Vertices | None = None,
        k: int = 64,
        random_state: int = 1,
        depth_limit: int | None = None,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def multi_source_sssp(
        graph: GraphLike,
        *,
        sources: Vertices | None = None,
        k: int = 64,
        random_state: int = 1,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def pagerank(
        graph: GraphLike,
        *,
        alpha: float = 0.85,
        tol: float = 1e-06,
        max_iter: int = 100,
        personalization: Vertices | None = None,
        precision: Literal["double", "single"] = "double",
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
        previous: Result | None = None,
    ) -> Result: ...
    def reachability(
        graph: GraphLike,
        *,
        sources: Vertices | None = None,
        k: int = 64,
        random_state: int = 1,
        depth_limit: int | None = None,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def scc(
        graph: GraphLike,
        *,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...
    def sssp(
        graph: GraphLike,
        source: int | str,
        *,
        cutoff: float | None = None,
        delta: float | None = None,
        variant: Literal[
            "auto",
            "buckets",
            "gather",
            "bellman-ford",
            "bellman-ford-topology",
            "delta-stepping",
            "near-far",
            "workfront",
            "bucketing",
            "h-bf",
        ] = "auto",
        return_predecessors: bool = True,
        predecessors: Literal["smallest", "any"] = "smallest",
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
        previous: Result | None = None,
    ) -> Result: ...
    def triangles(
        graph: GraphLike,
        *,
        options: Options | None = None,
        validate: bool = False,
        checkpoint: Checkpoint | str | None = None,
    ) -> Result: ...

    betweenness_centrality = bc
    closeness_centrality = closeness
    clustering = lcc
    connected_components = cc
    core_number = kcore
    edge_betweenness_centrality = edge_bc
    greedy_color = color
    k_core = kcore
    k_truss = ktruss
    ktruss_subgraph = ktruss
    label_propagation = cdlp
    maximal_independent_set = mis
    minimum_spanning_forest = mst
    minimum_spanning_tree = mst
    strongly_connected_components = scc
    triangle_count = triangles
    weakly_connected_components = cc


HOMES = {
    "run": "dgraph.service.client.run_dispatch",
    "connect": "dgraph.service.client.connection",
    "build_on_gpus": "dgraph.backend.build",
    "Checkpoint": "dgraph.engine.checkpoint",
    "Options": "dgraph.engine.run_options",
    **dict.fromkeys(("Auto", "Cpu", "Cuda"), "dgraph.graph.devices"),
    "Graph": "dgraph.backend.build",
    "Result": "dgraph.result.result",
    "Comm": "dgraph.comm",
    "communicator": "dgraph.comm",
    "Algorithm": "dgraph.algorithms",
    "Answer": "dgraph.algorithms",
    "Parameter": "dgraph.algorithms",
    "ResultColumn": "dgraph.algorithms",
    "algorithm": "dgraph.algorithms",
    **dict.fromkeys(
        ("ADD", "ALL", "CHANGED", "INF", "MAX", "MIN", "OR", "Field", "Global", "Program"), "dgraph.program"
    ),
    **dict.fromkeys(("maximum", "minimum", "mixed", "sqrt", "where"), "dgraph.program"),
}
"""Public names and the modules that hold them: imported at first use, so that ``import dgraph`` is quick."""

FUNCTIONS = (
    "apsp",
    "bc",
    "bfs",
    "cc",
    "cdlp",
    "closeness",
    "color",
    "edge_bc",
    "hits",
    "kcore",
    "ktruss",
    "lcc",
    "mis",
    "mst",
    "multi_source_bfs",
    "multi_source_sssp",
    "pagerank",
    "reachability",
    "scc",
    "sssp",
    "triangles",
)
"""Algorithms that are functions of this module."""

ALIASES = {
    "betweenness_centrality": "bc",
    "closeness_centrality": "closeness",
    "clustering": "lcc",
    "connected_components": "cc",
    "core_number": "kcore",
    "edge_betweenness_centrality": "edge_bc",
    "greedy_color": "color",
    "k_core": "kcore",
    "k_truss": "ktruss",
    "ktruss_subgraph": "ktruss",
    "label_propagation": "cdlp",
    "maximal_independent_set": "mis",
    "minimum_spanning_forest": "mst",
    "minimum_spanning_tree": "mst",
    "strongly_connected_components": "scc",
    "triangle_count": "triangles",
    "weakly_connected_components": "cc",
}
"""Other names of these functions, such as NetworkX's and cuGraph's → their names."""

__all__ = [
    "Checkpointed", "ConvergenceWarning", "DataError", "DgraphError", "InternalError", "NotConverged", "OutputError",
    "PeerLost", "UsageError", "ValidationFailed", "__version__", *HOMES, *FUNCTIONS, *ALIASES,
]  # fmt: skip

keep_kernels(Path(__file__).parent)


def __getattr__(name: str):
    if name in ALIASES:
        value = getattr(sys.modules[__name__], ALIASES[name])
    elif name in FUNCTIONS:
        value = import_module("dgraph.service.client.run_dispatch").function_of(name)
    elif name in HOMES:
        value = getattr(import_module(HOMES[name]), name)
    else:
        raise AttributeError(f"module 'dgraph' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)


class _Package(ModuleType):
    """``dgraph.run`` is the function, also after something imported the module of that name."""

    def __setattr__(self, name, value):
        if isinstance(value, ModuleType) and name in HOMES:
            value = getattr(import_module(HOMES[name]), name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
