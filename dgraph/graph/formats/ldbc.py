"""LDBC Graphalytics: ``NAME.v`` lists the vertices, ``NAME.e`` the edges, ``NAME.properties`` describes them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dgraph.comm.base import Comm
from dgraph.errors import DataError
from dgraph.graph.build.raw_edges import RawEdges
from dgraph.graph.formats.counted_header import check_count, set_direction
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.lines import find_line
from dgraph.graph.formats.packed import SUFFIXES, split_packing
from dgraph.graph.formats.scan import NUMBER, REST, SOURCE, TARGET
from dgraph.graph.formats.sniff import file_size, read_head, words_of
from dgraph.graph.formats.text import columns_read, read_table

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


BLANKS = " \t\f\n"
"""Characters stripped from keys and values; other Unicode spaces belong to them."""


def whole_number(value: str) -> int:
    """Parse a count or an id; stricter than ``int``, which accepts signs, underscores and other scripts' digits."""
    if not (value.isascii() and value.isdigit()) or int(value) >= 1 << 63:
        raise ValueError("it is a whole number below 2^63")
    return int(value)


def finite_number(value: str) -> float:
    """Parse a finite real number."""
    if not value.isascii() or "_" in value or value != value.strip() or not math.isfinite(float(value)):
        raise ValueError("it is a finite number")
    return float(value)


DEFAULTS = {
    "bfs.source-vertex": ("bfs", "source", whole_number),
    "sssp.source-vertex": ("sssp", "source", whole_number),
    "pr.damping-factor": ("pagerank", "alpha", finite_number),
    "pr.num-iterations": ("pagerank", "max_iter", whole_number),
}
"""Keys of a .properties file that suggest parameters: algorithm, parameter, parser."""
KEYS = ("vertex-file", "edge-file", "meta.vertices", "meta.edges", "edge-properties.names")
"""Endings of the keys whose line numbers are kept for messages."""


@dataclass
class Properties:
    """Contents of a .properties file, or the defaults without one.

    Attributes:
        vertices: path of the file of vertices; None if there is none.
        edges: path of the file of edges.
        directed: True if edges are arcs.
        why: reason for ``directed``, for the load line.
        weighted: True if edges have a weight; None if unknown.
        counts: numbers of vertices and edges, by name, if given.
        defaults: suggested parameters by algorithm.
        file: path of the .properties file.
        lines: line numbers by endings of keys.
    """

    vertices: str | None
    edges: str
    directed: bool = True
    why: str = "the default for .e without .properties"
    weighted: bool | None = None
    counts: dict[str, int] = field(default_factory=dict)
    defaults: dict[str, dict] = field(default_factory=dict)
    file: str = ""
    lines: dict[str, int] = field(default_factory=dict)

    def where(self, key: str) -> str:
        """Return ``FILE:LINE`` of a key, given the key's ending."""
        return f"{self.file}:{self.lines[key]}"


