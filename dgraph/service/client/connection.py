"""``dgraph.connect``: a service's catalogue of graphs, and its jobs."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator
from typing import Any

from dgraph._support.extras import extra
from dgraph.errors import UsageError
from dgraph.graph.kept_rules import keep_text, kept_rules
from dgraph.service.client.http_link import ARROW, CSV, Link, place
from dgraph.service.client.problems import class_of
from dgraph.service.client.remote_graph import RemoteGraph
from dgraph.service.client.remote_job import RemoteJob

TOKEN = "DGRAPH_TOKEN"
"""Environment variable with the token, where none is passed."""

TIMEOUT_S = 300.0
"""Seconds in which the service must send something."""


def connect(
    address: str, token: str | None = None, *, timeout: float = TIMEOUT_S, patience: float = 0.0
) -> Service:  # fmt: skip
    """Connect to a service that ``python -m dgraph serve`` started. Not collective: one process is a client.

    Args:
        address: ``unix:/path.sock``, ``http://host:port`` or ``https://host:port``.
        token: a line of the service's token file, needed over TCP; None: the environment's ``DGRAPH_TOKEN``, if set.
        timeout: seconds in which the service must send something.
        patience: seconds for which a request that is answered 503, or not at all, is sent again, as while the service
            or its ranks restart; a run that their end interrupted, or whose rows were lost, is submitted again.

    Raises:
        UsageError: the address has another form, a time is not finite, no header can have the token, or the service
            refuses it.
        OutputError: nothing answers there.
    """
    if token is None or (isinstance(token, str) and not token):
        token = os.environ.get(TOKEN) or None
    service = Service(Link(address, token, timeout, patience))
    service.graphs()
    return service


class Service:
    """A service: graphs that stay loaded, and jobs. Threads may share it."""

    def __init__(self, link: Link):
        self._link = link

    def graphs(self) -> list[RemoteGraph]:
        """Return the graphs of the catalogue."""
        return [RemoteGraph(self._link, record) for record in self._link.call("GET", "/v1/graphs")["graphs"]]

    def graph(self, name: str, version: int | None = None) -> RemoteGraph:
        """Return a graph by name.

        Args:
            name: in the catalogue.
            version: the version that runs take; None: the newest.

        Raises:
            UsageError: the service has none of that name, or not that version of it.
        """
        return RemoteGraph(self._link, self._link.call("GET", place("graphs", name), version=version), version)

    def load(
        self, name: str, source: str, *, wait: bool = True, idle_s: float | None = None, **options: Any
    ) -> RemoteGraph:  # fmt: skip
        """Load a graph into the service.

        Args:
            name: to give it.
            source: a path relative to the service's data root, or a generator such as ``grid:900x900``.
            wait: False returns while it is loading; jobs on it are queued.
            idle_s: seconds without use after which the service deletes the graph; None: it stays.
            options: of ``Graph.load``, such as ``weights="1..255"``.

        Raises:
            UsageError: the service refuses the source or the options.
            DataError: the source is not what its name says.
        """
        body = {"name": name, "source": source, "options": _as_json(options), "idle_s": idle_s}
        record = self._link.call("POST", "/v1/graphs", body)
        graph = RemoteGraph(self._link, record)
        return self._ready(graph) if wait else graph

    def put(
        self, name: str, table: Any, *, wait: bool = True, idle_s: float | None = None, **options: Any
    ) -> RemoteGraph:  # fmt: skip
        """Send edges to the service as a graph.

        Args:
            name: to give it.
            table: a data frame of pandas or Polars, or a table with Arrow's C interface: columns source, target and
                perhaps weight, or ``columns="who,whom"`` among the options.
            wait: as of :meth:`load`.
            idle_s: as of :meth:`load`.
            options: as of :meth:`load`.

        Raises:
            DataError: the table is not one of edges; a graph of the name stays as it was.
        """
        options = _as_json(options)
        body, kind, names = _body(table, options.get("columns"), options.get("keep"))
        if names:
            options = {"ids": "string", "header": True} | options
        words = {key: str(value).lower() if isinstance(value, bool) else value for key, value in options.items()}
        record = self._link.call("PUT", place("graphs", name, "data"), body, kind, idle_s=idle_s, **words)
        graph = RemoteGraph(self._link, record, record["version"] or None)  # an earlier version may be ready
        if wait:
            self._ready(graph)
        graph.version = None
        return graph

    def jobs(self, state: str | None = None, graph: str | None = None) -> Iterator[RemoteJob]:
        """Yield jobs, the newest first.

        Args:
            state: queued, running, done, failed or cancelled; None: any.
            graph: name of their graph; None: any.
        """
        cursor = None
        while True:
            page = self._link.call("GET", "/v1/jobs", state=state, graph=graph, cursor=cursor)
            for record in page["jobs"]:
                yield RemoteJob(self._link, record)
            cursor = page.get("cursor")
            if not cursor:
                return

    def job(self, id: str) -> RemoteJob:
        """Return a job by its id."""
        return RemoteJob(self._link, self._link.call("GET", place("jobs", id)))

    def algorithms(self) -> list[dict[str, Any]]:
        """Return the service's algorithms: JSON Schema of parameters, and result columns."""
        return self._link.call("GET", "/v1/algorithms")["algorithms"]

    def close(self) -> None:
        """Close this thread's connection."""
        self._link.close()

    def _ready(self, graph: RemoteGraph) -> RemoteGraph:
        pause = 0.01
        while graph.state == "loading":
            time.sleep(pause)
            pause = min(2 * pause, 0.5)
            graph.refresh()
        if graph.state == "failed":
            error = graph.facts.get("error") or {}
            error = error if isinstance(error, dict) else {"detail": str(error)}
            text = error.get("detail") or error.get("message") or f"the graph {graph.name} could not be loaded"
            raise class_of(error.get("kind"), error.get("status", 422))(text)
        return graph

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Service at {self._link.address}>"


def _as_json(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a load with ``keep`` as text."""
    return options | {"keep": keep_text(options["keep"])} if "keep" in options else options


def _body(table: Any, columns: str | None, keep: str | None) -> tuple[memoryview, str, bool]:
    """Return the body of a table of edges, its kind, and True if vertices have names; the loader reads those as CSV."""
    pyarrow = extra("pyarrow", "a table that a service receives")
    if not hasattr(table, "__arrow_c_stream__"):
        raise UsageError(f"got {type(table).__name__}; give a data frame, or a table with __arrow_c_stream__")
    arrow, body = pyarrow.table(table), io.BytesIO()
    if columns is None or columns.split(",")[0].isdigit():
        ends = arrow.drop_columns([name for name in kept_rules(keep) if name in arrow.column_names])
    else:
        ends = arrow.select(columns.split(",")[:2])
    if any("string" in str(kind) for kind in ends.schema.types):
        plain = [pyarrow.large_string() if "string" in str(kind) else kind for kind in arrow.schema.types]
        arrow = arrow.cast(pyarrow.schema(zip(arrow.column_names, plain, strict=True)))
        extra("pyarrow.csv", "a table with names").write_csv(arrow, body)
        return body.getbuffer(), CSV, True
    with extra("pyarrow.ipc", "a table that a service receives").new_stream(body, arrow.schema) as writer:
        writer.write_table(arrow)
    return body.getbuffer(), ARROW, False
