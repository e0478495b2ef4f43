"""The tools for agents, over stdio and over HTTP, with the client of the official package."""

import asyncio
import sys
import time

import pytest
from children import ROOT, environment
from front import front, serving

import dgraph
from dgraph.service.front.security import Guard

mcp = pytest.importorskip("mcp", reason="pip install 'dgraph-analytics[mcp]'")


def talk(address, *calls):
    """Return the tools' names, and the answer of each call."""
    argv = ["-m", "dgraph", "mcp", "--connect", address]
    server = mcp.StdioServerParameters(command=sys.executable, args=argv, env=environment())

    async def conversation():
        async with mcp.Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(conversation())


@pytest.mark.starts_children
def test_an_agent_finds_graphs_and_runs_algorithms(live):
    run = {"graph": "rome", "algorithm": "bfs", "parameters": {"source": 1}, "rows": 3}
    tools, answers = talk(
        live.unix,
        ("list_graphs", {}),
        ("describe", {"graph": "rome", "algorithm": "sssp"}),
        ("estimate", {"graph": "rome", "algorithm": "pagerank"}),
        ("run", run),
        ("path", {"graph": "rome", "source": 1, "target": 50}),
        ("run", run | {"graph": "nope"}),
        ("run", run | {"parameters": {"source": 1, "mode": "write", "write": "x.csv"}}),
    )
    assert tools == ["list_graphs", "describe", "estimate", "run", "top", "path"]
    graphs, described, estimate, ran, path, unknown, smuggled = answers
    local = dgraph.Graph.load(ROOT / "tests/data/rome99.gr")
    rome = next(graph for graph in graphs.structured_content["result"] if graph["name"] == "rome")
    assert (rome["vertices"], rome["edges"], rome["directed"]) == (local.n, local.m, True)
    assert described.structured_content["graph"]["fingerprint"] == local.fingerprint()
    assert described.structured_content["algorithm"]["parameters"]["required"] == ["source"]
    assert estimate.structured_content["fits"]
    wanted = dgraph.bfs(local, 1)
    top = {name: values.tolist() for name, values in wanted.top(3).items()}
    assert ran.structured_content["columns"] == top
    assert ran.structured_content["summary"] == wanted.summary
    assert path.structured_content["vertices"] == dgraph.sssp(local, 1).path(50)
    assert unknown.is_error
    assert "known are" in unknown.content[0].text
    assert smuggled.is_error
    assert "unknown parameter" in smuggled.content[0].text
    _, (again,) = talk(live.unix, ("top", {"job": ran.structured_content["job"], "rows": 3}))
    assert again.structured_content["columns"] == top


def over_http(app, token, *calls, mode="auto"):
    """Return the answer of each call to the endpoint of an application."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def conversation():
        transport = httpx2.ASGITransport(app)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(transport=transport, headers=headers) as http:
            link = streamable_http_client("http://localhost:8484/mcp", http_client=http)
            async with mcp.Client(link, mode=mode) as client:
                return [await client.call_tool(name, arguments) for name, arguments in calls]

    return conversation()


RUN = ("run", {"graph": "g", "algorithm": "bfs", "parameters": {"source": 47}, "rows": 2})
PATH = ("path", {"graph": "g", "source": 3, "target": 5})


@serving
async def test_agents_reach_the_tools_over_http_with_the_rights_of_their_token(one):
    await one.load()
    one.ranks.rounds = 3
    app = Guard(one.app, one.service.doors, one.service.settings, one.service.metrics)
    for mode in ("auto", "legacy"):
        graphs, ran, path, unknown = await over_http(
            app, "secret", ("list_graphs", {}), RUN, PATH, ("run", RUN[1] | {"graph": "nope"}), mode=mode
        )
        assert graphs.structured_content["result"][0]["vertices"] == one.ranks.n
        assert ran.structured_content["columns"] == {"vertex": [49, 48], "distance": [2, 1]}
        assert (ran.structured_content["rounds"], path.structured_content["vertices"]) == (3, [3, 4, 5])
        assert "known are" in unknown.content[0].text
    job = await one.state(ran.structured_content["job"], "done")
    assert job["algorithm"] == "bfs"
    refused, path = await over_http(app, "viewer", RUN, PATH)
    assert refused.is_error
    assert "read token" in refused.content[0].text
    assert path.structured_content["vertices"] == [3, 4, 5]


def test_a_call_under_way_ends_with_the_service(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            await one.load()
            one.ranks.gate.clear()
            app = Guard(one.app, one.service.doors, one.service.settings, one.service.metrics)
            call = asyncio.ensure_future(over_http(app, "secret", RUN))
            for _ in range(500):
                await asyncio.sleep(0.01)
                if one.service.queue.running:
                    break
            (job,) = one.service.queue.running
        began = time.monotonic()
        (answer,) = await asyncio.wait_for(call, 5)
        return job.state, answer, time.monotonic() - began

    state, answer, seconds = asyncio.run(body())
    assert (state, answer.is_error) == ("cancelled", True)
    assert "the service end" in answer.content[0].text
    assert seconds < 3


@serving
async def test_the_endpoint_of_agents_is_guarded_as_the_other_paths_are(one):
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    for token, more, status in (
        (None, {}, 401), ("wrong", {}, 401), ("secret", {"Host": "evil.example"}, 403),
        ("secret", {"Origin": "http://evil.example"}, 403), ("secret", {"Content-Length": str(1 << 30)}, 413),
    ):  # fmt: skip
        async with one.tcp(token) as tcp:
            assert (await tcp.post("/mcp", json=ask, headers=more)).status_code == status, (token, more)
    answer = await one.http.get("/mcp")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@serving
async def test_without_the_package_the_endpoint_says_what_to_install(one):
    hidden = dict.fromkeys([name for name in sys.modules if name.partition(".")[0] == "mcp"])
    hidden["dgraph.service.mcp.mcp_tools"] = None
    with pytest.MonkeyPatch.context() as patch:
        for name in hidden:
            patch.setitem(sys.modules, name, None)
        answer = await one.http.post("/mcp", json={})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert "dgraph-analytics[mcp]" in answer.json()["detail"]
