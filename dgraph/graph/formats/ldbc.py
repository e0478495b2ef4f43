"""LDBC Graphalytics: ``NAME.v`` lists the vertices, ``NAME.e`` the edges, ``NAME.properties`` says what they mean."""

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
from dgraph.graph.build.clean import RawEdges
from dgraph.graph.formats.counted_header import check_count, set_direction
from dgraph.graph.formats.lines import find_line
from dgraph.graph.formats.packed import SUFFIXES, split_packing
from dgraph.graph.formats.scan import NUMBER, REST, SOURCE, TARGET
from dgraph.graph.formats.sniff import file_size, read_head, words_of
from dgraph.graph.formats.text import Layout, columns_read, read_table

if TYPE_CHECKING:
    from dgraph.graph.load_options import LoadOptions


BLANKS = " \t\f\n"
"""What stands around keys and values; what else Unicode calls space is part of them."""


def whole_number(value: str) -> int:
    """A count or an id; ``int`` takes more: signs, underscores, the digits of other scripts."""
    if not (value.isascii() and value.isdigit()) or int(value) >= 1 << 63:
        raise ValueError("it is a whole number below 2^63")
    return int(value)


def finite_number(value: str) -> float:
    """A real number that is finite."""
    if not value.isascii() or "_" in value or not math.isfinite(float(value)):
        raise ValueError("it is a finite number")
    return float(value)


DEFAULTS = {
    "bfs.source-vertex": ("bfs", "source", whole_number),
    "sssp.source-vertex": ("sssp", "source", whole_number),
    "pr.damping-factor": ("pagerank", "alpha", finite_number),
    "pr.num-iterations": ("pagerank", "max_iter", whole_number),
}
"""Keys of a .properties file that suggest parameters: of which algorithm, by which name, of which type."""
KEYS = ("vertex-file", "edge-file", "meta.vertices", "meta.edges", "edge-properties.names")
"""Endings of the keys whose lines messages name."""


@dataclass
class Properties:
    """What a .properties file says, or what holds where there is none.

    Attributes:
        file, lines: the file, and by the endings of keys in which line they are.
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
        """The file and the line that say a key, by the key's ending."""
        return f"{self.file}:{self.lines[key]}"


def read_ldbc(path: str, comm: Comm, options: LoadOptions) -> RawEdges:
    """The graph that NAME.e, NAME.v or NAME.properties belongs to; the vertices are those listed.

    Without NAME.v the vertices are the ids that occur. Without NAME.properties the graph is directed, and weighted
    where the first edge has three columns. Columns of NAME.v after the first are not read.
    """
    told = None
    with comm.together():
        if comm.rank == 0:
            told = vars(_properties(path))
    said = Properties(**comm.bcast_json(told))
    raw = _edges(said, comm, options)
    dropped = {"edges": raw.facts.lines_dropped}
    set_direction(raw, path, said.directed, said.why)
    raw.facts.defaults = said.defaults
    if said.vertices is None:
        raw.facts.notes.append("no .v file: the vertices are the ids that occur")
    else:
        raw.vertices = _vertices(said.vertices, raw, comm, options.lenient)
        raw.vertices_at, raw.edges_at = partial(_vertex_line, said.vertices), partial(_edge_line, said.edges)
        dropped["vertices"] = raw.facts.lines_dropped - dropped["edges"]
    edges = comm.total(raw.src.size)
    vertices = None if raw.vertices is None else comm.total(raw.vertices.size)
    with comm.together():
        if not edges and not vertices:
            raise DataError(f"{said.edges}: no edge and no vertex; is the file written to its end?")
        for listed, found, what in ((said.edges, edges, "edges"), (said.vertices, vertices, "vertices")):
            if what in said.counts and listed is not None and found is not None:
                where = f"meta.{what} ({said.where(f'meta.{what}')})"
                check_count(listed, found + dropped[what], said.counts[what], where, what)
    return raw


def _vertex_line(path: str, vertex: int) -> str:
    """Where a file of vertices lists a vertex for the second time: ``FILE:LINE``."""
    line = find_line(path, rf"[ \t]*0*{vertex}(?=[ \t\r\n]|$)", 2)
    return f"{path}:{line}"


def _edge_line(path: str, vertex: int) -> str:
    """Where a file of edges first has a vertex: ``FILE:LINE``."""
    line = find_line(path, rf"[ \t]*([0-9]+[ \t]+)?0*{vertex}(?=[ \t\r\n]|$)", 1)
    return f"{path}:{line}"


