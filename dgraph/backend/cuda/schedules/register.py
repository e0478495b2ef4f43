"""The register of schedules: to add one, write ``NAME.cuh`` beside this file and a row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dgraph.backend.schedule_options import CHOICES


@dataclass(frozen=True)
class Sizes:
    """Sizes that the scratch memory of a schedule depends on.

    Attributes:
        vertices, edges: of this rank; with two edge lists, the places in both.
        wide: True if positions of edges are 64-bit.
        threads: threads of a block.
        blocks: most blocks of a launch.
        largest: largest degree of this rank's rows; 0 if not known.
        reads: values that an edge reads of its source.
        options: values of the schedule's options.
    """

    vertices: int
    edges: int
    wide: bool
    threads: int
    blocks: int
    largest: int = 0
    reads: int = 0
    options: Mapping[str, str | int] = field(default_factory=dict)


EDGE_COUNTS = 4
"""Counts of ``edge,emit=fused``: edges listed, those of them not repeated, the longest list, lists condensed."""


def _nothing(sizes: Sizes) -> tuple[int, int, int]:
    return 0, 0, 0


def _edge_list(sizes: Sizes) -> tuple[int, int, int]:
    """Return the scratch of ``EdgeList`` (``edge_operator.cuh``): sources, counts, and 32- or 64-bit positions."""
    return sizes.edges, 2 * EDGE_COUNTS, sizes.edges if sizes.wide else sizes.edges // 2 + 1


def _family(sizes: Sizes) -> tuple[int, int, int]:
    """Return the scratch of ``split``: children of a round, their parents, and numbers, rows and sources."""
    if sizes.options["split_by"] == "scan":
        return 0, 0, sizes.vertices
    mdt = sizes.options["mdt"]
    least = mdt if isinstance(mdt, int) else max(sizes.largest // int(sizes.options["mdt_bins"]), 1)
    children = sizes.edges // least
    return children, children, sizes.vertices + 1 + children * (1 + max(sizes.reads, 1))


def _queues(sizes: Sizes) -> tuple[int, int, int]:
    """Return the scratch of ``steal``: the block that took each task, and three words a queue."""
    task = CHOICES["steal_task"].number(sizes.options["steal_task"]) or sizes.threads
    return sizes.vertices // task + 1, 0, 3 * sizes.blocks


@dataclass(frozen=True)
class Schedule:
    """One row of the register.

    Attributes:
        name: name on the command line, and of the function in its file ``NAME.cuh``.
        help: the idea, in one line.
        source: publications; ``after`` and a number for what the paper does not have, which needs no model of its text.
        needs: schedules whose files its text includes before its own, in order.
        sums: True if it searches prefix sums of degrees.
        once: kernels of its file that prepare a run, in order.
        before: kernels of its file that prepare a round, in order.
        only: kernel of these → option and word without which it is not launched.
        options: its options (``dgraph.backend.schedule_options``). Kernels get the number of the first that is no
            constant of its text.
        grid: option whose number is that of its kernels' blocks; "" for none: as many as are resident.
        huge: function of a second kernel, for vertices that the first sets aside; "" for none.
        plain: schedule with the same assignment of edges to threads in rounds without huge vertices.
        sweeps: True if its kernel is launched repeatedly, for at most ``number`` edges of every vertex each time.
        scratch: entries of ``scratch0``, ``scratch1`` (32-bit) and ``scratch2`` (64-bit).
    """

    name: str
    help: str
    source: str
    needs: tuple[str, ...] = ()
    sums: bool = False
    once: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    only: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    grid: str = ""
    huge: str = ""
    plain: str = ""
    sweeps: bool = False
    scratch: Callable[[Sizes], tuple[int, int, int]] = _nothing

    def launched(self, kernels: tuple[str, ...], values: Mapping[str, str | int]) -> list[str]:
        """Return those of ``once`` or ``before`` that are launched under values of its options."""
        return [name for name in kernels if name not in self.only or values[self.only[name][0]] == self.only[name][1]]

    @property
    def option(self) -> str:
        """Option whose number its kernels get; "" for none."""
        return next((name for name in self.options if not CHOICES[name].constant), "")

    @property
    def shared_type(self) -> str:
        """C++ type of its shared memory."""
        return shared_type(self.name)


def shared_type(function: str) -> str:
    """Return the C++ type of a function's shared memory."""
    return "".join(word.capitalize() for word in function.split("_")) + "Room"