def read_ldbc(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """Read the graph that NAME.e, NAME.v or NAME.properties belongs to; the vertices are those listed.

    Without NAME.v the vertices are the ids that occur. Without NAME.properties the graph is directed, and weighted if
    the first edge has three columns. Columns of NAME.v after the first are ignored.
    """
    fields = None
    with comm.together():
        if comm.rank == 0:
            fields = vars(_properties(path))
    props = Properties(**comm.bcast_json(fields))
    raw = _edges(props, comm, options)
    dropped = {"edges": raw.facts.lines_dropped}
    set_direction(raw, path, props.directed, props.why)
    raw.facts.defaults = props.defaults
    if props.vertices is None:
        raw.facts.notes.append("no .v file: the vertices are the ids that occur")
    else:
        raw.vertices = _vertices(props.vertices, raw, comm, options.lenient)
        raw.vertices_at, raw.edges_at = partial(_vertex_line, props.vertices), partial(_edge_line, props.edges)
        dropped["vertices"] = raw.facts.lines_dropped - dropped["edges"]
    edges = comm.total(raw.src.size)
    vertices = None if raw.vertices is None else comm.total(raw.vertices.size)
    with comm.together():
        if not edges and not vertices:
            raise DataError(f"{props.edges}: no edge and no vertex; is the file written to its end?")
        for listed, count, what in ((props.edges, edges, "edges"), (props.vertices, vertices, "vertices")):
            if what in props.counts and listed is not None and count is not None:
                where = f"meta.{what} ({props.where(f'meta.{what}')})"
                check_count(listed, count + dropped[what], props.counts[what], where, what)
    return raw


def _vertex_line(path: str, vertex: int) -> str:
    """Return ``FILE:LINE`` of the second listing of a vertex in a file of vertices."""
    line = find_line(path, rf"[ \t]*0*{vertex}(?=[ \t\r\n]|$)", 2)
    return f"{path}:{line}"


def _edge_line(path: str, vertex: int) -> str:
    """Return ``FILE:LINE`` of the first edge that ends at a vertex."""
    line = find_line(path, rf"[ \t]*([0-9]+[ \t]+)?0*{vertex}(?=[ \t\r\n]|$)", 1)
    return f"{path}:{line}"


def _edges(props: Properties, comm: Comm, options: LoadOptions) -> RawEdges:
    head = read_head(props.edges, "#", comm, empty=True)
    weighted = len(words_of(head.line)) > 2 if props.weighted is None else props.weighted
    columns, example = (
        ((SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT") if weighted else ((SOURCE, TARGET), "SOURCE TARGET")
    )
    claim = f"has {'one' if props.weighted else 'no'} property of edges"
    advice = "" if props.weighted is None else f", or {props.where('edge-properties.names')}, which {claim}"
    layout = Layout(columns_read(columns, options.weights is None), example, comments="#", advice=advice)
    table = read_table(props.edges, layout, head.here, comm, options.lenient)
    raw = RawEdges(table.src, table.dst, table.weights)
    table.report(raw.facts)
    return raw


def _vertices(path: str, raw: RawEdges, comm: Comm, lenient: bool) -> np.ndarray:
    head = read_head(path, "#", comm)
    layout = Layout((SOURCE, REST), "VERTEX", comments="#")
    if len(words_of(head.line)) > 1:
        raw.facts.notes.append(f"only the first column of {os.path.basename(path)} is read")
    table = read_table(path, layout, head.here, comm, lenient)
    table.report(raw.facts)
    return table.src


def _properties(path: str) -> Properties:
    own, ending = split_packing(path)
    name = Path(own).with_suffix("")
    file = name.with_name(name.name + ".properties")
    vertices, edges = (_sibling(f"{name}{suffix}", ending) for suffix in (".v", ".e"))
    if not file.exists() and Path(own).suffix.lower() != ".properties":
        props = Properties(vertices, edges)
    else:
        file_size(str(file))
        props = _parse(str(file), vertices, edges)
        props.edges = _sibling(props.edges, ending)
        props.vertices = props.vertices and _sibling(props.vertices, ending)
        _check_files(props)
    if props.vertices and not os.path.exists(props.vertices) and Path(own).suffix.lower() == ".e":
        props.vertices = None
    return props


def _check_files(props: Properties) -> None:
    """Refuse a file of vertices given as that of edges, and the reverse.

    Raises:
        DataError: with the line that names it.
    """
    named = {"edge-file": (props.edges, ".v"), "vertex-file": (props.vertices or "", ".e")}
    present = [key for key in named if key in props.lines]
    wrong = [key for key in present if Path(split_packing(named[key][0])[0]).suffix.lower() == named[key][1]]
    if not wrong and props.vertices and os.path.abspath(props.vertices) == os.path.abspath(props.edges):
        wrong = present
    if wrong:
        what, other = ("edges", "vertices") if wrong[0] == "edge-file" else ("vertices", "edges")
        file = os.path.basename(named[wrong[0]][0])
        raise DataError(
            f"{props.where(wrong[0])}: {wrong[0]} names {file}, the file of the {other}; name that of the {what}, "
            f"NAME.{what[0]}"
        )


def _sibling(path: str, ending: str) -> str:
    """Return the path of the file, or if it does not exist of its compressed form (preferring ``ending``)."""
    return next((path + suffix for suffix in ("", ending, *SUFFIXES) if os.path.exists(path + suffix)), path)


def _parse(path: str, vertices: str, edges: str) -> Properties:
    props = Properties(vertices, edges, file=path)
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            line = line.strip(BLANKS)
            if not line or line[0] in "#!":
                continue
            key, equals, value = (part.strip(BLANKS) for part in line.partition("="))
            try:
                if not equals:
                    raise ValueError("a line is 'KEY = VALUE'")
                _set_property(props, key, value, os.path.dirname(path))
                for ending in KEYS:
                    if key.endswith(f".{ending}"):
                        props.lines[ending] = number
            except ValueError as wrong:
                raise DataError(f"{path}:{number}: got {line[:60]!r}; {wrong}; correct it") from None
    return props


def _set_property(props: Properties, key: str, value: str, folder: str) -> None:
    for ending, (algorithm, parameter, kind) in DEFAULTS.items():
        if key.endswith("." + ending):
            props.defaults.setdefault(algorithm, {})[parameter] = kind(value)
            if parameter == "max_iter":
                props.defaults[algorithm]["tol"] = 0.0  # LDBC requires exactly this number of rounds
    if key.endswith(".vertex-file"):
        props.vertices = os.path.join(folder, value)
    elif key.endswith(".edge-file"):
        props.edges = os.path.join(folder, value)
    elif key.endswith((".meta.vertices", ".meta.edges")):
        props.counts[key.rpartition(".")[2]] = whole_number(value)
    elif key.endswith(".directed"):
        if value.lower() not in ("true", "false"):
            raise ValueError("it is true or false")
        props.directed = value.lower() == "true"
        props.why = f".properties says directed = {value.lower()}"
    elif key.endswith(".edge-properties.names"):
        names = words_of(value.replace(",", " "))
        if len(names) > 1:
            raise ValueError("an edge has one property at most, its weight: remove the other columns")
        props.weighted = bool(names)
