"""A graph's name, a file or a generator, to its :class:`EdgeBlock`; and the line that says what was loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dgraph.comm.base import Comm
from dgraph.errors import UsageError, unknown
from dgraph.graph.adopt import RawRows, adopt, check_mirrored
from dgraph.graph.block import EdgeBlock
from dgraph.graph.clean import RawEdges, assemble
from dgraph.graph.formats import FORMATS, read_edge_list, suffix_of
from dgraph.graph.ids import ConsecutiveIds
from dgraph.graph.order import by_degree, check_order

if TYPE_CHECKING:
    from dgraph.graph.handle import Graph


IDS = ("integer", "string")


@dataclass(frozen=True)
class LoadOptions:
    """How an input becomes a graph.

    Attributes:
        directed: True or False whatever the input says; None: as it says, directed where it says nothing.
        weights: replaces the input's: "unit" (every edge weighs 1), "LO..HI", "hash" or "dimacs" (see ``weigh.py``).
        keep_loops, keep_parallel: keep self-loops, keep parallel edges.
        sparse_ids: the vertices are the ids that occur, also in a format that counts ids from 0 or 1 to n.
        seed: of the weights that are made.
        ids: "integer", or "string": the ends of an edge list are words (``names.py``).
        order: how vertices are numbered inside: "original", by id, or "degree", the largest degree first. Outside, ids
            stay the original ones.
        lenient: pass over lines of text that are not as their format says, and count them.
        separator: the character between columns of an edge list beside blanks; None: comma and semicolon.
        comment: the character that begins a comment line of an edge list; None: ``#`` and ``%``.
        header: whether an edge list begins with a line of names; None: .csv and .tsv may.
        columns: where an edge list has SOURCE, TARGET and perhaps WEIGHT, counted from 1, such as ``"2,3"``; None:
            the first two or three columns, and there are no others.
        edge_data: how the edge data of a Galois graph are to be read: int32, int64, float32 or float64.
        verify: check what a store holds against its checksums.
    """

    directed: bool | None = None
    weights: str | None = None
    keep_loops: bool = False
    keep_parallel: bool = False
    sparse_ids: bool = False
    seed: int = 1
    ids: str = "integer"
    order: str = "original"
    lenient: bool = False
    separator: str | None = None
    comment: str | None = None
    header: bool | None = None
    columns: str | None = None
    edge_data: str | None = None
    verify: bool = True


def load(spec: str, comm: Comm, options: LoadOptions = LoadOptions()) -> EdgeBlock:
    """The graph that ``spec`` names: a generator (``NAME:SIZE…``) or a file; collective.

    Raises:
        UsageError: no such file or generator, or a format that is not known.
        DataError: the file is not what its format says, with file and line.
    """
    raw = [_read(spec, comm, options)]
    clean: Callable = adopt if isinstance(raw[0], RawRows) else assemble
    claimed = isinstance(raw[0], RawEdges) and raw[0].mirrored
    block = clean(raw.pop(), comm, options)  # which lets go of what it has used
    if claimed:
        check_mirrored(block, comm, block.facts.name)
    if options.weights is not None:
        reweigh(block, options.weights, options.seed)
    return by_degree(block, comm) if options.order == "degree" else block


def reweigh(block: EdgeBlock, rule: str, seed: int) -> None:
    """Replace the weights of a block by those of a rule, in place."""
    if rule == "unit":
        block.weights = None
        return
    from dgraph.graph.weigh import hashed_weights

    block.weights = hashed_weights(block.sources(), block.targets, rule, seed, block.directed)


def _read(spec: str, comm: Comm, options: LoadOptions) -> RawEdges | RawRows:
    from dgraph.graph.generate import generate, is_generator
    from dgraph.graph.weigh import check_rule

    check_order(options.order)
    with comm.together():
        if options.ids not in IDS:
            raise unknown("kind of ids", options.ids, IDS)
        if options.ids == "string" and (is_generator(spec) or FORMATS.get(suffix_of(spec)) is not read_edge_list):
            raise UsageError(f"{spec}: names of vertices are read from edge lists (.txt, .csv, .tsv, …) alone")
    if options.weights is not None:
        check_rule(options.weights)
    raw: RawEdges | RawRows
    if is_generator(spec):
        raw = generate(spec, comm)
    else:
        reader = FORMATS.get(suffix_of(spec))
        with comm.together():
            if reader is None:
                raise _not_a_graph(spec)
        raw = reader(spec, comm, options)
    if options.weights is not None:
        raw.weights = None
    return raw


def _not_a_graph(spec: str) -> UsageError:
    known = " ".join(sorted(FORMATS))
    if os.path.isdir(spec):
        return UsageError(f"{spec} is a folder without a manifest.json, so it is no store; name a file or a store")
    if os.path.exists(spec):
        return UsageError(
            f"{spec}: the format of a file is told by its suffix, and this one is not known; known: {known}"
        )
    if ":" in spec:
        from dgraph.graph.generate import GENERATORS

        return unknown("generator", spec.partition(":")[0], GENERATORS)
    return UsageError(f"{spec}: no such file, and not a generator NAME:SIZE; files are known by suffix: {known}")


def describe(graph: Graph) -> str:
    """The load line."""
    facts = graph.facts
    weights = "unweighted" if graph.weight_type is None else f"weights {graph.weight_type}"
    ids = (
        f"ids {graph.ids.base} .. {graph.ids.base + graph.n - 1} not remapped"
        if isinstance(graph.ids, ConsecutiveIds)
        else "ids are names"
        if graph.ids.names is not None
        else "sparse ids remapped"
    )
    parts = [
        f"{graph.n:,} vertices",
        f"{graph.m:,} edges, {'directed' if graph.directed else 'undirected'}, {weights}",
        f"{_count(facts.loops, 'self-loop')} {'kept' if facts.loops_kept else 'dropped'}",
        f"{_count(facts.duplicates, 'parallel edge')} {'kept' if facts.duplicates_kept else 'merged'}",
        f"{facts.isolated:,} isolated",
        f"largest degree {facts.largest_degree:,}",
        ids,
        f"{_count(facts.lines_dropped, 'line')} dropped",
    ]
    return f"{facts.name}: {' · '.join(parts)}" + "".join(f" · {note}" for note in facts.notes)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