SCHEDULES = {
    row.name: row
    for row in (
        Schedule("vertex", "one thread for each active vertex", "000 BS; 001"),
        Schedule(
            "edge", "one thread for each edge, from a list of edges", "000 EP; 001",
            before=("list_edges",), options=("edge_chunk", "edge_emit"), scratch=_edge_list,
        ),
        Schedule(
            "workload", "one equal run of edges for each thread; a kernel before finds where runs start", "000 WD",
            sums=True, before=("find_offsets",), scratch=lambda s: (s.blocks * s.threads, 0, 0),
        ),
        Schedule(
            "split", "vertices of many edges are split into children, one thread each", "000 NS",
            once=("count_births", "number_births", "make_children"),
            before=("count_children", "number_children", "join_children"), options=("mdt", "split_by", "mdt_bins"),
            only={
                **dict.fromkeys(("count_births", "number_births", "make_children"), ("split_by", "graph")),
                **dict.fromkeys(("count_children", "number_children"), ("split_by", "scan")),
                "join_children": ("split_by", "graph"),
            },
            scratch=_family,
        ),
        Schedule(
            "hierarchical", "sweeps over the list, a few edges of every vertex in each", "000 HP",
            options=("mdt", "mdt_bins", "few"), sweeps=True, scratch=lambda s: (s.vertices, s.vertices, 0),
        ),
        Schedule("virtual_warp", "groups of 2 to 32 lanes for each vertex", "001", options=("warp_size",)),
        Schedule(
            "dynamic_warp", "virtual_warp, with groups sized by the round", "001; BFS-4K",
            needs=("virtual_warp",), options=("smallest_warp",),
        ),
        Schedule(
            "dynamic_parallelism", "dynamic_warp, and a second launch with a whole grid for each huge vertex",
            "001; BFS-4K", needs=("virtual_warp", "dynamic_warp"), options=("grid_threshold", "smallest_warp"),
            huge="own_grid", plain="dynamic_warp",
        ),
        Schedule(
            "warp_search", "32 vertices for each warp, whose lanes search their prefix sums", "001; BFS-4K", sums=True,
            options=("search_memory",),
        ),
        Schedule(
            "twc", "a thread, a warp or a block for each vertex, by degree", "Merrill 2012; 001; 002",
            options=("twc_small", "twc_cta", "twc_warp"),
        ),
        Schedule("direct_search", "one thread for each edge; binary search in all prefix sums", "001", sums=True),
        Schedule(
            "warp_shares", "equal shares of edges for each warp; its lanes search together", "after 001", sums=True,
        ),
        Schedule(
            "block_search", "equally many vertices for each block, equal runs of their edges for each thread", "001",
            sums=True, options=("loaded",),
        ),
        Schedule(
            "two_phase", "equal pieces of edges for each block, found before; equal runs for each thread", "001",
            sums=True, before=("find_pieces",), options=("row_edges",),
            scratch=lambda s: (s.edges // s.threads + 2, 0, 0),
        ),
        Schedule(
            "multi_phase", "two_phase, with runs exchanged so that lanes walk edges side by side", "001",
            needs=("two_phase",), sums=True, before=("find_pieces",), options=("row_edges", "searches"),
            scratch=lambda s: (s.edges // s.threads + 2, 0, 0),
        ),
        Schedule(
            "merge_path", "equal shares of vertices and edges for each thread", "004; Green 2012",
            needs=("edge",), sums=True, before=("redistribute",), only={"redistribute": ("merge_by", "memory")},
            options=("merge_by",),
            scratch=lambda s: _edge_list(s) if s.options["merge_by"] == "memory" else (0, 0, 0),
        ),
        Schedule(
            "expand_gather", "tiles of equally many edges for each block", "004", sums=True, options=("tile",),
        ),
        Schedule(
            "expand_balanced", "tiles of equally many vertices and edges for each block", "004",
            needs=("expand_gather",), sums=True, options=("tile",),
        ),
        Schedule(
            "expand_hybrid", "expand_gather or expand_balanced by mean degree; deep in a search, vertex", "004",
            needs=("vertex", "expand_gather", "expand_balanced"), sums=True, options=("expand_factor", "tile", "deep"),
        ),
        Schedule(
            "lb", "all edges spread over all threads; binary search for vertices", "002", sums=True,
            options=("alb_distribution",),
        ),
        Schedule(
            "alb", "twc, and lb for huge vertices", "002",
            needs=("twc", "lb"), options=("alb_threshold", "alb_distribution", "twc_small", "twc_cta", "twc_warp"),
            huge="lb", plain="twc",
        ),
        Schedule(
            "steal", "a queue of vertices for each block; idle blocks steal", "003",
            before=("fill_queues",), options=("steal_queues", "steal_stealing", "steal_task", "steal_tasks"),
            grid="steal_queues",
            scratch=_queues,
        ),
    )
}  # fmt: skip
"""Name → schedule. Kernels record their number in this order, from 1; 0 is ``persistent``."""
