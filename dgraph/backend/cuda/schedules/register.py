"""The register of schedules: to add one, write ``NAME.cuh`` beside this file and a row here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """What the scratch memory of a schedule depends on.

    Attributes:
        vertices, edges: of this rank; where there are two lists of edges, the places in both.
        wide: whether positions of edges are 64-bit.
        threads: of a block.
        blocks: the most of a launch.
        option: what the schedule's option is.
    """

    vertices: int
    edges: int
    wide: bool
    threads: int
    blocks: int
    option: str | int = ""


def _nothing(sizes: Sizes) -> tuple[int, int, int]:
    return 0, 0, 0


def _edge_list(sizes: Sizes) -> tuple[int, int, int]:
    """``EdgeList`` of ``edge_operator.cuh``: sources, and positions of 32 bits or 64."""
    return sizes.edges, 0, sizes.edges if sizes.wide else sizes.edges // 2 + 1


@dataclass(frozen=True)
class Schedule:
    """One row of the register.

    Attributes:
        name: on the command line; the function in its file, which is ``NAME.cuh``.
        help: the idea, in one line.
        source: where it was published.
        needs: schedules whose files its text builds on, in order.
        sums: whether it searches the prefix sums of degrees.
        before: kernels of its file that prepare a round, in order.
        optional: whether they are only launched where the option's number is not 0.
        option: the option (``dgraph.backend.schedule_options``) whose number its kernels get; "" for none.
        huge: the function of a second kernel, for the vertices that the first puts aside; "" for none.
        plain: the schedule that walks the same edges by the same threads in a round where none is put aside.
        sweeps: whether its kernel is launched again and again, for at most ``option`` edges of every vertex.
        scratch: entries of ``scratch0``, ``scratch1`` (32-bit) and ``scratch2`` (64-bit).
    """

    name: str
    help: str
    source: str
    needs: tuple[str, ...] = ()
    sums: bool = False
    before: tuple[str, ...] = ()
    optional: bool = False
    option: str = ""
    huge: str = ""
    plain: str = ""
    sweeps: bool = False
    scratch: Callable[[Sizes], tuple[int, int, int]] = _nothing

    @property
    def room(self) -> str:
        """The C++ type of its shared memory."""
        return room(self.name)


def room(function: str) -> str:
    """The C++ type of a function's shared memory."""
    return "".join(word.capitalize() for word in function.split("_")) + "Room"


SCHEDULES = {
    row.name: row
    for row in (
        Schedule("vertex", "a thread an active vertex", "000 BS; 001"),
        Schedule(
            "edge", "a thread an edge, from a list of edges", "000 EP; 001",
            before=("list_edges",), option="edge_chunk", scratch=_edge_list,
        ),
        Schedule(
            "workload", "as many equal runs of edges as threads, their starts found before", "000 WD",
            sums=True, before=("find_offsets",), scratch=lambda s: (s.blocks * s.threads, 0, 0),
        ),
        Schedule(
            "split", "vertices of many edges become a parent and children, a thread each", "000 NS",
            before=("count_children", "number_children"), option="mdt", scratch=lambda s: (0, 0, s.vertices),
        ),
        Schedule(
            "hierarchical", "sweeps over the list, some edges of every vertex in each", "000 HP",
            option="mdt", sweeps=True, scratch=lambda s: (s.vertices, s.vertices, 0),
        ),
        Schedule("virtual_warp", "2 to 32 lanes a vertex", "001", option="warp_size"),
        Schedule(
            "dynamic_warp", "as many lanes a vertex as the round has threads for", "001; BFS-4K",
            needs=("virtual_warp",),
        ),
        Schedule(
            "dynamic_parallelism", "dynamic_warp, and huge vertices a grid of their own in a second launch",
            "001; BFS-4K", needs=("virtual_warp", "dynamic_warp"), option="grid_threshold", huge="own_grid",
            plain="dynamic_warp",
        ),
        Schedule("edge_discover", "32 vertices a warp, whose edges its lanes walk side by side", "001; BFS-4K"),
        Schedule("twc", "small vertices a thread, medium ones a warp, large ones a block", "Merrill 2012; 002"),
        Schedule("direct_search", "a thread an edge, found by a search in all prefix sums", "001", sums=True),
        Schedule("warp_search", "equal shares of edges a warp, vertices found together", "001", sums=True),
        Schedule("block_search", "equally many vertices a block, equal runs of their edges a thread", "001", sums=True),
        Schedule(
            "two_phase", "equal pieces of edges a block, found before; then equal runs a thread", "001",
            sums=True, before=("find_pieces",), scratch=lambda s: (s.edges // s.threads + 2, 0, 0),
        ),
        Schedule(
            "multi_phase", "two_phase, with runs handed on so that lanes walk side by side", "001",
            needs=("two_phase",), sums=True, before=("find_pieces",),
            scratch=lambda s: (s.edges // s.threads + 2, 0, 0),
        ),
        Schedule(
            "merge_path", "equal shares of vertices and edges a thread", "004; Green 2012",
            needs=("edge",), sums=True, before=("redistribute",), optional=True, option="merge_by",
            scratch=lambda s: _edge_list(s) if s.option == "memory" else (0, 0, 0),
        ),
        Schedule("expand_gather", "tiles of equally many edges a block", "004", sums=True),
        Schedule(
            "expand_balanced", "tiles of equally many vertices and edges a block", "004",
            needs=("expand_gather",), sums=True,
        ),
        Schedule(
            "expand_hybrid", "one of these two by edges a vertex; deep in a search a thread a vertex", "004",
            needs=("vertex", "expand_gather", "expand_balanced"), sums=True, option="expand_factor",
        ),
        Schedule("lb", "all edges over all threads, vertices found by binary search", "002", sums=True),
        Schedule(
            "alb", "twc, and lb for huge vertices", "002",
            needs=("twc", "lb"), option="alb_threshold", huge="lb", plain="twc",
        ),
        Schedule(
            "steal", "a queue of vertices a block, and blocks without work steal", "003",
            before=("deal",), scratch=lambda s: (s.vertices // s.threads + 1, 0, 3 * s.blocks),
        ),
    )
}  # fmt: skip
"""Name → schedule. Their number in this order, from 1, is what kernels record; 0 is ``persistent``."""
