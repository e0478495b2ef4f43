"""A small service for tests of the client and the page: the HTTP interface over runs in this process.

Graphs named ``slow…`` take a round every 50 ms until they are cancelled.
"""

import io
import json
import socketserver
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
import pyarrow.ipc
from pyarrow import csv, parquet

import dgraph
from dgraph.algorithms import ALGORITHMS
from dgraph.cli.listing import registers
from dgraph.engine.rounds.timings import plain
from dgraph.run import run

PAGE = Path(dgraph.__file__).parent / "service" / "page"
KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
POLICY = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'"
TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string"}


class Refused(Exception):
    def __init__(self, status, detail, kind=None):
        super().__init__(detail)
        self.document = {"type": "about:blank", "title": "refused", "status": status, "detail": detail, "kind": kind}


class FakeService:
    """State of the service; ``seen`` holds (method, path) of every request."""

    def __init__(self, token=None):
        self.token, self.graphs, self.held, self.jobs, self.results = token, {}, {}, {}, {}
        self.events, self.seen, self.bodies = {}, [], []
        self.lock = threading.RLock()
        self.loading_s = 0.0

    def add(self, name, graph, source="memory"):
        facts = {"n": graph.n, "m": graph.m, "arcs": graph.arcs, "directed": graph.directed,
                 "weight_type": None if graph.weight_type is None else graph.weight_type.name,
                 "ids": "integer" if graph.ids.names is None else "string", "policy": "auto",
                 "fingerprint": graph.fingerprint(), "name": source}  # fmt: skip
        self.held[name] = graph
        self.graphs[name] = {
            "name": name, "state": "ready", "version": 1, "versions": [1], "source": source, "options": {},
            "pinned": False, "created": time.time(), "facts": facts, "bytes_by_rank": [graph.arcs * 12] * 2,
            "error": None,
        }  # fmt: skip
        return self.graphs[name]

    def new(self, name, source, make):
        record = {"name": name, "state": "loading", "version": 0, "versions": [], "source": source, "options": {},
                  "pinned": False, "created": time.time(), "facts": None, "bytes_by_rank": None, "error": None}  # fmt: skip
        self.graphs[name] = record

        def load():
            time.sleep(self.loading_s)
            try:
                self.add(name, make(), source)
            except dgraph.DgraphError as error:
                self.graphs[name] |= {"state": "failed", "error": problem(error)}

        if self.loading_s:
            threading.Thread(target=load, daemon=True).start()
        else:
            load()
        return dict(record)

    def submit(self, body):
        if body["graph"] not in self.graphs:
            raise Refused(404, f"got the graph {body['graph']!r}, which is not here; POST /v1/graphs loads it", "NotFound")
        if body["algorithm"] not in ALGORITHMS:
            raise Refused(422, f"unknown algorithm {body['algorithm']!r}", "UsageError")
        number = f"{len(self.jobs) + 1:06}"
        record = {
            "id": number, "state": "queued", "graph": body["graph"], "version": 1, "algorithm": body["algorithm"],
            "parameters": body.get("parameters", {}), "mode": body.get("mode", "stream"), "priority": 0,
            "timeout_s": body.get("timeout_s"), "created": time.time(), "started": None, "finished": None, "round": 0,
            "seconds": None, "rows": None, "cached": False, "summary": None, "error": None,
        }  # fmt: skip
        self.jobs[number], self.events[number] = record, []
        threading.Thread(target=self._do, args=(record,), daemon=True).start()
        return record

    def _do(self, record):
        record |= {"state": "running", "started": time.time()}
        events = self.events[record["id"]]
        if record["graph"].startswith("slow"):
            while record["state"] == "running":
                time.sleep(0.05)
                record["round"] += 1
                events.append({"round": record["round"], "active": 1000 * record["round"] % 7919, "seconds": 0.05})
                if record["timeout_s"] and time.time() - record["created"] > record["timeout_s"]:
                    record |= {"state": "failed", "error": {"kind": "TimedOut", "message": "the run took too long"}}
        else:
            try:
                with self.lock:
                    result = run(record["algorithm"], self.held[record["graph"]], **self._keys(record))
                events.append({"round": result.rounds, "active": 1, "seconds": 0.01})
                self.results[record["id"]] = result
                record |= {
                    "state": "done", "round": result.rounds, "rounds": result.rounds, "seconds": 0.01,
                    "rows": len(result.columns["vertex"]), "summary": plain(result.summary),
                    "converged": result.converged, "limit": result.limit,
                }  # fmt: skip
            except dgraph.DgraphError as error:
                record |= {"state": "failed", "error": problem(error)}
        record["finished"] = time.time()
        events.append({"state": record["state"]})

    def _keys(self, record):
        named = self.held[record["graph"]].ids.names is not None
        return {
            key: {each if named else int(each): weight for each, weight in value.items()} if isinstance(value, dict) else value
            for key, value in record["parameters"].items()
        }

    def rows(self, job, query):
        if job not in self.results:
            raise Refused(410, f"the result of job {job} is no longer here; run it again", "NotFound")
        result = self.results[job]
        if query.get("top"):
            top = pa.table({key: list(values) for key, values in result.top(int(query["top"])).items()})
            return top, result
        table = result.to_arrow()
        if query.get("columns"):
            table = table.select(query["columns"].split(","))
        offset = int(query.get("offset", 0))
        return table.slice(offset, int(query["limit"]) if "limit" in query else None), result


