"""The OpenAPI document: it has the routes that are promised, and a running front keeps to it (schemathesis)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from front import serving
from processes import serving_process

ROUTES = """
GET /v1/algorithms
GET /v1/graphs
POST /v1/graphs
PUT /v1/graphs/{name}/data
GET /v1/graphs/{name}
PATCH /v1/graphs/{name}
DELETE /v1/graphs/{name}
POST /v1/graphs/{name}/edges
POST /v1/graphs/{name}/path
POST /v1/estimate
POST /v1/jobs
GET /v1/jobs
GET /v1/jobs/{id}
DELETE /v1/jobs/{id}
GET /v1/jobs/{id}/events
GET /v1/jobs/{id}/result
POST /v1/jobs/{id}/lookup
GET /healthz
GET /readyz
GET /metrics
"""


@serving
async def test_the_document_has_every_route_with_its_problems(one):
    document = (await one.http.get("/openapi.json")).json()
    routes = {(method.upper(), path): row for path, one in document["paths"].items() for method, row in one.items()}
    assert set(map(tuple, (line.split() for line in ROUTES.strip().splitlines()))) <= set(routes)
    for (method, path), operation in routes.items():
        assert operation.get("summary"), path
        if path in ("/healthz", "/readyz"):
            assert operation["security"] == []
            continue
        assert {"401", "403"} <= set(operation["responses"]), (method, path)
        for status, answer in operation["responses"].items():
            if status.startswith("4"):
                assert list(answer["content"]) == ["application/problem+json"], (method, path, status)
    names = set(re.findall(r"#/components/schemas/(\w+)", str(document)))
    assert names <= set(document["components"]["schemas"])


@serving
async def test_unknown_paths_and_methods_are_problems(one):
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("PATCH", "/v1/jobs", 405),
        ("OPTIONS", "/v1/graphs/g", 405),
    ):
        answer = await one.http.request(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert answer.json()["status"] == status
    assert answer.headers["allow"] == "DELETE, GET, PATCH"


@serving
async def test_the_schemas_of_algorithms_are_those_of_the_register(one):
    from jsonschema import Draft202012Validator

    from dgraph.algorithms import ALGORITHMS

    schemas = (await one.http.get("/v1/algorithms")).json()["algorithms"]
    assert [schema["name"] for schema in schemas] == list(ALGORITHMS)
    for entry in schemas:
        Draft202012Validator.check_schema(entry["parameters"])
        parameters = ALGORITHMS[entry["name"]].parameters.values()
        assert set(entry["parameters"]["properties"]) == {p.name for p in parameters if not p.on_host}
        assert "vertex" in entry["columns"]["properties"]
    bfs = next(schema for schema in schemas if schema["name"] == "bfs")
    check = Draft202012Validator(bfs["parameters"]).is_valid
    assert check({"source": 3, "depth_limit": None})
    assert not check({})
    assert not check({"source": 3, "more": 1})


def test_jobs_name_no_file_of_the_host():
    from dgraph.service.front.jobs.job import checked
    from dgraph.service.front.problem_documents import Problem

    assert checked("apsp", {"matrix_file": None})["matrix_file"] is None
    with pytest.raises(Problem, match="a file of the service's host"):
        checked("apsp", {"matrix_file": "distances.npy"})


def test_the_columns_are_those_of_the_library():
    import dgraph
    from dgraph.algorithms import ALGORITHMS

    assert all(algorithm.columns for algorithm in ALGORITHMS.values())
    assert tuple(dgraph.bfs("path:3", source=0).columns) == ("vertex", *ALGORITHMS["bfs"].columns)


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_running_front_keeps_to_the_document(tmp_path):
    with serving_process(tmp_path) as (address, token, http):
        assert http.post("/v1/graphs", json={"name": "g", "source": "path:9"}).status_code == 202
        command = [
            Path(sys.executable).with_name("schemathesis"), "run", f"{address}/openapi.json",
            "-H", f"Authorization: Bearer {token}", "-n", "25", "--phases", "examples,coverage,fuzzing", "--seed", "1",
            "--exclude-path-regex", "/events$", "--suppress-health-check", "all", "--request-timeout", "10",
            "--exclude-checks", "positive_data_acceptance",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stdout[-6000:]
        assert http.get("/readyz").status_code == 200
