"""``docs/start/transfers.md`` from end to end, against other libraries: Python, commands, calls of a service."""

import re
import sys
from contextlib import chdir

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from children import ROOT
from live_service import started

sys.path.append(str(ROOT / "docs" / "extensions"))
import executed_blocks
from executed_blocks import BLOCK, output_of_python, output_of_shell

pytestmark = pytest.mark.interpreted

PAGE = (ROOT / "docs" / "start" / "transfers.md").read_text("utf-8")
SERVICE = re.compile(r"^```\n(service = .*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Run the page's Python in a folder; return the folder, the names that it bound, and what it printed."""
    folder, names = tmp_path_factory.mktemp("page"), {"__name__": "page"}
    with chdir(folder):
        printed = "".join(output_of_python(block[2], names) for block in BLOCK.finditer(PAGE) if block[1] == "python")
    return folder, names, printed


def march_by_networkx(transfers, others=True):
    """Return PageRank of one month by name, of all accounts with a transfer, or of those of the month alone."""
    month = transfers[(transfers.booked >= "2024-03-01") & (transfers.booked < "2024-04-01")]
    G = nx.DiGraph()
    G.add_nodes_from([*transfers.payer, *transfers.payee] if others else [*month.payer, *month.payee])
    for u, v, amount in zip(month.payer, month.payee, month.amount, strict=True):
        if u != v:
            G.add_edge(u, v, weight=amount + G.get_edge_data(u, v, {"weight": 0})["weight"])
    return nx.pagerank(G, tol=1e-9, max_iter=500)


def test_python(page):
    _, names, printed = page
    transfers, top = names["transfers"], names["top"]
    assert len(transfers) == 20000 - 20
    G = nx.from_pandas_edgelist(transfers, "payer", "payee")
    assert f"{{'components': {nx.number_connected_components(G)}}}" in printed
    right = march_by_networkx(transfers)
    best = sorted(right, key=right.get)[-20:][::-1]
    assert top.vertex.tolist()[:10] == best[:10]
    np.testing.assert_allclose(top.pagerank[:20], [right[name] for name in best], rtol=1e-3)
    cities = pd.read_csv(page[0] / "accounts.csv").set_index("name").city
    assert top.city.tolist() == cities[top.vertex].tolist()
    directed = nx.from_pandas_edgelist(transfers, "payer", "payee", create_using=nx.DiGraph)
    hops = nx.shortest_path_length(directed, "Ana 3", "Zoë 1501")
    assert printed.rstrip().endswith(f"{hops} {hops}")
    similar = names["similar"].iloc[0]
    G.remove_edges_from(nx.selfloop_edges(G))
    (_, _, score), *_ = nx.jaccard_coefficient(G, [("Ana 3", similar.target)])
    assert similar.similarity == pytest.approx(score)


@pytest.mark.exhaustive
def test_command_line_and_service(page, monkeypatch):
    folder, names, _ = page
    monkeypatch.setattr(executed_blocks, "SECONDS", 600)  # the machine of a test may be busy
    with chdir(folder):
        for block in BLOCK.finditer(PAGE):
            if block[1] == "sh":
                output_of_shell(block[2], None)
    local = pd.read_parquet(folder / "ranks.parquet").set_index("vertex").pagerank
    ranks = pd.read_parquet(folder / "march.parquet").set_index("vertex")
    np.testing.assert_allclose(ranks.pagerank[local.index], local, rtol=1e-6)
    assert ranks.city.notna().all()
    assert len(pd.read_csv(folder / "components.csv")) == len(ranks)
    similar = pd.read_csv(folder / "similar.csv").query("source == 'Ana 3'")
    np.testing.assert_allclose(similar.similarity, names["similar"].similarity)
    assert all(name in (folder / "path.txt").read_text() for name in names["path"])
    (block,) = SERVICE.findall(PAGE)
    with started(folder, data_root=folder), chdir(folder):
        printed = output_of_python(block, dict(names))
    assert all(name in printed for name in names["path"][:1])
    served = pd.read_csv(folder / "march.csv").set_index("vertex").pagerank
    right = march_by_networkx(names["transfers"], others=False)
    assert set(served.index) == set(right)
    np.testing.assert_allclose(served, [right[name] for name in served.index], rtol=1e-2)
