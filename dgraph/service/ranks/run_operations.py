"""Operations that run algorithms, and those on held results."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from dgraph.algorithms import ALGORITHMS, Algorithm
from dgraph.engine.rounds.previous import is_of_lineage
from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record, plain
from dgraph.engine.run_options import Options
from dgraph.errors import UsageError, unknown
from dgraph.graph.stored_graph import Graph
from dgraph.result.result import Result
from dgraph.run import run as run_algorithm
from dgraph.service.ranks.column_files import keep_column
from dgraph.service.ranks.held_results import result_bytes
from dgraph.service.ranks.rank_state import RankState, Request
from dgraph.service.ranks.result_rows import listed, rows_of, spool

MODES = ("stream", "stats", "mutate", "write")

LARGEST = 1 << 63


class Unreported(Record):
    """Record of a run without a report: ranks need not exchange their records."""

    def collect(self):
        """Return the algorithm alone, with which a run that starts from this answer compares its parameters."""
        return {"algorithm": plain(self.facts["algorithm"])}


def run(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Run an algorithm; hold, spool, keep or write its result, as the request says."""
    began = time.perf_counter()
    mode = request.get("mode") or "stream"
    if mode not in MODES:
        raise unknown("mode", str(mode), MODES)
    for needed, of in (("column", "mutate"), ("write", "write")):
        if mode == of and not isinstance(request.get(needed), str):
            raise UsageError(f"mode {of} needs {needed}, a text; give it")
    graph = state.graph(request)
    answer = answered(state, request, graph, _solved(state, request, graph, observer), observer)
    answer["seconds"] = time.perf_counter() - began
    return answer


def answered(state: RankState, request: Request, graph: Graph, result: Result, observer: Progress) -> dict[str, Any]:
    """Hold, spool, keep or write a result, as the request says; return the answer; collective."""
    mode = request.get("mode") or "stream"
    if mode == "mutate":
        observer.phase("output", request["column"])
        kept = state.graph({**request, "where": None}).with_columns(**{request["column"]: result})
        keep_column(request["column"], result, state.graphs.stores[request["graph"], request["version"]])
        state.graphs.replace(request["graph"], request["version"], kept)
    if mode == "write":
        observer.phase("output", request["write"])
        result.save(Path(request["write"]))
    answer: dict[str, Any] = {
        "summary": plain(result.summary), "rounds": result.rounds, "converged": result.converged,
        "limit": result.limit, "columns": list(result.columns), "rows": graph.n, "bytes": result_bytes(result, graph.n),
    }  # fmt: skip
    if request.get("spool") is not None:
        spool(result, Path(request["spool"]))
    if request.get("top"):
        answer["top"] = _top(result, request["top"], None)
    if request.get("keep"):
        state.results.hold(request["job"], result, graph.n)
    if request.get("report"):
        answer["report"] = result.report
    return answer


def path(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Find a shortest path."""
    graph = state.graph(request)
    weighted = request.get("weighted")
    weighted = graph.weight_type is not None if weighted is None else weighted
    result = run_algorithm(
        "sssp" if weighted else "bfs", graph, source=request["source"], target=request["target"], progress=observer
    )
    vertices = result.path(request["target"])
    return {"vertices": vertices, "length": result.value(request["target"], "distance") if vertices else None}


def rows(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Write rows of a held result to an Arrow file."""
    columns, limit = request.get("columns"), request.get("limit")
    place, offset = Path(request["spool"]), request.get("offset") or 0
    return {"rows": spool(state.results.find(request["job"]), place, columns, offset, limit)}


def lookup(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Return the rows of some vertices."""
    return {"columns": rows_of(state.results.find(request["job"]), request["vertices"])}


def top(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Return the rows of largest values of a held result."""
    return {"top": _top(state.results.find(request["job"]), request["top"], request.get("column"))}


def release(state: RankState, request: Request, observer: Progress) -> dict[str, Any]:
    """Free a held result, if the ranks hold it."""
    state.results.release(request["job"])
    return {}


def _solved(state: RankState, request: Request, graph: Graph, observer: Progress) -> Result:
    """Run the algorithm."""
    name, parameters, weight = request["algorithm"], request.get("parameters") or {}, request.get("weight")
    with state.comm.together():
        if weight is not None and name in ALGORITHMS and "weighted" in ALGORITHMS[name].parameters:
            parameters = {"weighted": True} | parameters
        work = algorithm_of(name, parameters, graph)
        options = _options(request.get("options") or {})
    record = Record if request.get("report") else Unreported
    more: dict[str, Any] = {"validate": bool(request.get("validate")), "weight": weight}
    earlier = state.results.peek(request.get("previous"))
    same = (
        work.may_continue() and not work.depends_on_start
    )  # whatever jobs came before, the answer is one from scratch
    if same and earlier is not None and is_of_lineage(earlier, graph.version):
        more["previous"] = earlier
    result = state.with_room(
        lambda: run_algorithm(work, graph, options=options, progress=observer, record=record(state.comm, []), **more),
        (request["graph"], request["version"]),
    )
    for beside in ("matrix", "edges", "walks"):  # services return columns, and a held result keeps its memory
        object.__setattr__(result, beside, None)
    return result


def algorithm_of(name: str, parameters: dict[str, Any], graph: Graph) -> Algorithm:
    """Return the algorithm with its parameters from JSON: keys of objects are vertices, text where they are numbers."""
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    rows = ALGORITHMS[name].parameters
    kinds = {key: parameter.type for key, parameter in rows.items()}
    chosen = dict(parameters)
    for key, value in chosen.items():
        if kinds.get(key) == "vertices" and value is not None:
            read = partial(_vertices, key, named=graph.ids.names is not None)
            chosen[key] = list(map(read, value)) if rows[key].groups and isinstance(value, list) else read(value)
        elif isinstance(value, (list, dict)):
            raise UsageError(f"{key} = {value!r:.60} is not valid for {name}; give one value")
        elif kinds.get(key) is str and not isinstance(value, str | None):
            raise UsageError(f"{key} = {value!r:.60} is not valid for {name}; give a text")
        elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
            raise UsageError(f"{key} = {value!r:.60} has more than 63 bits; give a smaller number")
    return ALGORITHMS[name](**chosen)


def _vertices(key: str, value: Any, named: bool) -> Any:
    """Return a list of vertices, or a dict of vertex → number."""
    vertices = list(value) if isinstance(value, (list, dict)) else [value]
    try:
        read = [str(vertex) if named else int(vertex) for vertex in vertices]
    except (TypeError, ValueError):
        read = []
    right = bool(read) and all(isinstance(vertex, (int, str)) for vertex in vertices)
    right = right and (named or all(0 <= vertex < LARGEST for vertex in read))  # type: ignore[operator]
    if isinstance(value, dict):
        right = right and all(type(weight) in (int, float) for weight in value.values())
    if not right:
        kind = "names" if named else "integers"
        raise UsageError(f"{key} = {value!r:.60} is not valid; give vertices, which are {kind}, or vertex: number")
    return dict(zip(read, value.values(), strict=True)) if isinstance(value, dict) else read


def _options(fields: dict[str, Any]) -> Options:
    names = ("direction", "schedule", "rounds", "max_rounds", "sync", "record", "watchdog")
    for name, value in fields.items():
        if name not in names:
            raise unknown("option of a run", name, names)
        if not isinstance(value, str | int | float | None):
            raise UsageError(f"{name} = {value!r:.60} is not valid; give one value")
    return Options(**fields)


def _top(result: Result, count: int, column: str | None) -> dict[str, list]:
    return listed(result.top(count, column), result.nullable)