def problem(error):
    return {"kind": type(error).__name__, "message": str(error)}


def algorithms():
    rows = []
    for row in registers()["algorithms"]:
        shown = {}
        for each in row["parameters"]:
            kind = TYPES.get(each["type"])
            schema = {"enum": each["choices"]} if each["choices"] else {"type": kind} if kind else {"type": "object"}
            if each["name"] == "source":
                schema = {"type": ["integer", "string"]}
            shown[each["name"]] = schema | {"description": each["help"], "default": each["default"]}
        required = ["source"] if row["needs_source"] else []
        schema = {"type": "object", "properties": shown, "required": required, "additionalProperties": False}
        rows.append({"name": row["name"], "description": row["help"], "parameters": schema, "columns": []})
    return {"algorithms": rows}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: FakeService

    def address_string(self):
        return "client"

    def log_message(self, *_):
        pass

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_GET(self):
        place = urlsplit(self.path)
        query = dict(parse_qsl(place.query))
        self.state.seen.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        try:
            wanted = self.state.token
            if wanted and place.path.startswith("/v1") and self.headers.get("Authorization") != f"Bearer {wanted}":
                raise Refused(401, "got no valid token")
            self._route(place.path.strip("/").split("/"), query, body)
        except Refused as refused:
            self._send(refused.document["status"], refused.document, "application/problem+json")

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

    def _route(self, path, query, body):
        state = self.state
        match (self.command, *path):
            case ("GET", *parts) if parts in ([""], ["app.js"], ["style.css"]) or parts[0].endswith((".js", ".svg")):
                file = PAGE / (parts[0] or "index.html")
                self._bytes(200, file.read_bytes(), KINDS[file.suffix])
            case ("GET", "healthz" | "readyz"):
                self._send(200, {"status": "ok", "ranks": "up", "restarts": 0})
            case ("GET", "v1", "algorithms"):
                self._send(200, algorithms())
            case ("GET", "v1", "graphs"):
                self._send(200, {"graphs": list(state.graphs.values())})
            case ("POST", "v1", "graphs"):
                asked = json.loads(body)
                if asked["source"].startswith(("/", "..")):
                    raise Refused(403, f"got the source {asked['source']!r}, which is outside the data root")
                make = lambda: dgraph.Graph.load(asked["source"], **asked["options"])  # noqa: E731
                self._send(202, state.new(asked["name"], asked["source"], make))
            case ("PUT", "v1", "graphs", name, "data"):
                table = read(self.headers["Content-Type"], body)
                known = {key: {"true": True, "false": False}.get(value, value) for key, value in query.items()}
                state.bodies.append(table)
                self._send(202, state.new(name, "upload", lambda: dgraph.Graph.from_arrow(table, **known)))
            case (_, "v1", "graphs", name, *more):
                if name not in state.graphs:
                    raise Refused(404, f"got the graph {name!r}, which is not here", "NotFound")
                self._graph(name, more, json.loads(body or "{}"))
            case ("POST", "v1", "estimate"):
                fits = json.loads(body)["algorithm"] != "color"
                self._send(200, {"bytes_by_rank": [1 << 20] * 2, "available_by_rank": [1 << 30] * 2, "fits": fits})
            case ("POST", "v1", "jobs"):
                self._submitted(state.submit(json.loads(body)), query)
            case ("GET", "v1", "jobs"):
                rows = [row for row in reversed(state.jobs.values()) if query.get("state") in (None, row["state"])]
                first = int(query.get("cursor", 0))
                more = str(first + 20) if len(rows) > first + 20 else None
                self._send(200, {"jobs": rows[first : first + 20], "cursor": more})
            case (_, "v1", "jobs", number, *more):
                if number not in state.jobs:
                    raise Refused(404, f"got the job {number!r}, which is not here", "NotFound")
                self._job(number, more, query, json.loads(body or "{}"))
            case _:
                raise Refused(404, f"{self.path} is not here")

    def _graph(self, name, more, asked):
        state = self.state
        match (self.command, *more):
            case ("GET",):
                self._send(200, state.graphs[name])
            case ("PATCH",):
                state.graphs[name] |= asked
                self._send(200, state.graphs[name])
            case ("DELETE",):
                del state.graphs[name]
                self._bytes(204, b"", "text/plain")
            case ("POST", "edges"):
                state.graphs[name]["version"] += 1
                state.bodies.append(asked)
                self._send(202, {"name": name, "version": state.graphs[name]["version"], "state": "ready"})
            case ("POST", "path"):
                found = run("bfs", state.held[name], source=asked["source"])
                vertices = found.path(asked["target"])
                self._send(200, {"vertices": vertices, "length": len(vertices) - 1 if vertices else None})

    def _submitted(self, record, query):
        end = time.monotonic() + float(query.get("wait", 0))
        while record["state"] in ("queued", "running") and time.monotonic() < end:
            time.sleep(0.002)
        done = record["state"] == "done"
        table = self.state.rows(record["id"], query)[0] if done and query.get("top") else pa.table({})
        more = {"result": {"columns": table.to_pydict(), "rows": record["rows"]}} if done else {}
        self._send(200 if done else 202, record | more)

    def _job(self, number, more, query, asked):
        state, record = self.state, self.state.jobs[number]
        match (self.command, *more):
            case ("GET",):
                self._send(200, record)
            case ("DELETE",):
                if record["state"] in ("queued", "running"):
                    record["state"] = "cancelled"
                self._send(202, record)
            case ("GET", "report"):
                if number not in state.results:
                    raise Refused(404, "no report")
                self._send(200, state.results[number].report)
            case ("GET", "events"):
                self._events(number)
            case ("GET", "result"):
                table, result = state.rows(number, query)
                if query.get("format") == "arrow":
                    body = io.BytesIO()
                    with pa.ipc.new_file(body, table.schema) as writer:
                        writer.write_table(table)
                    self._bytes(200, body.getvalue(), "application/vnd.apache.arrow.file")
                else:
                    self._send(200, {"columns": table.to_pydict(), "rows": len(result.columns["vertex"])})
            case ("POST", "lookup"):
                table = state.rows(number, {})[0].to_pydict()
                at = [table["vertex"].index(vertex) for vertex in asked["vertices"]]
                self._send(200, {"columns": {key: [values[i] for i in at] for key, values in table.items()}})

    def _events(self, number):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        at = int(self.headers.get("Last-Event-ID") or 0)
        while True:
            events = self.state.events[number]
            while at < len(events):
                kind = next(iter(events[at]))
                self.wfile.write(f"id: {at + 1}\nevent: {kind}\ndata: {json.dumps(events[at])}\n\n".encode())
                at += 1
                if kind == "state":
                    self.close_connection = True
                    return
            self.wfile.flush()
            time.sleep(0.01)

    def _send(self, status, document, kind="application/json"):
        self._bytes(status, json.dumps(document, default=str).encode(), kind)

    def _bytes(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.end_headers()
        self.wfile.write(body)


def read(kind, body):
    if "parquet" in kind:
        return parquet.read_table(io.BytesIO(body))
    return csv.read_csv(io.BytesIO(body)) if "csv" in kind else pa.ipc.open_stream(body).read_all()


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class TcpServer(ThreadingHTTPServer):
    daemon_threads = True


@contextmanager
def serving(state, path=None):
    """Serve on a Unix socket, or on a free port of loopback; the value is the address."""
    handler = type("Handler", (Handler,), {"state": state})
    server = TcpServer(("127.0.0.1", 0), handler) if path is None else UnixServer(str(path), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}" if path is None else f"unix:{path}"
    finally:
        server.shutdown()
        server.server_close()
