"""Values that cannot be stored, sent or written are refused by name, in every body, query and path: 422, never 500."""

import json

import pytest
from front import serving

from dgraph.service.front import jail
from dgraph.service.front.problem_documents import Problem

HEADERS = {"Content-Type": "application/json"}
UNFINISHED = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400 + ".5", "1e+0999")
HALVES = (r"\ud800", r"x\udfffy", r"\uDC00\uD800", r"\ud83d ")

JOB = '{"graph": "g", "algorithm": "bfs", "parameters": {"source": 1}'
BODIES = [
    ("POST", "/v1/jobs", '{"graph": "g", "algorithm": "pagerank", "parameters": {"tol": %s}}'),
    ("POST", "/v1/jobs", '{"graph": "g", "algorithm": "pagerank", "parameters": {"deep": [{"er": %s}]}}'),
    ("POST", "/v1/jobs", JOB + ', "where": {"column": "hops", "is": "<=", "value": %s}}'),
    ("POST", "/v1/jobs", JOB + ', "timeout_s": %s}'),
    ("POST", "/v1/jobs", JOB + ', "write": %s, "mode": "write"}'),
    ("POST", "/v1/jobs", JOB + ', "unknown": %s}'),
    ("POST", "/v1/jobs/x/lookup", '{"vertices": [1, %s]}'),
    ("POST", "/v1/graphs", '{"name": "n", "source": %s}'),
    ("POST", "/v1/graphs", '{"name": "n", "source": "path:3", "options": {"seed": %s}}'),
    ("POST", "/v1/graphs", '{"name": "n", "source": "path:3", "options": {"columns": %s}}'),
    ("PATCH", "/v1/graphs/g", '{"pinned": %s}'),
    ("POST", "/v1/graphs/g/edges", '{"add": [[1, 2, %s]]}'),
    ("POST", "/v1/graphs/g/edges", '{"remove": [[1, %s]]}'),
    ("POST", "/v1/graphs/g/path", '{"source": 1, "target": %s}'),
    ("POST", "/v1/estimate", '{"graph": "g", "algorithm": "bfs", "parameters": {"source": %s}}'),
    ("POST", "/v1/estimate", "%s"),
]


@serving
async def test_no_body_has_a_number_that_is_not_finite_or_half_a_surrogate_pair(one):
    await one.load()
    before = len(one.ranks.calls)
    for method, path, text in BODIES:
        for value in (*UNFINISHED, *(f'"{half}"' for half in HALVES)):
            answer = await one.http.request(method, path, content=text % value, headers=HEADERS)
            assert answer.status_code == 422, (path, value, answer.text)
            assert answer.json()["detail"].startswith("body"), answer.text
    for text in (
        '{"name": "n", "source": "path:3", "\\ud800": 1}',
        '["\\udc00"]',
        '{"a": ' * 2000 + "1e999" + "}" * 2000,
    ):
        answer = await one.http.post("/v1/graphs", content=text, headers=HEADERS)
        assert answer.status_code in (400, 422), answer.text
    assert len(one.ranks.calls) == before
    assert (await one.http.get("/v1/jobs")).json() == {"jobs": [], "cursor": None}


@serving
async def test_a_key_that_stands_twice_is_refused_by_name(one):
    """In the body itself and in objects inside it, with equal and with other values; no job is made."""
    await one.load()
    before = len(one.ranks.calls)
    for method, path, text, key in (
        ("POST", "/v1/jobs", JOB + ', "graph": "h"}', "graph"),
        ("POST", "/v1/jobs", '{"graph": "g", "algorithm": "bfs", "parameters": {"source": 1, "source": 2}}', "source"),
        ("POST", "/v1/jobs", JOB + ', "where": {"column": "a", "value": 1, "value": 1}}', "value"),
        ("POST", "/v1/jobs?wait=1&top=3", JOB + r', "gr\u0061ph": "g"}', "graph"),
        ("POST", "/v1/graphs", '{"name": "n", "source": "path:3", "name": "m"}', "name"),
        ("POST", "/v1/graphs", '{"name": "n", "source": "path:3", "options": {"seed": 1, "seed": 1}}', "seed"),
        ("PATCH", "/v1/graphs/g", '{"pinned": true, "pinned": false}', "pinned"),
        ("POST", "/v1/graphs/g/edges", '{"add": [[0, 1]], "add": []}', "add"),
        ("POST", "/v1/graphs/g/path", '{"source": 1, "target": 2, "source": 2}', "source"),
        ("POST", "/v1/estimate", '{"graph": "g", "graph": "g", "algorithm": "bfs"}', "graph"),
    ):
        answer = await one.http.request(method, path, content=text, headers=HEADERS)
        assert answer.status_code == 422, (text, answer.text)
        assert f"an object has the key '{key}' more than once" in answer.json()["detail"]
    assert len(one.ranks.calls) == before
    assert (await one.http.get("/v1/jobs")).json() == {"jobs": [], "cursor": None}