def _edges(said: Properties, comm: Comm, options: LoadOptions) -> RawEdges:
    head = read_head(said.edges, "#", comm, empty=True)
    weighted = len(words_of(head.line)) > 2 if said.weighted is None else said.weighted
    columns, example = (
        ((SOURCE, TARGET, NUMBER), "SOURCE TARGET WEIGHT") if weighted else ((SOURCE, TARGET), "SOURCE TARGET")
    )
    told = f"has {'one' if said.weighted else 'no'} property of edges"
    advice = "" if said.weighted is None else f", or {said.where('edge-properties.names')}, which {told}"
    layout = Layout(columns_read(columns, options.weights is None), example, comments="#", advice=advice)
    table = read_table(said.edges, layout, head.here, comm, options.lenient)
    raw = RawEdges(table.src, table.dst, table.weights)
    raw.facts.lines_dropped, raw.facts.notes = table.dropped, table.notes
    return raw


def _vertices(path: str, raw: RawEdges, comm: Comm, lenient: bool) -> np.ndarray:
    head = read_head(path, "#", comm)
    layout = Layout((SOURCE, REST), "VERTEX", comments="#")
    if len(words_of(head.line)) > 1:
        raw.facts.notes.append(f"only the first column of {os.path.basename(path)} is read")
    table = read_table(path, layout, head.here, comm, lenient)
    raw.facts.lines_dropped += table.dropped
    return table.src


def _properties(path: str) -> Properties:
    own, ending = split_packing(path)
    name = Path(own).with_suffix("")
    file = name.with_name(name.name + ".properties")
    vertices, edges = (_sibling(f"{name}{suffix}", ending) for suffix in (".v", ".e"))
    if not file.exists() and Path(own).suffix.lower() != ".properties":
        said = Properties(vertices, edges)
    else:
        file_size(str(file))
        said = _parse(str(file), vertices, edges)
        said.edges = _sibling(said.edges, ending)
        said.vertices = said.vertices and _sibling(said.vertices, ending)
        _check_files(said)
    if said.vertices and not os.path.exists(said.vertices) and Path(own).suffix.lower() == ".e":
        said.vertices = None
    return said


def _check_files(said: Properties) -> None:
    """Refuse a file of vertices where that of edges is to be named, and the reverse.

    Raises:
        DataError: with the line that names it.
    """
    named = {"edge-file": (said.edges, ".v"), "vertex-file": (said.vertices or "", ".e")}
    told = [key for key in named if key in said.lines]
    wrong = [key for key in told if Path(split_packing(named[key][0])[0]).suffix.lower() == named[key][1]]
    if not wrong and said.vertices and os.path.abspath(said.vertices) == os.path.abspath(said.edges):
        wrong = told
    if wrong:
        what, other = ("edges", "vertices") if wrong[0] == "edge-file" else ("vertices", "edges")
        file = os.path.basename(named[wrong[0]][0])
        raise DataError(
            f"{said.where(wrong[0])}: {wrong[0]} names {file}, the file of the {other}; name that of the {what}, "
            f"NAME.{what[0]}"
        )


def _sibling(path: str, ending: str) -> str:
    """The file of that name, or where there is none, its compressed form (first that with ``ending``)."""
    return next((path + each for each in ("", ending, *SUFFIXES) if os.path.exists(path + each)), path)


def _parse(path: str, vertices: str, edges: str) -> Properties:
    said = Properties(vertices, edges, file=path)
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            line = line.strip(BLANKS)
            if not line or line[0] in "#!":
                continue
            key, equals, value = (part.strip(BLANKS) for part in line.partition("="))
            try:
                if not equals:
                    raise ValueError("a line is 'KEY = VALUE'")
                _take(said, key, value, os.path.dirname(path))
                for ending in KEYS:
                    if key.endswith(f".{ending}"):
                        said.lines[ending] = number
            except ValueError as wrong:
                raise DataError(f"{path}:{number}: got {line[:60]!r}; {wrong}; correct it") from None
    return said


def _take(said: Properties, key: str, value: str, folder: str) -> None:
    for ending, (algorithm, parameter, kind) in DEFAULTS.items():
        if key.endswith("." + ending):
            said.defaults.setdefault(algorithm, {})[parameter] = kind(value)
            if parameter == "max_iter":
                said.defaults[algorithm]["tol"] = 0.0  # LDBC asks for exactly so many rounds
    if key.endswith(".vertex-file"):
        said.vertices = os.path.join(folder, value)
    elif key.endswith(".edge-file"):
        said.edges = os.path.join(folder, value)
    elif key.endswith((".meta.vertices", ".meta.edges")):
        said.counts[key.rpartition(".")[2]] = whole_number(value)
    elif key.endswith(".directed"):
        if value.lower() not in ("true", "false"):
            raise ValueError("it is true or false")
        said.directed = value.lower() == "true"
        said.why = f".properties says directed = {value.lower()}"
    elif key.endswith(".edge-properties.names"):
        names = words_of(value.replace(",", " "))
        if len(names) > 1:
            raise ValueError("an edge has one property at most, its weight: remove the other columns")
        said.weighted = bool(names)
