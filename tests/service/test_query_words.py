"""Words of a query that a route does not take, and fields of a job at the wrong place, are refused by name."""

import re

from front import serving


@serving
async def test_every_route_refuses_unknown_words_of_the_query(one):
    """Each operation of the document, and each file of the page, refuses a word with 400 and names the nearest."""
    await one.load()
    document = (await one.http.get("/openapi.json")).json()
    operations = [
        (method.upper(), re.sub("{.*?}", "g", path), {query["name"] for query in form.get("parameters", ())})
        for path, forms in document["paths"].items()
        for method, form in forms.items()
    ]
    assert len(operations) > 15
    for method, path, _ in [*operations, ("GET", "/", ()), ("GET", "/app.js", ()), ("GET", "/openapi.json", ())]:
        answer = await one.http.request(method, path, params={"sorce": "3"}, json={} if method == "POST" else None)
        assert answer.status_code == 400, (method, path, answer.text)
        assert "'sorce'" in answer.json()["detail"]


@serving
async def test_a_word_that_stands_twice_is_refused_by_name(one):
    await one.load()
    job = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 1}}
    for method, path, word in (
        ("POST", "/v1/jobs?top=3&top=4", "top"), ("POST", "/v1/jobs?wait=1&t%6Fp=3&top=3", "top"),
        ("GET", "/v1/jobs?limit=3&limit=1", "limit"), ("GET", "/v1/graphs/g?version=1&version=1", "version"),
    ):  # fmt: skip
        answer = await one.http.request(method, path, json=job if method == "POST" else None)
        assert answer.status_code == 400, answer.text
        assert f"has '{word}' 2 times; leave all but one out" in answer.json()["detail"]
    assert "run" not in [name for name, _ in one.ranks.calls]


@serving
async def test_the_nearest_word_is_named(one):
    await one.load()
    job = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 1}}
    for method, path, message in (
        ("POST", "/v1/jobs?tpo=3", "did you mean 'top'? known are top, wait"),
        ("GET", "/v1/jobs?curser=3", "did you mean 'cursor'?"),
        ("PUT", "/v1/graphs/h/data?colums=a,b", "did you mean 'columns'?"),
        ("GET", "/v1/graphs/g?versoin=1", "did you mean 'version'?"),
        ("GET", "/v1/graphs?name=g", "known are none"),
    ):
        answer = await one.http.request(method, path, json=job if method == "POST" else None)
        assert answer.status_code == 400, answer.text
        assert message in answer.json()["detail"]
    assert "run" not in [name for name, _ in one.ranks.calls]


@serving
async def test_fields_of_a_job_and_parameters_of_its_algorithm_are_sent_to_their_places(one):
    await one.load()
    job = {"graph": "g", "algorithm": "pagerank"}
    for body, message in (
        (job | {"parameters": {"weight": "w"}}, "unknown parameter of pagerank 'weight': it is a field of the job"),
        (job | {"parameters": {"mode": "stats"}}, "write it beside parameters"),
        (job | {"damping": 0.9}, "unknown field 'damping': it is a parameter of pagerank; write it inside parameters"),
    ):  # fmt: skip
        answer = await one.http.post("/v1/jobs", json=body)
        assert answer.status_code == 422
        assert message in answer.json()["detail"]
