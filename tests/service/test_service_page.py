"""The web page in headless Chromium, against a service of its own processes."""

import os
import re
import shutil
from urllib.parse import unquote, urlsplit

import pyarrow
import pyarrow.csv
import pytest
from children import ROOT

import dgraph

pytestmark = pytest.mark.starts_children

sync_api = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
SLOW = {"tol": "1e-300", "max_iter": "100000000"}

if CHROMIUM is None:
    pytest.skip("no chromium: apt-get install chromium", allow_module_level=True)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, chromium_sandbox=os.getuid() != 0)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, live):
    """Return a function that logs in to the page; at the end no script failed and nothing came from elsewhere."""
    contexts, faults, hosts = [], [], set()

    def open_page(size=WIDE, scheme="light"):
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        page.goto(live.login())
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    expected = re.compile("responded with a status of (4|501)|net::ERR_FAILED")  # the latter of route.abort()
    assert [text for text in faults if not expected.search(text)] == []
    assert len(hosts) == 1, hosts


def ask(page, graph, algorithm, **parameters):
    page.select_option("#graph", graph)
    page.select_option("#algorithm", algorithm)
    if parameters and not page.locator("#more").evaluate("node => node.open || node.hidden"):
        page.click("#more > summary")
    for name, value in parameters.items():
        page.fill(f"#parameter-{name}", str(value))
    page.click("#ask button.main")


def answered(page, *query, **parameters):
    """Submit a query; return its job's id once the page shows this job: until then it shows an earlier one."""

    def submits(answer):
        return answer.request.method == "POST" and urlsplit(answer.url).path == "/v1/jobs"

    with page.expect_response(submits) as answer:
        ask(page, *query, **parameters)
    job = answer.value.json()["id"]
    shows(page, job)
    return job


def shows(page, job):
    """Wait until the page shows a job."""
    page.wait_for_url(re.compile(f"#job/{job}$"))


def rounds_after(page, least):
    """Wait until the job shows more rounds; the page's policy forbids ``wait_for_function``, which evaluates text."""
    for _ in range(300):
        match = re.search(r"([\d,]+) rounds", page.inner_text("#job .note"))
        if match and (count := int(match[1].replace(",", ""))) > least:
            return count
        page.wait_for_timeout(50)
    raise AssertionError(page.inner_text("#job"))


def test_a_query_from_the_form_to_the_answer(opened):
    page = opened()
    answered(page, "rome", "sssp", source=1)
    page.wait_for_selector("#job .title b:has-text('sssp on rome')")
    page.wait_for_selector("#job tbody tr:nth-child(10)")
    rows = [line.split("\t") for line in page.inner_text("#job tbody").split("\n") if line.strip()]
    wanted = dgraph.sssp(dgraph.Graph.load(ROOT / "tests/data/rome99.gr"), 1).top(10)
    shown = [[str(v), f"{d:,}"] for v, d in zip(*(values.tolist() for values in wanted.values()), strict=True)]
    assert rows == shown
    assert page.locator("#job svg.figure").get_attribute("aria-label").startswith("active vertices by round")
    page.wait_for_selector("#job .bars .compute")
    assert "3,353" in page.inner_text("#graphs-body")
    assert "sssp" in page.inner_text("#jobs tbody tr:first-child")
    assert page.inner_text("#health").startswith("ranks up")
    page.click("#estimate")
    page.wait_for_selector("#answer:has-text('It fits')")
    with page.expect_download() as download:
        page.click("#job a:has-text('parquet')")
    assert download.value.suggested_filename.endswith(".parquet")


def test_rounds_are_live_and_a_job_can_be_cancelled(opened):
    page = opened()
    answered(page, "rome", "pagerank", **SLOW)
    page.wait_for_selector("#job .pill.running")
    first = rounds_after(page, 0)
    rounds_after(page, first)
    page.click("#job button:has-text('Cancel')")
    page.wait_for_selector("#job .pill.cancelled")
    page.wait_for_selector("#jobs tr.chosen .pill.cancelled")


def test_refusals_are_shown_where_they_arise(opened):
    page = opened()
    ask(page, "rome", "bfs", source="x1")
    page.wait_for_selector("#answer.bad:has-text('source: x1 is not an integer')")
    answered(page, "rome", "bfs", source=10**9)
    page.wait_for_selector("#job .bad:has-text('1000000000 is not a vertex')")
    page.click("#loader > summary")
    page.fill("#load [name=name]", "bad")
    page.fill("#load [name=source]", "nothing.el")
    page.click("#load button")
    page.wait_for_selector("#loaded.bad:has-text('no such file')")


def test_a_graph_is_loaded_pinned_and_removed(opened):
    page = opened()
    page.click("#loader > summary")
    page.fill("#load [name=name]", "grid")
    page.fill("#load [name=source]", "grid:20x30")
    page.click("#load button")
    row = page.locator("#graphs li", has_text="grid")
    row.locator("text=600 vertices").wait_for()
    row.locator("button:has-text('Unpin'), button:has-text('Pin')").click()
    row.locator("button:has-text('Unpin')").click()
    row.locator("button:has-text('Pin')").wait_for()
    row.locator("button[aria-label='Remove grid']").click()
    row.locator("button:has-text('Really remove?')").click()
    row.wait_for(state="detached")


