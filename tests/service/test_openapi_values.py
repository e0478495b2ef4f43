"""Requests that schemathesis draws from the OpenAPI document, with one value replaced by a hostile one."""

import json
import math
import re
import time
from random import Random
from urllib.parse import quote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from processes import serving_process

NUMBERS = [math.nan, math.inf, -math.inf, 5e-324, -0.0, 1e308, 0, -1, 10**400]
NUMBERS += [sign * (1 << bits) - less for bits in (31, 32, 53, 63, 64) for sign in (1, -1) for less in (0, 1)]
TEXTS = ["", "\ud800", "x\udfff", "\0", "\n\x1b[31m", "\u202e", "NaN", "1e999", "../../etc/passwd", "é😀", "x" * 70_000]
OTHERS = [None, True, [], {}, [[[]]], {"\ud800": math.nan}]
UNAVAILABLE = (503, 504, 507)
SECONDS = 60.0
EXAMPLES, REPLACED = 6, 25
"""Valid requests of each operation, which schemathesis draws slowly, and replaced values of each of them."""


def edges_of_ranges(document):
    """Return the numbers and texts at both sides of every bound that a document names."""
    edges = set()
    for word, edge in re.findall(r"'(\w*[mM](?:in|ax)\w*)': ([-+.\de]+)", str(document)):
        number = float(edge) if "." in edge or "e" in edge else int(edge)
        edges |= {number + step for step in (-1, 0, 1)}
        if "Length" in word:
            edges |= {"x" * max(number + step, 0) for step in (-1, 0, 1)}
    return sorted(edges, key=str)


def places(body, before=()):
    """Yield the place of every value of a body: keys and indices that lead to it."""
    yield before
    if isinstance(body, (dict, list)):
        for key, below in body.items() if isinstance(body, dict) else enumerate(body):
            yield from places(below, (*before, key))


def replaced(body, place, value):
    """Return a copy of a body with another value at a place."""
    if not place:
        return value
    changed = dict(body) if isinstance(body, dict) else list(body)
    changed[place[0]] = replaced(body[place[0]], place[1:], value)
    return changed


def in_url(value):
    """Return a value as an address has it; half a surrogate pair becomes bytes that UTF-8 does not have."""
    return quote(str(value).encode("utf-8", "surrogatepass")[:8000], safe="")


class Request:
    """A drawn request, one of whose values is replaced."""

    def __init__(self, operation, case, names, random, values):
        self.method, self.media = operation.method.upper(), case.media_type
        parts = {name: names[name] for name in re.findall(r"{(\w+)}", operation.path)}
        query = {name: in_url(text) for name, text in (case.query or {}).items() if text is not None}
        body = case.body
        self.json = isinstance(body, (dict, list))
        if isinstance(body, dict) and "graph" in body:
            body = body | {"graph": "g"}
        choices = [("path", name) for name in parts] + [("query", parameter.name) for parameter in operation.query]
        choices += [("body", place) for place in places(body)] if self.json else []
        kind, place = random.choice(choices) if choices else (None, None)
        value = random.choice(values)
        if kind == "path":
            parts[place] = in_url(value) or "%00"
        elif kind == "query":
            query[place] = in_url(value)
        elif kind == "body":
            body = replaced(body, place, value)
        query = {name: text for name, text in query.items() if name != "wait" or kind == "query"}
        self.unfinished = kind == "body" and isinstance(value, float) and not math.isfinite(value)
        self.url = f"{operation.path.format(**parts)}?{'&'.join(f'{name}={text}' for name, text in query.items())}"
        self.content = json.dumps(body).encode() if self.json else body if isinstance(body, bytes) else b""

    def __repr__(self):
        return f"{self.method} {self.url[:300]} {self.content[:600]!r}"

    def answered(self, http):
        headers = {"Content-Type": self.media} if self.media else {}
        return http.request(self.method, self.url, content=self.content or None, headers=headers)


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_hostile_values_in_every_place_are_answered_as_documented(tmp_path):
    with serving_process(tmp_path) as (_, _, http):
        document = http.get("/openapi.json").json()
        assert http.post("/v1/graphs", json={"name": "g", "source": "path:9"}).status_code == 202
        job = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 1}}
        existing = {"name": "g", "id": http.post("/v1/jobs?wait=10", json=job).json()["id"]}
        values, random = [*NUMBERS, *TEXTS, *OTHERS, *edges_of_ranges(document)], Random(1)
        operations = [documented.ok() for documented in schemathesis.openapi.from_dict(document).get_all_operations()]
        operations = [listed for listed in operations if not listed.path.endswith("/events")]
        until, statuses = time.monotonic() + SECONDS, set()

        def compare(operation, request, answer):
            statuses.add(answer.status_code)
            assert answer.status_code < 500 or answer.status_code in UNAVAILABLE, (request, answer.text[:600])
            assert str(answer.status_code) in operation.definition.raw["responses"], (request, answer.text[:600])
            if answer.status_code >= 400:
                assert answer.json()["status"] == answer.status_code, request
            if request.unfinished:
                assert answer.status_code in (400, 422), (request, answer.text[:600])

        def check(operation):
            names = {"name": "other", "id": "other"} if operation.method in ("delete", "put") else existing

            @seed(1)
            @settings(
                max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck),
                phases=[Phase.explicit, Phase.generate],
            )  # fmt: skip
            @given(operation.as_strategy())
            def answered(case):
                for request in (Request(operation, case, names, random, values) for _ in range(REPLACED)):
                    if time.monotonic() < until:
                        compare(operation, request, request.answered(http))

            answered()

        for operation in operations:
            check(operation)
        assert {200, 202, 404, 422} <= statuses
        assert http.get("/v1/jobs?limit=100").status_code == 200
        assert http.get("/readyz").status_code == 200
    assert "Traceback" not in (tmp_path / "log").read_text()
