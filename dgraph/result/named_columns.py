"""``NamedColumns``: numeric columns of an answer beside the names of its vertices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dgraph._support import arguments
from dgraph.comm import Comm
from dgraph.errors import UsageError, shown
from dgraph.graph.names import Names, decode_names
from dgraph.result.columns import Column, Columns


def vertex_number(argument: str, value: Any, names: Names | None, comm: Comm) -> int:
    """Return the number of a vertex that an argument names; collective.

    Args:
        argument: name of the argument, for the message.
        value: id, or name.
        names: names of the vertices; None: they are integers.
        comm: the ranks.

    Raises:
        UsageError: not a vertex, or one of another kind.
    """
    vertex = arguments.vertex(argument, value)
    if names is not None:
        try:
            return names.find([str(vertex)], comm)[0]
        except UsageError as refused:
            raise UsageError(f"{argument}: {refused}") from None
    if isinstance(vertex, str):
        why = "is not an integer, and the vertices of this graph are; pass one of its ids"
        raise UsageError(f"{argument} {shown(vertex)} {why}")
    return vertex


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """Numeric columns of an answer whose vertices have names.

    Attributes:
        names: table of names that numbers of vertices index.
        columns: arrays by name.
        words: names (dtype S, ``b""`` for -1) in place of the columns that hold vertices.
    """

    names: Names
    columns: Mapping[str, np.ndarray]
    words: Mapping[str, np.ndarray]

    @classmethod
    def fetched(
        cls, names: Names, columns: Mapping[str, np.ndarray], vertices: tuple[str, ...], comm: Comm
    ) -> NamedColumns:
        """Fetch the names of the columns ``vertices``; collective."""
        return cls(names, columns, {key: names.words(columns[key], comm) for key in vertices})

    def here(self) -> dict[str, np.ndarray]:
        """Return this rank's columns with names as bytes; not collective."""
        return {key: self.words.get(key, self.columns[key]) for key in self.columns}

    def with_names(self, columns: Mapping[str, np.ndarray], comm: Comm) -> dict[str, np.ndarray]:
        """Return columns of other rows with names as bytes in place of numbers of vertices; collective."""
        return {key: self.names.words(values, comm) if key in self.words else values for key, values in columns.items()}

    def decoded(self) -> Columns:
        """Return the columns with names as str, decoded at first access."""
        columns: dict[str, Column] = {name: partial(self.columns.__getitem__, name) for name in self.columns}
        return Columns(columns | {name: partial(decode_names, words) for name, words in self.words.items()})


def decoded(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns with str in place of bytes."""
    return {name: decode_names(values) if values.dtype.kind == "S" else values for name, values in columns.items()}
