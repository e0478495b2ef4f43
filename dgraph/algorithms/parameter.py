"""Parameter: name, kind and range of one parameter of an algorithm; every value is checked here before it is used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dgraph._support import arguments
from dgraph.comm import Comm
from dgraph.errors import UsageError, shown, unknown
from dgraph.graph.names import Names


@dataclass(frozen=True)
class Parameter:
    """One parameter of an algorithm: a keyword of :func:`dgraph.run` and an option of the command line.

    Attributes:
        name: keyword; the option is ``--name`` with hyphens for underscores.
        type: int, float, bool, str, "vertex": an original id or name, or "vertices": several, or a dict of these →
            number.
        default: value if the parameter is left out.
        help: text of ``--help``.
        choices: allowed values; None: any of the type.
        aliases: other keywords for the parameter.
        least: smallest allowed number; None: no bound.
        on_host: True if it names a file of the host: services do not take it.
        weights: False if vertices have no numbers: a dict is refused.
        function: True if a function may stand in place of the number.
        groups: True if it is a list of which each member is several vertices, or a dict of vertex → number.
        labels: True if it is a label of each vertex: a dict, equal on every rank, or a column of
            :meth:`Graph.with_columns`.
    """

    name: str
    type: Any
    default: Any
    help: str
    choices: tuple | None = None
    aliases: tuple[str, ...] = ()
    least: int | None = None
    on_host: bool = False
    weights: bool = True
    function: bool = False
    groups: bool = False
    labels: bool = False

    @property
    def holds_vertices(self) -> bool:
        """True if its value is a vertex, or several."""
        return self.is_vertex or (self.type == "vertices" and not self.labels)

    @property
    def is_vertex(self) -> bool:
        """True if its value is one vertex."""
        return self.name == "source" or self.type == "vertex"

    def checked(self, value: Any, of: str) -> Any:
        """Return a value as Python's own type: a number, bool, str, vertex, list of vertices, or dict.

        Args:
            value: the value that was passed.
            of: name of the algorithm, for the message.

        Raises:
            UsageError: a value of another type, not one of the choices, or below ``least``.
        """
        leaving = {"of": of, "more": ", or leave it out"}
        if self.choices:
            if not isinstance(value, (str, int, float)) or value not in self.choices:
                raise unknown(f"{self.name} of {of}", value, self.choices)
            return self.choices[self.choices.index(value)]
        if (self.function and callable(value)) or self.labels:
            return value
        if self.is_vertex:
            return arguments.vertex(self.name, value)
        if self.groups:
            return arguments.groups(self.name, value)
        if self.type == "vertices":
            return arguments.vertices(self.name, value, self.weights)
        if self.type is int:
            return arguments.integer(self.name, value, self.least, **leaving)
        if self.type is float:
            return arguments.real(self.name, value, self.least, **leaving)
        if self.type is bool:
            return arguments.flag(self.name, value, **leaving)
        return arguments.text(self.name, value, **leaving) if self.type is str else value

    def numbered(self, value: Any, names: Names | None, comm: Comm) -> Any:
        """Return vertices with numbers in place of names; collective.

        Args:
            value: a vertex, a list of vertices, a dict with vertices as keys, a list of these, or None.
            names: names of the vertices; None: they are integers.
            comm: the ranks.

        Raises:
            UsageError: a name that no vertex has, or a vertex of another kind than the graph's.
        """
        if value is None:
            return None
        if self.groups:
            one = replace(self, groups=False)
            return [one.numbered(group, names, comm) for group in value]
        lone = isinstance(value, (int, str))
        vertices = [value] if lone else list(value)
        kind = int if names is None else str
        other = next((vertex for vertex in vertices if not isinstance(vertex, kind)), None)
        if other is not None:
            why = (
                "an integer, and the vertices of this graph are integers; give its ids (vertices have names if the "
                "graph is loaded with ids='string')"
                if names is None
                else "text, and the vertices of this graph have names; give these"
            )
            raise UsageError(f"{self.name} {shown(other)} is not {why}")
        if names is None or not vertices:
            return value
        try:
            numbers = names.find(vertices, comm)
        except UsageError as refused:
            raise UsageError(f"{self.name}: {refused}") from None
        if lone:
            return numbers[0]
        return dict(zip(numbers, value.values(), strict=True)) if isinstance(value, dict) else numbers