def test_older_jobs_are_a_page_further(opened, live):
    job = {"graph": "rome", "algorithm": "bfs", "parameters": {"source": 5}}
    for _ in range(31):
        live.link.call("POST", "/v1/jobs", job, wait=10)
    page = opened()
    first = page.inner_text("#jobs tbody tr:first-child")
    page.click("#jobs button:has-text('Older')")
    page.wait_for_selector("#jobs button:has-text('Newer')")
    assert 1 <= page.locator("#jobs tbody tr").count() <= 30
    newest = page.locator("#jobs tbody a").first.get_attribute("data-key")
    assert newest == live.link.call("GET", "/v1/jobs", limit=31)["jobs"][30]["id"]
    page.click("#jobs button:has-text('Newer')")
    page.locator("#jobs button:has-text('Newer')").wait_for(state="detached")
    assert page.inner_text("#jobs tbody tr:first-child") == first


@pytest.mark.quick
@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"])
def test_figures_of_the_answer_fit_the_page_and_its_colours(opened, live, size, scheme):
    page = opened(size, scheme)
    job = answered(page, "rome", "pagerank", tol=1e-4)
    page.wait_for_selector("#job .bars .compute")
    active = {row["frontier_vertices"] for row in live.link.call("GET", f"/v1/jobs/{job}/report")["rounds"]["kept"]}
    assert page.locator("#job svg.figure").count() == (len(active) > 1), "a frontier of all vertices is not drawn"
    for title in ("pagerank: pagerank", "pagerank: convergence"):
        picture = page.locator(f"#job img[alt='figure of {title}']")
        picture.wait_for()
        shown = picture.evaluate("node => [node.complete, node.naturalWidth, node.clientWidth, node.naturalHeight]")
        assert shown[0]
        assert 240 <= shown[1] == shown[2] <= size["width"]  # so letters have the size that they were drawn in
        assert shown[3] > 0
        svg = unquote(picture.get_attribute("src"))
        assert ("#a3adbd" in svg) == (scheme == "dark")
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    page.click("#theme")
    page.click("#theme")  # dark
    page.wait_for_selector("#job img[src*='%23a3adbd']")
    answered(page, "rome", "cc")
    page.locator("#job img[alt='figure of cc: sizes of labels']").wait_for()
    assert page.locator("#job img.picture").count() == 1
    assert page.inner_text("#job h3 >> nth=0") == "Answer"
    assert page.locator("#job tbody").count() == 0, "the largest label says nothing"


def test_why_there_is_no_figure_is_shown(opened):
    page = opened()
    reason = '{"detail": "a figure needs matplotlib"}'
    page.route("**/figure.svg?*", lambda route: route.fulfill(status=501, body=reason))
    answered(page, "rome", "kcore")
    page.wait_for_selector("#job .note:has-text('No figure: a figure needs matplotlib')")
    assert page.locator("#job img.picture").count() == 0
    page.wait_for_selector("#job tbody tr:nth-child(10)")


LONG = "x" * 64
HOSTILE = ["<img src=x onerror=alert(1)>", "\u202eevil", "a" * 250, "שלום", "tab\tx", "é😀" * 20, "plain"]
TARGETS = """[...document.querySelectorAll("a, button, input, select, summary")]
    .map(node => [node.outerHTML.slice(0, 80), node.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.width < 24 || box.height < 24)).map(([text]) => text)"""

COLUMN_ENDS = """Object.fromEntries([["#jobs", document.querySelector("#jobs")],
    ...[...document.querySelectorAll("#jobs th")].filter(node => node.getClientRects().length)
    .map(node => [node.textContent.trim(), node])].map(([name, node]) => [name, node.getBoundingClientRect().right]))"""


@pytest.fixture(scope="module")
def hostile(live):
    """Return a client of a service that has jobs on graphs of long names, one with hostile names of vertices."""
    with dgraph.connect(live.unix) as client:
        dgraph.cc(client.load(LONG, "grid:9x9"))
        table = pyarrow.table({"source": HOSTILE, "target": HOSTILE[1:] + HOSTILE[:1]})
        graph = client.put("hostile." + "Y" * 56, table, directed=False)
        with pytest.raises(dgraph.UsageError):
            dgraph.bfs(graph, "nobody " + "z" * 200)
        for source in HOSTILE:
            dgraph.bfs(graph, source)
        yield client


