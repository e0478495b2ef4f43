"""Bodies and answers of the HTTP interface, as typed models from which /openapi.json is made.

Requests are validated against them. Answers are dictionaries that the routes build in these shapes.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dgraph.algorithms import ALGORITHMS

LARGEST = (1 << 63) - 1
State = Literal["queued", "running", "done", "failed", "cancelled"]
GraphState = Literal["loading", "ready", "failed"]
Mode = Literal["stream", "stats", "mutate", "write"]
FigureKind = Literal["values", "sizes", "profile", "rounds", "convergence"]
KNOWN: dict[str, Any] = {"enum": [*ALGORITHMS, *ALGORITHMS.aliases]}
Vertex = Annotated[int, Field(ge=0, le=LARGEST)] | Annotated[str, Field(min_length=1, max_length=255)]
End = Annotated[int, Field(ge=0, le=LARGEST)] | Annotated[str, Field(min_length=1, max_length=255)] | float
Name = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="1 to 64 letters, digits, '_', '.' or '-'")
]


class Strict(BaseModel):
    """Base of requests: unknown fields are refused, and numbers are not read from strings."""

    model_config = ConfigDict(extra="forbid", strict=True)


class LoadFields(Strict):
    """Options of a load, with the names and meanings of ``dgraph.Graph.load``."""

    directed: bool | None = Field(None, description="overrides the input's direction")
    weights: str | None = Field(None, max_length=64, description="unit, LO..HI, hash or dimacs")
    keep_loops: bool = False
    keep_parallel: bool = False
    merge: Literal["min", "max", "sum", "first", "count"] = "min"
    keep: str | None = Field(
        None, max_length=4096, description="attributes of edges: NAME[:RULE],…; RULE is first, min, max or sum"
    )
    sparse_ids: bool = False
    seed: int = Field(1, ge=0, le=LARGEST)
    ids: Literal["auto", "integer", "string"] = "auto"
    order: Literal["original", "degree"] = "original"
    lenient: bool = False
    separator: str | None = Field(None, min_length=1, max_length=3, description="a character, or tab")
    comment: str | None = Field(None, max_length=1, description='the mark of comment lines, "" for none')
    decimal: Literal[".", ","] = "."
    header: bool | None = None
    columns: str | None = Field(None, max_length=512, description="SOURCE,TARGET[,WEIGHT]: names or numbers from 1")
    format: str | None = Field(None, max_length=16, description="format of a file whose suffix does not say it")
    edge_data: Literal["int32", "int64", "float32", "float64"] | None = None
    policy: str | None = Field(None, max_length=64, description="partitioning policy")


Idle = Annotated[
    float | None, Field(gt=0, le=1e9, description="seconds without use after which the graph is deleted; null: never")
]


class LoadQuery(LoadFields):
    """Options of a load, as a query string writes them."""

    model_config = ConfigDict(extra="forbid", strict=False)
    idle_s: Idle = None


class NewGraph(Strict):
    """Graph to load from the data root or a generator."""

    name: Name
    source: str = Field(
        min_length=1, max_length=4096, description="path relative to the data root, or a generator: grid:900x900"
    )
    options: LoadFields = Field(default_factory=LoadFields)  # type: ignore[arg-type]
    idle_s: Idle = None


class GraphRecord(BaseModel):
    """Graph of the catalogue."""

    name: str
    state: GraphState
    version: int = Field(description="newest version that can be asked; 0 before the first load ends")
    versions: list[int] = Field(description="versions that a job may name")
    source: str
    options: dict[str, Any]
    pinned: bool
    created: float
    idle_s: float | None
    facts: dict[str, Any] | None = Field(description="vertices, edges and the like, from the load")
    bytes_by_rank: list[int] | None
    columns: list[str] = Field(description="columns that jobs of mode mutate kept")
    error: dict[str, Any] | None


class Graphs(BaseModel):
    """All graphs."""

    graphs: list[GraphRecord]


class Pin(Strict):
    """Change of a graph's record."""

    pinned: bool = Field(description="a pinned graph cannot be deleted")


