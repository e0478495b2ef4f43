"""Tables of a result: Arrow, pandas, Polars, and attributes of a NetworkX graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph._support.arguments import flag, root_rank
from dgraph.comm import Comm, collective
from dgraph.errors import UsageError
from dgraph.result import arrow_tables
from dgraph.result.networkx_attributes import with_attributes


class ResultTables:
    """Tables of a :class:`~dgraph.Result`."""

    columns: Any
    comm: Comm
    nullable: Any
    attributes: Any
    _here: Callable[[], Mapping[str, np.ndarray]]
    _gathered: Callable[[int], dict[str, np.ndarray]]

    def to_arrow(self, root: int | None = 0, attributes: bool = False) -> Any:
        """Return the rows by ascending vertex as a ``pyarrow.Table``.

        Names are strings. Unreached vertices and missing predecessors are null. On one rank, numbers are not copied.

        Args:
            root: the rank that receives all rows, as in :meth:`gather`; collective. None: each rank gets its own rows;
                not collective.
            attributes: True joins the columns of the graph's vertices (``Graph.with_columns``).

        Returns:
            The table; None on ranks other than ``root``.

        Raises:
            UsageError: pyarrow is not installed; ``attributes`` with ``root=None`` on several ranks, for a graph
                without columns, or with one that has the name of a column of the result.
            DataError: a name is not UTF-8.
        """
        return self._as(arrow_tables.arrow_table, root, attributes=attributes)

    def to_pandas(self, root: int | None = 0, attributes: bool = False) -> Any:
        """Return the rows by ascending vertex as a ``pandas.DataFrame``; it is not tied to the result's memory.

        Distances and predecessors that are integers have dtype ``Int64``, with ``NA`` if missing; float distances have
        NaN. Names have pandas' string dtype.

        Args:
            root: as of :meth:`to_arrow`.
            attributes: as of :meth:`to_arrow`.

        Raises:
            UsageError: pandas, or for names pyarrow, is not installed; ``attributes`` as of :meth:`to_arrow`.
            DataError: a name is not UTF-8.
        """
        return self._as(arrow_tables.pandas_frame, root, attributes=attributes)

    def to_polars(self, root: int | None = 0, attributes: bool = False) -> Any:
        """Return the table of :meth:`to_arrow` as a ``polars.DataFrame``; arguments and errors are the same."""
        return self._as(arrow_tables.polars_frame, root, attributes=attributes)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return this rank's rows as an Arrow stream (PyCapsule interface); not collective.

        ``polars.DataFrame(result)``, ``pyarrow.table(result)`` and DuckDB's ``FROM result`` call it.
        """
        return self.to_arrow(root=None).__arrow_c_stream__(requested_schema)

    def to_networkx(self, G: Any = None, root: int | None = 0) -> Any:
        """Set each column as an attribute of the nodes of a NetworkX graph, and return the graph.

        Missing values set no attribute, so ``networkx.get_node_attributes(G, "distance")`` has the reached vertices.

        Args:
            G: graph whose nodes are the vertices; None: a new ``DiGraph`` of all vertices, with an edge from each
                predecessor: the search tree of bfs and sssp.
            root: as of :meth:`to_arrow`.

        Raises:
            UsageError: NetworkX is not installed, or a vertex is not a node of ``G``.
        """
        return self._as(with_attributes, root, G)

    def _as(self, make: Any, root: int | None, *more: Any, attributes: bool = False) -> Any:
        """Call ``make(columns, nullable, …)`` on this rank's rows, or on ``root`` with all rows."""
        if flag("attributes", attributes):
            self._check_attributes(root)
        if root is None and not attributes:
            return make(self._here(), self.nullable, *more)
        root = root_rank(0 if root is None else root, self.comm.size, ", or None")
        return self._made_on(root, make, attributes, *more)

    def _check_attributes(self, root: int | None) -> None:
        if self.attributes is None:
            raise UsageError("attributes=True: the graph has no columns; give it some by with_vertex_attributes")
        if root is None and self.comm.size > 1:
            raise UsageError("attributes=True gathers the columns on one rank; give root=, such as 0")

    @collective
    def _made_on(self, root: int, make: Any, attributes: bool, *more: Any) -> Any:
        rows = self._here() if self.comm.size == 1 else self._gathered(root)
        if attributes:
            rows = self._joined(rows, self.attributes.gathered(root))
        answer = None
        with self.comm.together():
            if self.comm.rank == root:
                answer = make(rows, self.nullable, *more)
        return answer

    def _joined(self, rows: Mapping[str, np.ndarray], joined: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return rows with the graph's columns beside those of the result."""
        both = [name for name in joined if name in self.columns]
        if both:
            raise UsageError(f"attributes=True: {both[0]} is also a column of the result; rename the graph's column")
        return {**rows, **joined}
