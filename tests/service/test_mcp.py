"""The tools for agents, over stdio, with the client of the official package."""

import asyncio
import sys

import pytest
from children import ROOT, environment

import dgraph

pytestmark = pytest.mark.starts_children

mcp = pytest.importorskip("mcp", reason="pip install 'dgraph-analytics[mcp]'")


def talk(address, *calls):
    """Return the tools' names, and the answer of each call."""
    argv = ["-m", "dgraph", "mcp", "--connect", address]
    server = mcp.StdioServerParameters(command=sys.executable, args=argv, env=environment())

    async def conversation():
        async with mcp.Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            return tools, [await client.call_tool(name, given) for name, given in calls]

    return asyncio.run(conversation())


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
