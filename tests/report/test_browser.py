"""Page of a report in a real browser: the areas drawn match the figures."""

import re
import shutil
import subprocess
import zlib
from collections import defaultdict

import numpy as np
import pytest
from sample_report import recorded, run_report, timed

from dgraph.engine.rounds.round_series import PARTS
from dgraph.report import write_page


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Return a function from a page to its document in Chromium after the scripts ran, and a picture of it."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome", "chrome-headless-shell")
    chrome = next(filter(None, map(shutil.which, names)), None)
    if chrome is None:
        pytest.skip(f"no browser: none of {', '.join(names)} is on PATH")
    home = tmp_path_factory.mktemp("browser")

    def look(file, width=1160, height=1600):
        argv = [
            chrome, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={home}/data",
            f"--window-size={width},{height}", "--virtual-time-budget=5000", "--enable-logging=stderr",
        ]  # fmt: skip
        picture = file.with_suffix(".png")
        seen = subprocess.run(
            [*argv, "--dump-dom", file.as_uri()], capture_output=True, text=True, timeout=60, check=True
        )
        subprocess.run([*argv, f"--screenshot={picture}", file.as_uri()], capture_output=True, timeout=60, check=True)
        assert "CONSOLE" not in seen.stderr, seen.stderr
        return seen.stdout, picture.read_bytes()

    return look


def colours(png):
    """Count the pixels of each colour in a PNG of 8-bit RGB or RGBA (PNG specification, sections 9 and 11)."""
    offset, raw, width, height, depth = 8, b"", 0, 0, 0
    while offset < len(png):
        length, kind = int.from_bytes(png[offset : offset + 4], "big"), png[offset + 4 : offset + 8]
        body = png[offset + 8 : offset + 8 + length]
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
            depth = {2: 3, 6: 4}[body[9]]
        raw += body if kind == b"IDAT" else b""
        offset += 12 + length
    lines = np.frombuffer(zlib.decompress(raw), np.uint8).reshape(height, 1 + width * depth)
    above, counts = np.zeros(width * depth, np.int64), defaultdict(int)
    for line in lines:
        kind, row = line[0], line[1:].astype(np.int64)
        if kind == 2:
            row = (row + above) % 256
        elif kind == 1:
            row = np.cumsum(row.reshape(width, depth), axis=0).ravel() % 256
        elif kind:
            out = np.zeros_like(row)
            for i in range(width * depth):
                left, corner = (out[i - depth], above[i - depth]) if i >= depth else (0, 0)
                guess = left + above[i] - corner
                near = min((abs(guess - v), n, v) for n, v in enumerate((left, above[i], corner)))[2]
                out[i] = (row[i] + ((left + above[i]) // 2 if kind == 3 else near)) % 256
            row = out
        above = row
        values, how_often = np.unique(row.reshape(width, depth)[:, :3], axis=0, return_counts=True)
        for value, often in zip(values.tolist(), how_often.tolist(), strict=True):
            counts["#" + "".join(f"{v:02x}" for v in value)] += often
    return counts


PART_COLOURS = {"compute": "#4477aa", "pack": "#66ccee", "exchange": "#ee6677", "unpack": "#ccbb44", "idle": "#c9ccd2"}


@pytest.mark.starts_children
def test_a_browser_draws_every_figure(browser, tmp_path):
    report = run_report(4, 30, name="rmat:16")
    write_page([report], tmp_path / "run.html")
    document, picture = browser(tmp_path / "run.html")
    assert 'data-drawn="yes"' in document
    for title in ("Rounds, by rank", "Rounds, one by one", "Compute, by rank and round", "The whole run, by rank",
                  "Bytes from rank to rank", "Peak memory, by rank", "Figures"):  # fmt: skip
        assert f"<h2>{title}</h2>" in document
    assert document.count("<canvas") == 2
    places = [
        document.index(text)
        for text in ("<h1", '<p class="verdict">bound by ', '<p class="advice">try: ', 'class="cards"')
    ]
    assert places == sorted(places), "the page begins with the verdict"
    assert "sssp on rmat:16" in document
    seen = colours(picture)
    area = {name: seen[colour] for name, colour in PART_COLOURS.items()}
    spent = {name: sum(rank["seconds"][name] for rank in report["ranks"]) for name in PARTS}
    assert min(area.values()) > 1000, area
    some = ("pack", "exchange", "unpack")  # parts whose colours occur only in figures of parts
    shares = [(area[name] / sum(area[n] for n in some), spent[name] / sum(spent[n] for n in some)) for name in some]
    assert all(abs(a - b) < 0.03 for a, b in shares), shares


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_browser_draws_what_gpus_recorded(browser, tmp_path):
    write_page([recorded(run_report(2, 9))], tmp_path / "gpu.html")
    document, picture = browser(tmp_path / "gpu.html", height=2600)
    for title in ("Load by thread block", "GPU kernels, by rank", "GPU peak memory, by rank"):
        assert f"<h2>{title}</h2>" in document
    assert (
        len(re.findall('<p class="note">[^<]*edges, max/mean', document)) == 7
    )  # three first rounds, three heaviest ones, all
    for schedule in ("alb", "persistent", "pull"):
        assert f"</i>{schedule}</li>" in document
    seen = colours(picture)
    assert seen["#4477aa"] > seen["#ee8866"] > 1000, "both kernels of a thread block"


@pytest.mark.exhaustive
@pytest.mark.starts_children
def test_a_browser_draws_a_comparison_and_many_ranks(browser, tmp_path):
    write_page([timed(1, 4.0, 4.0), timed(2, 2.5, 2.0), timed(64, 0.5, 0.1)], tmp_path / "runs.html")
    document, _ = browser(tmp_path / "runs.html")
    assert "Strong scaling" in document
    assert document.count("<circle") == 3
    assert "1: 1 rank<" in document
    document, _ = browser(tmp_path / "runs.html", width=390)
    sizes = re.findall(r'<svg viewBox="0 0 ([\d.]+) [\d.]+" width="([\d.]+)"', document)
    assert sizes
    assert all(drawn == shown and float(shown) < 450 for drawn, shown in sizes), "text is not scaled down"
    write_page([run_report(64, 1000)], tmp_path / "many.html")
    document, _ = browser(tmp_path / "many.html")
    assert 'data-drawn="yes"' in document
    assert document.count("<rect") > 1000


# the trace
