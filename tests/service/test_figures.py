"""Figures of results as SVG: what is drawn, against the rows; what is refused; sizes, colours and letters."""

import asyncio
import re
import sys
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest
from fake_ranks import FakeRanks
from front import front, serving

from dgraph.result.result_picture import KINDS
from dgraph.service.front.routes import figures, models, routes_results

SVG = "{http://www.w3.org/2000/svg}"


def picture(answer):
    """Return the root of an SVG answer."""
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "image/svg+xml"
    return ElementTree.fromstring(answer.text)


def texts(root):
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def kept(residuals):
    """Return rounds of a report."""
    return [
        {"round": k, "direction": "push", "frontier_vertices": 5, "seconds": 0.1, "residual": residual}
        for k, residual in enumerate(residuals, 1)
    ]


class ReportingRanks(FakeRanks):
    """Ranks whose runs have a report with residuals."""

    async def run(self, **fields):
        rounds = kept([0.1, 0.01, 1e-7])
        return await super().run(**fields) | {
            "report": {"algorithm": {"parameters": {"tol": 1e-6}}, "rounds": {"kept": rounds}}
        }


async def job_with_report(one):
    await one.load()
    return (await one.job("?wait=5", source=45, report=True)).json()["id"]


@serving
async def test_the_values_of_the_first_column(one):
    await one.load()
    id = (await one.job("?wait=5", source=45)).json()["id"]
    answer = await one.http.get(f"/v1/jobs/{id}/figure.svg?width=390")
    root = picture(answer)
    assert (root.get("width"), root.get("height")) == ("390", str(figures.HEIGHT))
    assert root.get("viewBox") == f"0 0 390 {figures.HEIGHT}"
    assert "bfs: distance" in answer.text
    assert {"distance", "vertices", "0", "4"} <= set(texts(root))  # distances 0 … 4, once each
    bars = [node for node in root.iter(f"{SVG}g") if (node.get("id") or "").startswith("patch_")]
    assert sum("#4477aa" in ElementTree.tostring(bar, "unicode") for bar in bars) == 5
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    again = await one.http.get(f"/v1/jobs/{id}/figure.svg?width=390")
    assert again.text == answer.text


def test_rounds_and_convergence_come_from_the_report(tmp_path):
    async def body():
        async with front(tmp_path, ReportingRanks()) as one:
            id = await job_with_report(one)
            for kind, word in (("convergence", "tol = 1e-06"), ("rounds", "frontier vertices (line)")):
                root = picture(await one.http.get(f"/v1/jobs/{id}/figure.svg?kind={kind}&scheme=dark"))
                assert word in texts(root)
                assert "bfs: " + kind in ElementTree.tostring(root, "unicode")

    asyncio.run(body())


def test_a_job_answered_from_the_cache_has_the_rounds_of_the_run(tmp_path):
    async def body():
        async with front(tmp_path, ReportingRanks()) as one:
            first = await job_with_report(one)
            again = (await one.job("?wait=5", source=45, report=True)).json()
            assert again["cached"]
            url = "/v1/jobs/{}/figure.svg?kind=convergence"
            pictures = [(await one.http.get(url.format(id))).text for id in (first, again["id"])]
            assert "convergence" in pictures[0]
            assert pictures[0] == pictures[1]
            assert (await one.http.get(f"/v1/jobs/{again['id']}/report")).json()["rounds"]["kept"]

    asyncio.run(body())


@pytest.mark.quick
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_are_large_enough_and_in_the_colours_of_the_page(tmp_path, scheme):
    async def body():
        async with front(tmp_path, ReportingRanks()) as one:
            id = await job_with_report(one)
            for kind in KINDS:
                answer = await one.http.get(f"/v1/jobs/{id}/figure.svg?kind={kind}&scheme={scheme}")
                picture(answer)
                sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", answer.text)]
                assert len(sizes) >= 4
                assert min(sizes) >= 10, kind
                fills = set(re.findall(r"<text style=\"[^\"]*?fill: (#\w+)", answer.text))
                assert fills <= {*figures.INK[scheme]}, (kind, fills)

    asyncio.run(body())


def test_the_interface_has_all_kinds_of_pictures():
    assert get_args(models.FigureKind) == KINDS


@serving
async def test_refusals(one):
    await one.load()
    id = (await one.job("?wait=5", source=45)).json()["id"]
    url = f"/v1/jobs/{id}/figure.svg"
    for query, status, words in (
        ("?kind=pie", 422, "values"),
        ("?width=100000", 422, "1600"),
        ("?column=nope", 422, "unknown column 'nope'"),
        ("?kind=convergence", 410, "keeps no report"),
    ):
        answer = await one.http.get(url + query)
        assert answer.status_code == status, query
        assert words in answer.text, query
    assert (await one.http.get("/v1/jobs/none/figure.svg")).status_code == 404
    stats = (await one.job("?wait=5", source=4, mode="stats")).json()["id"]
    assert (await one.http.get(f"/v1/jobs/{stats}/figure.svg")).status_code == 409


@serving
async def test_limits_are_refused_by_name(one):
    await one.load()
    id = (await one.job("?wait=5", source=0)).json()["id"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "MOST_POINTS", 49)
        answer = await one.http.get(f"/v1/jobs/{id}/figure.svg?kind=profile")
        assert "50 distinct values, and a figure shows at most 49; give the kind values" in answer.json()["detail"]
        patch.setattr(figures, "MOST_ROWS", 49)
        answer = await one.http.get(f"/v1/jobs/{id}/figure.svg")
        assert answer.status_code == 422
        assert "50 rows, and the service draws at most 49" in answer.json()["detail"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes_results, "FIGURE_S", 0.05)
        async with one.service.drawing:
            answer = await one.http.get(f"/v1/jobs/{id}/figure.svg")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert (await one.http.get(f"/v1/jobs/{id}/figure.svg")).status_code == 200
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib.figure", None)
        answer = await one.http.get(f"/v1/jobs/{id}/figure.svg")
        assert answer.status_code == 501
        assert "pip install 'dgraph-analytics[plots]'" in answer.json()["detail"]
    assert (await one.http.get(f"/v1/jobs/{id}/figure.svg")).status_code == 200  # the lock is free again


def test_a_large_column_is_a_small_figure_in_little_time():
    values = np.random.default_rng(2).normal(size=1 << 20)
    svg = figures.drawn(figures.DrawnResult("pagerank", {}), values, None, "pagerank", 640, "light")
    assert len(svg) < 1 << 16
    labels = np.random.default_rng(2).geometric(1e-5, 1 << 20)
    svg = figures.drawn(figures.DrawnResult("cc", {}), labels, None, "labels", 640, "light")
    assert len(svg) < 1 << 18
