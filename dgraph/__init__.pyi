# Declarations for type checkers and editors, written by python -m dgraph.tools.typed_functions.
# ruff: noqa
# fmt: off

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

from dgraph.algorithms import Algorithm as Algorithm, Answer as Answer, Parameter as Parameter, ResultColumn as ResultColumn, algorithm as algorithm
from dgraph.backend.build import Graph as Graph, build_on_gpus as build_on_gpus
from dgraph.comm import Comm as Comm, communicator as communicator
from dgraph.engine.checkpoint import Checkpoint as Checkpoint
from dgraph.engine.run_options import Options as Options
from dgraph.errors import Checkpointed as Checkpointed, ConvergenceWarning as ConvergenceWarning, DataError as DataError, DgraphError as DgraphError, InternalError as InternalError, NotConverged as NotConverged, OutputError as OutputError, PeerLost as PeerLost, UsageError as UsageError, ValidationFailed as ValidationFailed
from dgraph.graph.devices import Auto as Auto, Cpu as Cpu, Cuda as Cuda
from dgraph.program import ADD as ADD, ALL as ALL, CHANGED as CHANGED, Field as Field, Global as Global, INF as INF, MAX as MAX, MIN as MIN, OR as OR, Program as Program, maximum as maximum, minimum as minimum, mixed as mixed, sqrt as sqrt, where as where
from dgraph.result.partitions.label_columns import agreement as agreement, ari as ari, nmi as nmi
from dgraph.result.partitions.partition_totals import community_table as community_table, conductance as conductance, constant_potts_model as constant_potts_model, coverage as coverage, modularity as modularity
from dgraph.result.result import Result as Result
from dgraph.service.client.connection import connect as connect
from dgraph.service.client.run_dispatch import run as run

GraphLike: TypeAlias = str | PathLike | Graph | Any
Vertices: TypeAlias = Sequence[int | str] | Mapping[int | str, float]

__version__: str
HOMES: dict[str, str]
FUNCTIONS: tuple[str, ...]
ALIASES: dict[str, str]

def apsp(
    graph: GraphLike,
    *,
    variant: Literal["auto", "johnson", "squaring", "floyd-warshall", "blocked", "recursive", "separators"] = "auto",
    dtype: Literal["auto", "float32", "float64"] = "auto",
    search: Literal["heap", "dijkstra", "bellman-ford"] = "heap",
    products: Literal["auto", "resident", "streamed", "hybrid"] = "auto",
    block: int | None = None,
    parts: int | None = None,
    return_predecessors: bool = False,
    matrix_file: str | None = None,
    weight: str | None = None,
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
    targets: Vertices | None = None,
    endpoints: bool = False,
    weight: str | None = None,
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
    target: int | str | None = None,
    variant: Literal["direction-optimizing", "topology", "edge-topology", "matrix", "queue", "expand-contract", "contract-expand", "two-phase", "hybrid", "bfs-4k", "expand-gather", "expand-balanced", "expand-hybrid"] = "direction-optimizing",
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
    weighted: bool = False,
    weight: str | None = None,
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
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def clustering(
    graph: GraphLike,
    *,
    count: Literal["arcs", "edges"] = "arcs",
    weighted: bool = False,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def color(
    graph: GraphLike,
    *,
    variant: Literal["greedy", "jones-plassmann", "degree", "hybrid", "steal"] = "greedy",
    scan: Literal["once", "each"] = "once",
    switch_round: int | None = None,
    random_state: int = 1,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def degrees(
    graph: GraphLike,
    *,
    weight: str | None = None,
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
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def eigenvector(
    graph: GraphLike,
    *,
    tol: float = 1e-06,
    max_iter: int = 100,
    nstart: Vertices | None = None,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def hits(
    graph: GraphLike,
    *,
    tol: float = 1e-08,
    max_iter: int = 100,
    nstart: Vertices | None = None,
    normalized: bool = True,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def katz(
    graph: GraphLike,
    *,
    alpha: float = 0.1,
    beta: float = 1.0,
    betas: Vertices | None = None,
    tol: float = 1e-06,
    max_iter: int = 1000,
    nstart: Vertices | None = None,
    normalized: bool = True,
    weight: str | None = None,
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
def leiden(
    graph: GraphLike,
    *,
    resolution: float = 1.0,
    metric: Literal["modularity", "cpm"] = "modularity",
    n_iterations: int = 2,
    max_size: int | None = None,
    random_state: int = 1,
    initial: Vertices | None = None,
    levels: int = 0,
    theta: float = 0.01,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
    previous: Result | None = None,
) -> Result: ...
def louvain(
    graph: GraphLike,
    *,
    resolution: float = 1.0,
    metric: Literal["modularity", "cpm"] = "modularity",
    n_iterations: int = 1,
    max_size: int | None = None,
    random_state: int = 1,
    initial: Vertices | None = None,
    levels: int = 0,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
    previous: Result | None = None,
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
    weight: str | None = None,
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
    min_only: bool = False,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def multi_source_pagerank(
    graph: GraphLike,
    *,
    sources: Vertices | None = None,
    k: int = 64,
    random_state: int = 1,
    personalizations: Sequence[Vertices] | None = None,
    alpha: float = 0.85,
    tol: float = 1e-06,
    max_iter: int = 100,
    weight: str | None = None,
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
    cutoff: float | None = None,
    min_only: bool = False,
    return_predecessors: bool = False,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
) -> Result: ...
def neighbor_degree(
    graph: GraphLike,
    *,
    neighbors: Literal["out", "in", "in+out"] = "out",
    degree: Literal["out", "in", "in+out"] = "out",
    weight: str | None = None,
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
    nstart: Vertices | None = None,
    dangling: Vertices | None = None,
    precision: Literal["double", "single"] = "double",
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
    previous: Result | None = None,
) -> Result: ...
def random_walks(
    graph: GraphLike,
    *,
    sources: Vertices | None = None,
    walks: int = 1,
    length: int = 10,
    weighted: bool = False,
    restart: float = 0.0,
    random_state: int = 1,
    edge_weights: bool = False,
    weight: str | None = None,
    options: Options | None = None,
    validate: bool = False,
    checkpoint: Checkpoint | str | None = None,
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
def similarity(
    graph: GraphLike,
    *,
    measure: Literal["jaccard", "overlap", "sorensen", "cosine", "adamic_adar", "resource_allocation", "preferential_attachment"] = "jaccard",
    first: Vertices | None = None,
    second: Vertices | None = None,
    k: int = 10,
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
    variant: Literal["auto", "buckets", "gather", "data-driven", "bellman-ford", "bellman-ford-topology", "delta-stepping", "near-far", "workfront", "bucketing", "h-bf"] = "auto",
    return_predecessors: bool = True,
    predecessors: Literal["smallest", "any"] = "smallest",
    target: int | str | None = None,
    weight: str | None = None,
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
average_neighbor_degree = neighbor_degree
betweenness_centrality = bc
closeness_centrality = closeness
communities = leiden
connected_components = cc
core_number = kcore
edge_betweenness_centrality = edge_bc
eigenvector_centrality = eigenvector
greedy_color = color
k_core = kcore
k_truss = ktruss
katz_centrality = katz
ktruss_subgraph = ktruss
label_propagation = cdlp
leiden_communities = leiden
louvain_communities = louvain
maximal_independent_set = mis
minimum_spanning_forest = mst
minimum_spanning_tree = mst
strongly_connected_components = scc
triangle_count = triangles
uniform_random_walks = random_walks
weakly_connected_components = cc
