"""Load a graph by name, a file or a generator, into an :class:`EdgeBlock`; and describe it in one line.

:func:`load` picks the reader by suffix (``formats/``) or the generator (``generate.py``); ``build/`` cleans its edges.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

import numpy as np

from dgraph._support.arguments import path, refused
from dgraph.comm.base import Comm
from dgraph.errors import UsageError, unknown
from dgraph.graph.block import EdgeBlock, LoadFacts, gid_type
from dgraph.graph.build.clean import assemble
from dgraph.graph.build.collective_checks import refuse_beyond_memory
from dgraph.graph.build.order import by_degree
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.build.rows_from_file import RawRows, build_from_rows, check_mirrored
from dgraph.graph.file_formats import FILE_FORMATS
from dgraph.graph.formats import FORMATS, NAMING, suffix_of
from dgraph.graph.formats.foreign import advice_on_suffix, advice_on_url
from dgraph.graph.formats.sniff import name_of
from dgraph.graph.formats.spooled import spooled
from dgraph.graph.ids import ConsecutiveIds, VertexIds
from dgraph.graph.kept_rules import keep_note, kept_rules
from dgraph.graph.load_options import LoadOptions

EDGE = 8
"""Bytes of a file that hold an edge, about."""

LISTS = 1.5
"""Peak memory of a load in lists of both ends of all edges: one list, and the rows built from it."""


def graph_spec(graph: object, name: str = "graph") -> str:
    """Return the text that names a graph, from a string or a path.

    Args:
        graph: the value of an argument.
        name: of the argument.

    Raises:
        UsageError: any other type.
    """
    if not isinstance(graph, (str, os.PathLike)):
        raise refused(name, graph, "", "a file, a generator NAME:SIZE, or a dgraph.Graph")
    return path(name, graph)


def load(spec: str, comm: Comm, options: LoadOptions | None = None) -> EdgeBlock:
    """Load the graph that ``spec`` names: a generator (``NAME:SIZE…``) or a file; collective.

    Raises:
        UsageError: no such file or generator, or an unknown format.
        DataError: the file violates its format, with file and line.
    """
    options = options or LoadOptions()
    return cleaned([read(spec, comm, options)], comm, options)


def cleaned(raw: list[RawEdges | RawRows], comm: Comm, options: LoadOptions) -> EdgeBlock:
    """Return the clean graph of what :func:`read` returned; collective.

    Args:
        raw: a list of it alone, which is emptied: the raw edges are freed while the block is built.
        comm: the ranks.
        options: of the load.
    """
    clean: Callable = build_from_rows if isinstance(raw[0], RawRows) else assemble
    claimed = isinstance(raw[0], RawEdges) and raw[0].mirrored
    block = clean(raw.pop(), comm, options)
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
    from dgraph.graph.build.weights import hashed_weights

    block.weights = hashed_weights(block.sources(), block.targets, rule, seed, block.directed)


def has_names(spec: str, file_format: str | None = None) -> bool:
    """Return True for inputs whose vertices and columns may have names: edge lists and tables."""
    from dgraph.graph.generate import is_generator

    return not is_generator(spec) and FORMATS.get(suffix_of(spec, file_format)) in NAMING


def refuse_names(spec: str, options: LoadOptions) -> None:
    """Raise a :class:`UsageError` if names of vertices are asked of an input that has none."""
    if options.ids == "string" and not has_names(spec, options.format):
        raise UsageError(
            f"{spec}: names of vertices are read only from edge lists (.txt, .csv, .tsv, …) and tables (.parquet, "
            ".arrow, .feather)"
        )


def refuse_keep(spec: str, options: LoadOptions) -> None:
    """Raise a :class:`UsageError` if columns are to be kept of an input that has none with names."""
    if options.keep and not has_names(spec, options.format):
        raise UsageError(
            f"{spec}: keep={options.keep!r}: columns are kept of tables (.parquet, .arrow, .feather) and of edge lists "
            "with a header (.txt, .csv, .tsv, …) only; leave keep out, or convert the input"
        )


def edges_about(spec: str) -> int:
    """Return about how many edges a file lists, by its size; 0 if there is no such file, or for a pipe."""
    try:
        return os.stat(spec).st_size // EDGE
    except (OSError, ValueError):
        return 0


def read(spec: str, comm: Comm, options: LoadOptions) -> RawEdges | RawRows:
    """Read the edges that ``spec`` names, as they are listed; collective. Raises as :func:`load` does."""
    from dgraph.graph.build.weights import check_rule
    from dgraph.graph.generate import generate, is_generator

    reader = None if is_generator(spec) else FORMATS.get(suffix_of(spec, options.format))
    with comm.together():
        if advice := advice_on_url(spec):
            raise UsageError(f"{spec} is a URL; {advice}")
        if reader is None and not is_generator(spec):
            raise _not_a_graph(spec)
        refuse_names(spec, options)
        refuse_keep(spec, options)
    if options.weights is not None:
        check_rule(options.weights)
    raw: RawEdges | RawRows
    if reader is None:
        _refuse_too_large(spec, comm)
        raw = generate(spec, comm)
    else:
        with spooled(spec, comm) as path:
            raw = reader(path, comm, options)
        raw.facts.name = name_of(spec)
    if options.weights is not None:
        raw.weights = None
    if options.keep:
        raw.facts.notes.append(keep_note(kept_rules(options.keep)))
    return raw


def _refuse_too_large(spec: str, comm: Comm) -> None:
    """Refuse a generated graph whose edges do not fit in the memory of this rank's host; collective.

    Linux overcommits: the allocation would succeed, and the process be killed when it writes to the memory.
    """
    from dgraph.graph.generate import recipe_of

    with comm.together():
        recipe, _ = recipe_of(spec)
    size = LISTS * 2 * gid_type(recipe.n).itemsize * recipe.items
    cure = "a smaller graph (python -m dgraph estimate says how many)"
    refuse_beyond_memory(f"{spec}: its {recipe.items:,} edges take", size, " while they are loaded", cure, comm)


def _not_a_graph(spec: str) -> UsageError:
    suffixes = " ".join(sorted(FORMATS))
    if os.path.isdir(spec):
        return UsageError(f"{spec} is a folder without a manifest.json, so it is not a store; name a file or a store")
    if os.path.exists(spec):
        if advice := advice_on_suffix(spec, suffix_of(spec)):
            return UsageError(f"{spec}: dgraph does not read {suffix_of(spec)}; {advice}")
        return UsageError(
            f"{spec}: the suffix of a file determines its format, and this one is unknown; rename the file, or say the "
            f"format: --format txt (format='txt'); formats are {' '.join(FILE_FORMATS)}"
        )
    from dgraph.graph.generate import GENERATORS

    if spec in GENERATORS:
        return UsageError(f"{spec} is a generator, and no size was given; write {GENERATORS[spec].form}")
    if ":" in spec:
        return unknown("generator", spec.partition(":")[0], GENERATORS)
    return UsageError(f"{spec}: no such file, and not a generator NAME:SIZE; suffixes of files are: {suffixes}")


class _Loaded(Protocol):
    """Part of a graph that :func:`describe` reads."""

    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def weight_type(self) -> np.dtype | None: ...
    @property
    def ids(self) -> VertexIds: ...
    @property
    def facts(self) -> LoadFacts: ...


def describe(graph: _Loaded) -> str:
    """Return the load line: size, direction, weights, and nonzero counts of what cleaning dropped."""
    facts = graph.facts
    weights = "unweighted" if graph.weight_type is None else f"weights {graph.weight_type}"
    ids = (
        f"ids {graph.ids.base} .. {graph.ids.base + graph.n - 1} not remapped"
        if isinstance(graph.ids, ConsecutiveIds)
        else f"ids are names of at most {graph.ids.names.here.itemsize} bytes"
        if graph.ids.names is not None
        else "sparse ids remapped"
    )
    plain = facts.merge == "min" and graph.weight_type is None
    parallel, merged = "parallel edge", "merged" if plain else f"merged by {facts.merge}"
    counts = {
        f"{_count(facts.loops, 'self-loop')} {'kept' if facts.loops_kept else 'dropped'}": facts.loops,
        f"{_count(facts.duplicates, parallel)} {'kept' if facts.duplicates_kept else merged}": facts.duplicates,
        f"{facts.isolated:,} isolated": facts.isolated,
        f"{_count(facts.lines_dropped, 'line')} dropped": facts.lines_dropped,
    }
    parts = [
        f"{graph.n:,} vertices",
        f"{graph.m:,} edges, {'directed' if graph.directed else 'undirected'}, {weights}",
        *(text for text, count in counts.items() if count),
        f"largest {'out-' if graph.directed else ''}degree {facts.largest_degree:,}",
        ids,
    ]
    return f"{facts.name}: {' · '.join(parts)}" + "".join(f" · {note}" for note in [*facts.notes, *facts.warnings])


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
