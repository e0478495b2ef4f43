"""``RemoteGraph``: a graph that a service keeps loaded."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dgraph._support.callers import users_frame
from dgraph._support.peer_names import descriptor_of, hint
from dgraph.errors import ConvergenceWarning, OutputError, UsageError
from dgraph.service.client.http_link import Link, place
from dgraph.service.client.remote_job import RemoteJob

if TYPE_CHECKING:
    from dgraph.service.client.remote_result import RemoteResult

SHORT_S = 0.5
"""Seconds that the first request waits for the answer; longer runs are then followed by their events."""

CHANGE_S = 60
"""Seconds for which a batch of edges may wait for its version, so that its error is raised here."""

HERE = ("checkpoint", "record", "previous")
"""Settings of a run that belong to the processes that run it."""

LOCAL = "as Graph.load(…) makes it"
"""End of a message about an attribute that graphs in this process have."""


class RemoteGraph:
    """A graph of a service. ``dgraph.bfs(graph, 1)`` and the other functions run it there.

    Attributes:
        name: in the service's catalogue.
        version: the version that runs take; None: the newest.
    """

    def __init__(self, link: Link, record: Mapping[str, Any], version: int | None = None):
        self._link, self._record = link, dict(record)
        self.name: str = record["name"]
        self.version = version

    @property
    def facts(self) -> dict[str, Any]:
        """Figures of the graph: n, m, arcs, directed, weight_type, ids, policy, fingerprint, notes, …."""
        record = self._record
        if record.get("state", "loading") == "loading":
            record = self.refresh()._record
        return (record.get("facts") or {}) | record

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self._figure("n")

    @property
    def m(self) -> int:
        """Number of edges; an undirected edge counts once."""
        return self._figure("m")

    @property
    def arcs(self) -> int:
        """Number of arcs; an undirected edge counts twice."""
        return self._figure("arcs")

    @property
    def directed(self) -> bool:
        """True if an edge goes one way."""
        return self._figure("directed")

    @property
    def weight_type(self) -> np.dtype | None:
        """The dtype of the weights; None: every edge weighs 1."""
        weight_type = self._figure("weight_type")
        return None if weight_type is None else np.dtype(weight_type)

    @property
    def state(self) -> str:
        """State when it was last received: loading, ready or failed."""
        return self._record["state"] if "state" in self._record else self.refresh()._record["state"]

    @property
    def bytes_by_rank(self) -> list[int]:
        """Bytes that the graph takes on each rank."""
        return list(self.facts.get("bytes_by_rank") or ())

    def fingerprint(self) -> str:
        """Return the hash of vertices, arcs and weights that the local graph has, too."""
        return self._figure("fingerprint")

    def refresh(self) -> RemoteGraph:
        """Ask the service for the record, and return the graph."""
        self._record = self._link.call("GET", place("graphs", self.name), version=self.version)
        return self

    def at(self, version: int) -> RemoteGraph:
        """Return a handle of one version, whose answers later changes of the graph leave as they are.

        Its figures are asked for when they are read; that, and a run, raises ``UsageError`` for a version that the
        service does not have.
        """
        return RemoteGraph(self._link, {"name": self.name}, version)

    def submit(
        self,
        algorithm: str,
        *,
        mode: str = "stream",
        priority: int | None = None,
        timeout_s: float | None = None,
        column: str | None = None,
        write: str | None = None,
        replace: bool = False,
        weight: str | None = None,
        where: Mapping[str, Any] | None = None,
        cache: bool = True,
        report: bool = True,
        validate: bool = False,
        options: Any = None,
        wait: float | None = None,
        **parameters: Any,
    ) -> RemoteJob:
        """Submit a run and return its job, at once or after ``wait`` seconds.

        Args:
            algorithm: a name, such as "bfs".
            mode: "stream", "stats", "mutate" (keeps a column with the graph), or "write" (writes a file).
            priority: higher ones run first; None: the service's default.
            timeout_s: seconds after which the run ends; None: the service's default.
            column: name of the column of mode "mutate".
            write: file of mode "write", under the service's data root.
            replace: True replaces a file of that name.
            weight: an attribute of the edges (``keep=`` of the load) that is their weight in this run.
            where: runs on the vertices that a kept column selects, such as ``{"column": "core", "is": ">=", "value":
                3}``; ``graph.facts["columns"]`` has the names of these columns. None: all vertices.
            cache: False computes the answer anew, also where the service holds that of an equal job.
            report: False leaves out the report of the run, which takes about a millisecond.
            validate: True proves the answer with its certificate; a wrong one raises ``ValidationFailed``.
            options: :class:`~dgraph.Options` of the rounds, or a dict of its fields; None: the defaults.
            wait: seconds to wait for the end; None: do not wait.
            parameters: the algorithm's.

        Raises:
            UsageError: the service refuses the request.
            OutputError: the service is away, or its queue is full.
        """
        settings = {
            "priority": priority, "timeout_s": timeout_s, "column": column, "write": write,
            "replace": replace or None, "weight": weight, "where": None if where is None else _plain(where),
            "report": report, "cache": None if cache else False,
            "validate": validate or None, "options": _chosen(options),
        }  # fmt: skip
        return self.post(algorithm, parameters, wait=wait, mode=mode, **settings)

    def post(
        self, algorithm: str, parameters: Mapping[str, Any], wait: float | None = None, **settings: Any
    ) -> RemoteJob:
        """Submit a run as :meth:`submit` does, with the algorithm's parameters apart from the job's settings."""
        if not isinstance(algorithm, str):
            raise UsageError(
                f"{type(algorithm).__name__} is code, and a service runs the algorithms it has, by name; give a name, "
                "such as 'bfs', or run it on a local graph"
            )
        body = {"graph": self.name, "algorithm": algorithm, "parameters": _plain(parameters), "version": self.version}
        body |= {key: value for key, value in settings.items() if value is not None}
        return RemoteJob(self._link, self._link.call("POST", "/v1/jobs", body, wait=wait, top=1), body)

    def run(self, algorithm: str, **settings: Any) -> RemoteResult:
        """Run an algorithm and return its result; keywords as of :meth:`submit`. A KeyboardInterrupt cancels the job.

        Raises:
            DgraphError: the error of the service, of the class that a local run would raise.
        """
        return self._followed(algorithm, None, settings)

    def run_remotely(self, algorithm: Any, *, progress: Any = None, **settings: Any) -> RemoteResult:
        """Run an algorithm for :func:`dgraph.run`; ``progress`` gets phases and rounds as of a local run."""
        for name in HERE:
            if settings.pop(name, None) is not None:
                raise UsageError(
                    f"{name}= belongs to a run of this process, and {self.name} is a graph of a service; leave it out"
                )
        return self._followed(algorithm, progress, settings)

    def _followed(self, algorithm: str, progress: Any, settings: dict[str, Any]) -> RemoteResult:
        from dgraph._support import interrupts
        from dgraph.engine.rounds.progress import progress_of

        until = time.monotonic() + self._link.patience
        with interrupts.deferred():  # an interrupt before the id is known would leave the job running
            job = self.submit(algorithm, wait=SHORT_S, **settings)
        while True:
            try:
                result = job.wait(None if progress is None else _shown(progress_of(progress, 0))).result()
                break
            except OutputError:
                if not job.interrupted or time.monotonic() >= until:
                    raise
                with interrupts.deferred():
                    again = job.submit_again()
                if not again:
                    raise
        if not result.converged:
            _warn(algorithm, result.limit)
        return result

    def estimate(self, algorithm: str, **parameters: Any) -> dict[str, Any]:
        """Return the memory that a run would take on each rank, the memory there is, and whether it fits."""
        body = {"graph": self.name, "algorithm": algorithm, "parameters": _plain(parameters), "version": self.version}
        return self._link.call("POST", "/v1/estimate", body)

    def path(self, source: int | str, target: int | str, *, weighted: bool | None = None) -> list:
        """Return the vertices of a shortest path; ``[]`` if there is none.

        Args:
            source: its first vertex.
            target: its last vertex.
            weighted: False counts hops; None: weights where the graph has some.
        """
        body: dict[str, Any] = {"source": _scalar(source), "target": _scalar(target), "version": self.version}
        if weighted is not None:
            body["weighted"] = weighted
        return self._link.call("POST", place("graphs", self.name, "path"), body)["vertices"]

    def shortest_path(self, source: int | str, target: int | str, weighted: bool = False) -> list:
        """Return :meth:`path` as ``Graph.shortest_path`` does: of fewest edges unless ``weighted``."""
        return self.path(source, target, weighted=weighted)

    def with_edges(self, add: Any = None, remove: Any = None, *, weights: Any = None) -> RemoteGraph:
        """Make a version with edges added and removed, and return it; earlier versions stay as they are.

        Args:
            add: vertices, shape (k, 2): original ids or names; None: none.
            remove: as ``add``.
            weights: of the edges to add, shape (k,), if the graph has weights.
        """
        added, removed = _list_edges(add), _list_edges(remove)
        if weights is not None:
            added = [[*row, _scalar(weight)] for row, weight in zip(added, weights, strict=True)]
        batch = {"add": added, "remove": removed}
        change = self._link.call("POST", place("graphs", self.name, "edges"), batch, wait=CHANGE_S)
        return RemoteGraph(self._link, self._record, change["version"]).refresh()

    def pin(self, pinned: bool = True) -> RemoteGraph:
        """Make :meth:`drop` and other clients' removals of the graph fail, or allow them again."""
        self._link.call("PATCH", place("graphs", self.name), {"pinned": pinned})
        return self.refresh()

    def drop(self) -> None:
        """Remove the graph from the service, with all its versions."""
        self._link.call("DELETE", place("graphs", self.name))

    def __len__(self) -> int:
        return self.n

    def __bool__(self) -> bool:
        return True  # also while its size is not known

    __iter__ = None

    def __getitem__(self, key: object) -> Any:
        raise TypeError("'RemoteGraph' object has no items; there is result.value(vertex) of what a call returns")

    if not TYPE_CHECKING:  # a checker knows the attributes

        def __getattr__(self, name: str) -> Any:
            from dgraph.graph.handle import Graph  # not at the top: a client needs no graphs

            if (own := descriptor_of(self, name)) is not None:
                return own.__get__(self, type(self))
            mend = hint(name)
            if name in dir(Graph) and not name.startswith("_"):
                mend = "; a local Graph has it, and what it makes can be sent: service.put(name, table)"
            elif (method := re.search(r"graph\.(\w+)", mend)) and not hasattr(type(self), method[1]):
                mend += f", where graph is a local one, {LOCAL}"
            raise AttributeError(f"'RemoteGraph' object has no attribute {name!r}{mend}")

    def _figure(self, name: str) -> Any:
        facts = self.facts
        if name not in facts:
            raise UsageError(f"the graph {self.name} is {facts.get('state', 'not ready')}: {name} is not known yet")
        return facts[name]

    def __repr__(self) -> str:
        record = self._record | (self._record.get("facts") or {})
        size = f", {record['n']:,} vertices, {record['m']:,} edges" if "n" in record else ""
        version = "" if self.version is None else f", version {self.version}"
        return (
            f"<RemoteGraph {self.name} at {self._link.address}: {record.get('state', 'not asked yet')}{size}{version}>"
        )


def _chosen(options: Any) -> dict[str, Any] | None:
    """Return the fields of options that are not the defaults."""
    if options is None or isinstance(options, Mapping):
        return options if options is None else dict(options)
    return {field.name: value for field in fields(options) if (value := getattr(options, field.name)) != field.default}


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON has them: vertices that are keys become text."""
    return {name: _json(value) for name, value in parameters.items() if value is not None}


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(_scalar(key)): _json(element) for key, element in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_json(element) for element in value]
    return _scalar(value)


def _list_edges(edges: Any) -> list[list]:
    if edges is None:
        return []
    return edges.tolist() if isinstance(edges, np.ndarray) else [list(map(_scalar, row)) for row in edges]


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _shown(progress: Any):
    """Return a receiver of events that shows them to a ``Progress``."""

    def seen(event: dict[str, Any]) -> None:
        if "phase" in event:
            progress.phase(event["phase"])
        elif "round" in event:
            progress.round(event["round"], event.get("active", 0))

    return seen


def _warn(algorithm: str, limit: str | None) -> None:
    text = f"{algorithm} did not converge: it was stopped after {limit or 'a limit'}; allow more rounds"
    warnings.warn(text, ConvergenceWarning, stacklevel=users_frame())
