"""Choice of a graph's builder: GPUs, where each rank has one, the graph is large and fits; else the host.

Generated graphs are built on any number of GPUs, files and data in memory on one rank's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dgraph._support.arguments import choice
from dgraph.backend import backend, has_gpu
from dgraph.backend.schedule_options import BUILDS, DEVICE, HOST
from dgraph.comm import Comm, collective, communicator
from dgraph.comm.hosts import ranks_here
from dgraph.errors import OutOfMemory, UsageError
from dgraph.graph.build.rows_from_file import Listed
from dgraph.graph.devices import Auto, Cuda, Device, described
from dgraph.graph.generate import is_generator, recipe_of
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.stored_graph import Graph

if TYPE_CHECKING:
    from dgraph.graph.handle import Building

__all__ = ["Graph", "build_on_gpus", "built"]

FEW = 1 << 20
"""Edges of a graph that the host draws about as soon as a GPU has loaded the kernels for it."""


@collective
def build_on_gpus(spec: str, *, policy: str = "auto", device: Device = "cuda", comm=None, **loading: Any) -> Graph:
    """Build a generated graph on the ranks' GPUs: each generates the edges of its own part; collective.

    The same as ``Graph.load(spec, build="device", device="cuda", …)``.

    Args:
        spec: a generator, ``NAME:SIZE[,option=value…]``.
        policy: as of :meth:`dgraph.Graph.load`.
        device: as of :meth:`dgraph.Graph.load`.
        comm: as of :meth:`dgraph.Graph.load`.
        loading: fields of :class:`~dgraph.graph.load_options.LoadOptions`, such as ``weights="1..255"``.

    Raises:
        UsageError: no GPU, not a generator, an option that needs the edges on the host, too little memory.
    """
    return Graph.load(spec, policy=policy, device=device, comm=communicator(comm), build=DEVICE, **loading)


def is_large(spec: str, device: Device, build: str) -> bool:
    """Return True if GPUs, where there are some, should build the graph; false for a backend that exists already."""
    if build != "auto":
        return build == DEVICE
    generated = isinstance(described(device), (Auto, Cuda)) and is_generator(spec)
    return generated and recipe_of(spec)[0].items > FEW


def built(
    spec: str, comm: Comm, policy: str, device: Device, options: LoadOptions, build: str
) -> tuple[Graph | None, Building | None]:
    """Build a graph on GPUs, or leave it to the host; collective.

    Args:
        spec: generator, file or store.
        comm: the ranks.
        policy: as of :meth:`dgraph.Graph.load`.
        device: as of :meth:`dgraph.Graph.load`.
        options: of the load.
        build: a word of :data:`~dgraph.backend.schedule_options.BUILDS`.

    Returns:
        The graph, None where the host is to build it; and what is built where and why, None where there is no choice.

    Raises:
        UsageError: an unknown word, or "device" and GPUs cannot build the graph.
    """
    choice("build", build, BUILDS, "way to build")

    def make(engine: Any) -> Graph:
        return engine.build(spec, comm, policy, options)

    if build == DEVICE:
        return _on_gpus(spec, comm, device, make), (DEVICE, "asked for")
    if build == HOST or not is_generator(spec) or not isinstance(described(device), (Auto, Cuda)):
        return None, None
    if not is_large(spec, device, build):
        return None, (HOST, f"{FEW:,} edges or fewer take less time than the kernels that draw them")
    if comm.total(not has_gpu()):
        return None, None
    try:
        graph = _on_gpus(spec, comm, device, make)
    except UsageError as refused:  # on every rank alike
        return None, (HOST, str(refused))
    return graph, (DEVICE, "the graph is large, and each GPU draws the edges that it keeps")


def listed(
    read: Callable[[], Listed], edges: int, comm: Comm, policy: str, device: Device, options: LoadOptions,
    build: str = "auto",
) -> tuple[Graph | None, Listed | None]:  # fmt: skip
    """Read edges and build their graph on the one rank's GPU, or leave it to the host.

    Args:
        read: returns the edges. Lines of text may be parsed on the GPU meanwhile.
        edges: their number, or about that.
        comm: as of :func:`built`.
        policy: as of :func:`built`.
        device: as of :func:`built`.
        options: as of :func:`built`.
        build: as of :func:`built`.

    Returns:
        The graph; or the edges, if the host is to build it; or neither: it is to read them, too.
    """
    able = build == "auto" and options.merge == "min" and options.order == "original"
    if comm.size > 1 or edges <= FEW or not able or not isinstance(described(device), (Auto, Cuda)) or not has_gpu():
        return None, None
    try:
        graph = _on_gpus("the graph", comm, device, lambda engine: engine.build_listed(read, comm, policy, options))
    except OutOfMemory:
        return None, None
    if not isinstance(graph, Graph):
        return None, graph
    return graph.keep_building((DEVICE, "the graph is large, and a GPU sorts and merges its edges")), None


def _on_gpus(name: str, comm: Comm, device: Device, make: Callable[[Any], Any]) -> Any:
    with comm.guarded():
        here = ranks_here(comm)
        with comm.together():
            engine = backend(device, len(here), here.index(comm.rank), comm.size == 1)
        try:
            graph = make(engine)
        except MemoryError as lacking:
            if comm.size > 1:
                raise
            raise OutOfMemory(f"building {name} on a GPU takes more memory than is free there: {lacking}") from lacking
        finally:
            engine.leave()
    if isinstance(graph, Graph) and engine is not device:
        graph.keep_backend(engine)  # runs go on with it, and the graph's end gives its memory back
    return graph


Graph.builder = built
Graph.builder_of_listed = listed