class Edges(Strict):
    """Batch of edges that makes a new version."""

    add: list[Annotated[list[End], Field(min_length=2, max_length=3)]] = Field(
        default_factory=list, description="rows [source, target] or [source, target, weight]"
    )
    remove: list[Annotated[list[End], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list, description="rows [source, target]"
    )


class Changed(BaseModel):
    """Version that a batch of edges makes."""

    name: str
    version: int
    state: GraphState


class PathQuery(Strict):
    """Shortest path between two vertices."""

    source: Vertex
    target: Vertex
    weighted: bool | None = Field(None, description="use the weights of edges; null: if the graph has some")
    version: int | None = Field(None, ge=1, lt=1 << 31)


class PathAnswer(BaseModel):
    """Vertices of a shortest path, and its length; [] and null if there is no path."""

    vertices: list[int | str]
    length: int | float | None


class EstimateQuery(Strict):
    """Run whose memory is asked for."""

    graph: Name
    algorithm: str = Field(max_length=64, json_schema_extra=KNOWN)
    parameters: dict[str, Any] = Field(default_factory=dict)
    version: int | None = Field(None, ge=1, lt=1 << 31)


class EstimateAnswer(BaseModel):
    """Memory of a run, in bytes."""

    bytes_by_rank: list[int]
    available_by_rank: list[int | None]
    fits: bool


class Where(Strict):
    """Selection of vertices by a column that an earlier job of mode mutate kept."""

    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
    column: Name
    is_: Literal["==", "!=", "<", "<=", ">", ">="] = Field(alias="is")
    value: float | int | str


class RunFields(Strict):
    """Options of a run, with the names and meanings of ``dgraph.Options``."""

    direction: Literal["auto", "push", "pull"] | None = None
    schedule: str | None = Field(None, max_length=128)
    rounds: str | None = Field(None, max_length=64)
    max_rounds: int | None = Field(None, ge=1, le=LARGEST)
    sync: Literal["auto", "full"] | None = None
    record: Literal["residual"] | None = Field(None, description="in the report: the residual of each round")


class NewJob(Strict):
    """Run of an algorithm on a graph of the catalogue."""

    graph: Name
    algorithm: str = Field(max_length=64, description="name in /v1/algorithms", json_schema_extra=KNOWN)
    parameters: dict[str, Any] = Field(default_factory=dict, description="as of the Python function")
    version: int | None = Field(None, ge=1, lt=1 << 31, description="null: the newest when the job starts")
    mode: Mode = Field(
        "stream",
        description="stream: rows; stats: figures alone; mutate: keep a column with the graph; write: write a file",
    )
    priority: int = Field(0, ge=-100, le=100, description="larger ones run first; equal ones in order of arrival")
    timeout_s: float | None = Field(
        None, gt=0, le=1e7, description="seconds from submission, waiting included, after which the job fails"
    )
    cache: bool = Field(True, description="false: neither use nor fill the result cache, as with ``where``")
    report: bool = Field(False, description="keep the report of the run: GET /v1/jobs/{id}/report")
    validate_: bool = Field(False, alias="validate", description="prove the answer with its certificate")
    weight: str | None = Field(
        None, min_length=1, max_length=255, description="attribute of the edges that is their weight in this run"
    )
    where: Where | None = Field(None, description="run on the vertices that a kept column selects; none is unreached")
    options: RunFields = Field(default_factory=RunFields)  # type: ignore[arg-type]
    column: Name | None = Field(None, description="mutate: name of the column that is kept; the result's by default")
    write: str | None = Field(None, min_length=1, max_length=4096, description="write: file, relative to the data root")
    replace: bool = Field(False, description="write: replace a file of that name")

    @model_validator(mode="before")
    @classmethod
    def _in_their_places(cls, job: Any) -> Any:
        """Refuse a parameter of the algorithm beside ``parameters``, and a field of the job among them."""
        if not isinstance(job, dict) or not isinstance(name := job.get("algorithm"), str) or name not in ALGORITHMS:
            return job
        own, fields = ALGORITHMS[name].parameters, _JOB_FIELDS
        taken = {*own, *(alias for parameter in own.values() for alias in parameter.aliases)}
        listed = job.get("parameters")
        for word in (job.keys() - fields) & taken:
            raise ValueError(f"unknown field {word!r}: it is a parameter of {name}; write it inside parameters")
        for word in (listed.keys() & fields) - taken if isinstance(listed, dict) else ():
            raise ValueError(
                f"unknown parameter of {name} {word!r}: it is a field of the job; write it beside parameters"
            )
        return job


_JOB_FIELDS = {field.alias or name for name, field in NewJob.model_fields.items()}
"""Names of a job's fields in JSON."""


class SubmitQuery(BaseModel):
    """Query of a submission."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    wait: float = Field(0.0, ge=0, le=3600.0, description="seconds to wait for the result")
    top: int = Field(0, ge=0, le=1_000_000, description="rows of largest value to return; 0: all rows")


class JobRecord(BaseModel):
    """Job of the queue or the history."""

    id: str
    state: State
    graph: str
    version: int | None
    algorithm: str
    parameters: dict[str, Any]
    mode: Mode
    priority: int
    timeout_s: float | None
    created: float = Field(description="seconds since 1970")
    started: float | None
    finished: float | None
    round: int = Field(description="rounds that ended")
    seconds: float | None = Field(description="run time on the ranks")
    rounds: int | None
    converged: bool | None = Field(description="false if a limit ended the run")
    limit: str | None = Field(description="the limit that ended it")
    rows: int | None
    columns: list[str] | None
    cached: bool = Field(description="true if an earlier job's result answers this one")
    summary: dict[str, Any] | None
    error: dict[str, Any] | None


class JobAnswer(JobRecord):
    """Job with its result, if it is done."""

    model_config = ConfigDict(extra="allow")
    result: dict[str, Any] | None = None


class JobPage(BaseModel):
    """Page of the history, newest first."""

    jobs: list[JobRecord]
    cursor: str | None = Field(description="pass it to get the next page; null on the last")


class Rows(BaseModel):
    """Rows of a result by column; ``rows`` counts those of the whole result. A missing value is null."""

    columns: dict[str, list[Any]]
    rows: int


class LookupQuery(Strict):
    """Vertices whose rows are asked for."""

    vertices: list[Vertex] = Field(min_length=1, max_length=100_000)


class Health(BaseModel):
    """State of the service."""

    status: str
    ranks: str = Field(description="starting, up, down or stopped")
    restarts: int
