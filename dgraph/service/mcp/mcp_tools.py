"""The tools: list_graphs, describe, estimate, run, top, path. Main entry: :func:`server_of`.

Answers are small: at most ``MOST_ROWS`` rows, with figures of the whole. An agent that needs every row gets the job's
id, with which ``dgraph.connect`` or ``GET /v1/jobs/{id}/result`` fetch them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from dgraph._support.version import __version__
from dgraph.errors import DgraphError, UsageError
from dgraph.service.client.connection import Service
from dgraph.service.client.remote_graph import RemoteGraph
from dgraph.service.client.remote_job import RemoteJob

P = ParamSpec("P")
R = TypeVar("R")

MOST_ROWS = 1000
"""Most rows of an answer."""

ABOUT = (
    "Graph analytics on graphs that a dgraph service keeps loaded. Call list_graphs first, describe for the parameters "
    "of an algorithm, estimate if a graph is large, and run. run answers with the rows of largest value; top and path "
    "read more of it."
)

Name = Annotated[str, Field(description="name of a graph, from list_graphs")]
Algorithm = Annotated[str, Field(description="bfs, sssp, cc, pagerank, kcore, color; describe lists all")]
Parameters = Annotated[
    dict[str, Any] | None, Field(description='as describe lists them, such as {"source": 1}; null: defaults')
]
Vertex = Annotated[int | str, Field(description="id of a vertex, or its name where vertices have names")]
Rows = Annotated[int, Field(ge=0, le=MOST_ROWS, description="rows to return, of largest value first")]


def server_of(service: Service) -> MCPServer:
    """Return the MCP server of a service."""
    server: MCPServer = MCPServer("dgraph", version=__version__, instructions=ABOUT)
    looking = ToolAnnotations(read_only_hint=True, open_world_hint=False)

    def tool(function: Callable[P, R]) -> Callable[P, R]:
        return server.tool(annotations=looking)(_explained(function))

    @tool
    def list_graphs() -> list[dict[str, Any]]:
        """List the graphs that are loaded: size, direction, weights, state, memory by rank."""
        return [_figures(graph) for graph in service.graphs()]

    @tool
    def describe(
        graph: Annotated[str | None, Field(description="graph to describe")] = None,
        algorithm: Annotated[str | None, Field(description="algorithm to describe")] = None,
    ) -> dict[str, Any]:
        """Describe a graph, or an algorithm with the JSON Schema of its parameters; without either, all algorithms."""
        algorithms = {row["name"]: row for row in service.algorithms()}
        facts: dict[str, Any] = {}
        if graph is not None:
            facts["graph"] = service.graph(graph).facts
        if algorithm is not None:
            if algorithm not in algorithms:
                raise UsageError(f"unknown algorithm {algorithm!r}: known are {', '.join(sorted(algorithms))}")
            facts["algorithm"] = algorithms[algorithm]
        return facts or {"algorithms": {name: row.get("help", "") for name, row in algorithms.items()}}

    @tool
    def estimate(graph: Name, algorithm: Algorithm, parameters: Parameters = None) -> dict[str, Any]:
        """Estimate the memory of a run on each rank, and compare it with what is free."""
        return service.graph(graph).estimate(algorithm, **(parameters or {}))

    @tool
    def run(
        graph: Name,
        algorithm: Algorithm,
        parameters: Parameters = None,
        rows: Rows = 10,
        timeout_s: Annotated[float, Field(gt=0, le=3600, description="seconds after which the run ends")] = 300.0,
    ) -> dict[str, Any]:
        """Run an algorithm, wait for its end, and return its figures and the rows of largest value."""
        job = service.graph(graph).post(algorithm, parameters or {}, wait=1.0, timeout_s=timeout_s)
        return _answer(job.wait(), rows)

    @tool
    def top(
        job: Annotated[str, Field(description="id from run")],
        rows: Rows = 10,
        column: Annotated[str | None, Field(description="column to order by; null: the first")] = None,
    ) -> dict[str, Any]:
        """Return the rows of largest value of an earlier run."""
        return {"columns": _top(service.job(job), rows, column)}

    @tool
    def path(graph: Name, source: Vertex, target: Vertex) -> dict[str, Any]:
        """Find a shortest path between two vertices, by weights where the graph has some; [] if there is none."""
        vertices = service.graph(graph).path(source, target)
        return {"vertices": vertices, "edges": max(len(vertices) - 1, 0)}

    return server


def _explained(function: Callable[P, R]) -> Callable[P, R]:
    """Pass the text of a service's error to the agent, which can then correct its call."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except DgraphError as error:
            raise ToolError(str(error)) from error

    return called


def _figures(graph: RemoteGraph) -> dict[str, Any]:
    facts = graph.facts if graph.state == "ready" else {}
    return {
        "name": graph.name, "state": graph.state, "vertices": facts.get("n"), "edges": facts.get("m"),
        "directed": facts.get("directed"), "weights": facts.get("weight_type"), "version": facts.get("version"),
        "bytes_by_rank": graph.bytes_by_rank,
    }  # fmt: skip


def _answer(job: RemoteJob, rows: int) -> dict[str, Any]:
    record = job.record
    return {
        "job": job.id, "summary": record["summary"], "rounds": record["rounds"], "seconds": record["seconds"],
        "converged": record.get("converged"), "limit": record.get("limit"), "rows_in_all": record["rows"],
        "columns": _top(job, rows, None) if rows else {},
    }  # fmt: skip


def _top(job: RemoteJob, rows: int, column: str | None) -> dict[str, list]:
    columns = job.result().top(rows, column)
    return {name: values.tolist() for name, values in columns.items()}
