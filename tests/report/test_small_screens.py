"""Pages of reports on a screen of 390 pixels, in Chromium: nothing is wider, and no letter of a chart is small."""

import os
import shutil

import pytest
from sample_report import recorded, run_report, timed

from dgraph.report import write_page

pytestmark = [pytest.mark.starts_children, pytest.mark.exhaustive]
sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, LEAST = {"width": 390, "height": 844}, 10.0

if CHROMIUM is None:
    pytest.skip("no chromium: apt-get install chromium", allow_module_level=True)

LETTERS = """() => [...document.querySelectorAll("svg text")].filter(node => node.textContent.trim()).map(node => {
    const svg = node.ownerSVGElement, shown = svg.getBoundingClientRect().width, drawn = svg.viewBox.baseVal.width;
    const box = node.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(node).fontSize) * shown / (drawn || shown);
    return [node.textContent, size, box.left, box.right];
})"""
PAGES = {
    "comparison": lambda: [timed(1, 4.0, 4.0), timed(2, 2.5, 2.0), timed(64, 0.5, 0.1)],
    "unequal": lambda: [run_report(4, 30, name="rmat:16"), run_report(2, 30, name="a-graph-of-a-very-long-name" * 5)],
    "run": lambda: [run_report(4, 30, name="rmat:16")],
    "many": lambda: [run_report(64, 1000)],
    "gpus": lambda: [recorded(run_report(2, 9))],
}


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--disable-gpu", "--no-first-run"], chromium_sandbox=os.getuid() != 0
        )
        yield browser
        browser.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(browser, tmp_path, name):
    write_page(PAGES[name](), tmp_path / "page.html")
    page = browser.new_page(viewport=PHONE)
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("[data-drawn=yes]")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    letters = page.evaluate(LETTERS)
    assert letters
    for text, size, left, right in letters:
        assert size >= LEAST, text
        assert left >= -1, text
        assert right <= PHONE["width"] + 1, text
    page.close()