@pytest.mark.quick
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_long_and_hostile_names_leave_the_table_in_sight(opened, hostile, size):
    page = opened(size)
    assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    shown = ["State", "Time"] if size is PHONE else ["Job", "Graph", "State", "Rounds", "Time", "Submitted"]
    page.wait_for_selector("#jobs tbody tr:nth-child(8)")
    ends = page.evaluate(COLUMN_ENDS)  # in one call: the page draws its table anew while it polls
    for name in shown:
        assert ends[name] <= ends["#jobs"], name
    scroll = page.locator("#jobs .scroll")
    assert scroll.evaluate("node => node.scrollWidth <= node.clientWidth")
    assert page.locator("#jobs tbody td bdi").count() >= 8
    for job in (page.locator("#jobs tbody a").nth(1), page.locator("#jobs tbody tr", has_text="failed").locator("a")):
        key = job.first.get_attribute("data-key")
        job.first.click()
        shows(page, key)
        assert page.evaluate(TARGETS) == []
        assert page.evaluate("document.documentElement.scrollWidth") == size["width"]
    assert page.locator("img[onerror]").count() == 0
    page.click("#loader > summary")
    page.click("#more > summary")
    assert page.evaluate(TARGETS) == []


def test_names_of_vertices_are_isolated_and_the_rows_are_csv(opened, hostile):
    page = opened()
    page.locator("#jobs tbody a").first.click()
    page.wait_for_selector("#job tbody tr:nth-child(7)")
    assert sorted(page.locator("#job tbody td.name bdi").all_text_contents()) == sorted(HOSTILE)
    with page.expect_download() as download:
        page.click("#job a:has-text('csv')")
    assert download.value.suggested_filename.endswith(".csv")
    rows = pyarrow.csv.read_csv(download.value.path()).to_pydict()
    assert sorted(rows["vertex"]) == sorted(HOSTILE)
    assert rows["distance"][rows["vertex"].index(HOSTILE[-1])] == 0


def test_each_job_has_an_address(opened, hostile):
    page = opened()
    first, second = (page.locator("#jobs tbody a").nth(k) for k in (0, 1))
    ids = [job.get_attribute("data-key") for job in (first, second)]
    for job, id in zip((first, second), ids, strict=True):
        job.click()
        page.wait_for_selector(f"#jobs tr.chosen a[data-key='{id}']")
        assert page.url.endswith(f"#job/{id}")
    page.go_back()
    page.wait_for_selector(f"#jobs tr.chosen a[data-key='{ids[0]}']")
    page.goto(page.url.partition("#")[0] + f"#job/{ids[1]}")
    page.reload()
    page.wait_for_selector(f"#jobs tr.chosen a[data-key='{ids[1]}']")
    assert page.inner_text("#job .title b").startswith("bfs on hostile.")
    for wrong in ("nothing", "%E0", "%00", "../graphs"):
        page.goto(page.url.partition("#")[0] + f"#job/{wrong}")
        page.wait_for_selector("#notice:not([hidden])")
        page.reload()
        page.wait_for_selector("body[data-ready]")


def test_failed_polls_are_shown_until_one_succeeds(opened, live, hostile):
    page = opened()
    assert page.locator("#notice").is_hidden()
    for path, words in (("**/v1/jobs?*", "jobs"), ("**/v1/graphs", "graphs"), ("**/v1/memory", "figures of memory")):
        page.route(path, lambda route: route.fulfill(status=409, body='{"detail": "a fault"}'))
        page.wait_for_selector(f"#notice:has-text('The {words} shown here are old: a fault')")
        page.locator("#jobs tbody tr:not(.chosen) a").first.click()  # it draws the jobs anew, which fails, too
        page.wait_for_selector(f"#notice:has-text('The {words} shown here are old: a fault')")
        page.unroute(path)
        page.locator("#notice").wait_for(state="hidden")
    page.route("**/v1/**", lambda route: route.abort())
    page.wait_for_selector("#notice:has-text('The service does not answer')")
    page.unroute("**/v1/**")
    page.locator("#notice").wait_for(state="hidden")
    page.context.clear_cookies()
    page.wait_for_selector("#notice:has-text('service.sock -X POST http://localhost/v1/login')")
    page.goto(live.login())
    page.wait_for_selector("body[data-ready]")


def test_a_page_without_a_login_says_how_to_log_in(opened, live):
    page = opened()
    page.context.clear_cookies()
    page.reload()
    page.wait_for_selector("text=service.sock -X POST http://localhost/v1/login")
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_phone_in_either_scheme(opened, scheme):
    page = opened(PHONE, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    background = "getComputedStyle(document.body).backgroundColor"
    first = page.evaluate(background)
    assert (sum(map(int, first[4:-1].split(","))) < 200) == (scheme == "dark")
    for _ in range(2 if scheme == "light" else 1):
        page.click("#theme")
    assert page.evaluate(background) != first
    unlabelled = "[...document.querySelectorAll('input, select')].filter(node => !node.labels.length).length"
    assert page.evaluate(unlabelled) == 0
    tops = [page.locator(f"#{name}").bounding_box()["y"] for name in ("query", "job", "jobs", "graphs", "memory")]
    assert tops == sorted(tops)