@serving
async def test_whole_pairs_and_texts_that_look_like_numbers_are_taken(one):
    await one.load()
    for source in (r'"\ud83d\ude00"', '"NaN"', '"1e999"', '"' + "7" * 250 + '"', "1e2", "1"):
        text = JOB.replace("1}", f"{source}}}}}")
        answer = await one.http.post("/v1/jobs", content=text, headers=HEADERS)
        assert answer.status_code == (422 if source == "1e2" else 202), (source, answer.text)
    assert (await one.http.post("/v1/jobs", content=b"\xff{}", headers=HEADERS)).status_code == 422
    assert (await one.http.post("/v1/jobs", content=b'{"graph": "\xed\xa0\x80"}', headers=HEADERS)).status_code == 422


@serving
async def test_queries_and_paths_of_any_bytes(one):
    await one.load()
    id = (await one.job("?wait=5")).json()["id"]
    for text in ("%ED%A0%80", "%00", "%FF", "nan", "inf", "1e999", "-1", "9" * 400, "%F0%9F%98%80", "vertex,vertex"):
        for path in (
            f"/v1/graphs/{text}", f"/v1/graphs/g?version={text}", f"/v1/jobs/{text}", f"/v1/jobs?graph={text}",
            f"/v1/jobs?limit={text}", f"/v1/jobs?cursor={text}",
            f"/v1/jobs/{id}/result?columns={text}", f"/v1/jobs/{id}/result?top={text}",
            f"/v1/jobs/{id}/result?offset={text}", f"/v1/jobs/{text}/events",
        ):  # fmt: skip
            assert (await one.http.get(path)).status_code in (200, 404, 422), path
        for query in (f"?wait={text}", f"?top={text}"):
            assert (await one.job(query)).status_code in (202, 422), query
        answer = await one.http.put(
            f"/v1/graphs/n/data?idle_s={text}", content=b"1,2\n", headers={"Content-Type": "text/csv"}
        )
        assert answer.status_code == 422, answer.text


@serving
async def test_a_column_is_named_once(one):
    await one.load()
    id = (await one.job("?wait=5")).json()["id"]
    for form in ("json", "arrow", "parquet", "csv"):
        for columns in ("vertex,vertex", "distance,vertex,distance", ",", ""):
            answer = await one.http.get(f"/v1/jobs/{id}/result?columns={columns}&format={form}")
            assert answer.status_code == 422, (form, columns)
    assert (await one.http.get(f"/v1/jobs/{id}/result?columns=distance,vertex&format=csv")).text.startswith(
        '"distance","v'
    )


@pytest.mark.parametrize(
    "options",
    [
        "edge_factor=nan", "edge_factor=inf", "edge_factor=-1", "edge_factor=1e999", "edge_factor=1e300",
        "edge_factor=", "edge_factor=1_0", "edge_factor=٣", "edge_factor=x", "edge_factor=1,edge_factor=2", "a=nan",
        "a=1,b=1", "noise=2", "seed=-1", "seed=9223372036854775808", "permute=5", "unknown=1", ",", "x" * 4000,
    ],
)  # fmt: skip
@pytest.mark.quick
def test_options_of_generators_are_checked_before_a_load(options):
    with pytest.raises(Problem) as caught:
        jail.check_size(f"rmat:4,{options}", 1 << 62)
    assert caught.value.status_code == 422


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("smallworld:9,k=1099511627776", 422), ("smallworld:9,p=inf", 422), ("tree:9,arity=0", 422), ("grid:0x5", 422),
        ("complete:1099511627776", 422), ("rmat:40,edge_factor=0", 507), ("rmat:30", 507), ("path:1099511627776", 507),
    ],
)  # fmt: skip
@pytest.mark.quick
def test_sizes_of_generators(source, status):
    with pytest.raises(Problem) as caught:
        jail.check_size(source, 1 << 34)
    assert caught.value.status_code == status


@serving
async def test_names_of_files_to_write(one):
    await one.load()
    for name in (
        "a\n.csv", "a\x1b[31m.csv", "\x7f.csv", "a\u202ecsv.csv", "a\u2028.csv", "a\x85.csv", "a\0.csv",
        "new\nline/b.csv",
        "x" * 252 + ".csv", "x" * 237 + ".csv", "é" * 120 + ".csv", "d/" * 2000 + "b.csv", "x" * 300 + "/b.csv",
    ):  # fmt: skip
        answer = await one.job("?wait=5", mode="write", write=name)
        assert answer.status_code == 422, (name, answer.text)
        assert str(one.service.settings.data_root) not in json.loads(answer.text)["detail"]
    for name in ("x" * 236 + ".csv", "é 😀 (1).csv"):
        assert (await one.job("?wait=5", mode="write", write=name)).status_code == 200, name
