"""Security of the service: tokens, roles, logins, hosts and origins, the data root, bodies, the state folder."""

import asyncio
import gzip
import io
import os
import stat

import pyarrow as pa
import pytest
from front import front, serving
from pyarrow import parquet

from dgraph.errors import UsageError
from dgraph.service.front.http_server import unix_listener
from dgraph.service.front.security import read_tokens
from dgraph.service.front.settings import Settings, take_state

CSV = {"Content-Type": "text/csv"}


@serving
async def test_tcp_needs_a_token_and_the_unix_socket_does_not(one):
    for token, status in (("secret", 200), ("other", 200), ("viewer", 200), (None, 401), ("secre", 401), ("", 401)):
        async with one.tcp(token) as tcp:
            for path in ("/v1/graphs", "/v1/jobs", "/v1/algorithms", "/metrics", "/openapi.json"):
                answer = await tcp.get(path)
                assert answer.status_code == status, (token, path)
                assert status == 200 or "Bearer" in answer.headers["www-authenticate"]
            for path in ("/healthz", "/readyz"):
                assert (await tcp.get(path)).status_code == 200
    assert (await one.http.get("/v1/graphs")).status_code == 200


@serving
async def test_a_read_token_looks_and_does_not_touch(one):
    await one.load()
    id = (await one.job("?wait=5")).json()["id"]
    job = {"graph": "g", "algorithm": "bfs", "parameters": {"source": 0}}
    async with one.tcp("viewer") as tcp:
        assert (await tcp.get(f"/v1/jobs/{id}/result")).status_code == 200
        assert (await tcp.post(f"/v1/jobs/{id}/lookup", json={"vertices": [3]})).status_code == 200
        assert (await tcp.post("/v1/estimate", json=job)).status_code == 200
        assert (await tcp.post("/v1/graphs/g/path", json={"source": 1, "target": 3})).json()["vertices"] == [1, 2, 3]
        for method, path, body in (
            ("POST", "/v1/jobs", job),
            ("DELETE", f"/v1/jobs/{id}", None),
            ("POST", "/v1/graphs", {"name": "h", "source": "path:3"}),
            ("PATCH", "/v1/graphs/g", {"pinned": True}),
            ("DELETE", "/v1/graphs/g", None),
            ("DELETE", "/v1/graphs/path", None),
            ("PATCH", "/v1/graphs/lookup", {"pinned": True}),
            ("POST", "/v1/graphs/g/edges", {"add": [[1, 2]]}),
        ):
            assert (await tcp.request(method, path, json=body)).status_code == 403, path
        assert (await tcp.put("/v1/graphs/h/data", content=b"1,2\n", headers=CSV)).status_code == 403


@serving
async def test_a_login_works_once_and_its_cookie_is_guarded(one):
    url = f"/login?token={one.service.doors.new_login()}"
    async with one.tcp(None) as tcp:
        answer = await tcp.get(url)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(answer.headers["set-cookie"].split("; "))
        assert (await tcp.get("/v1/graphs")).status_code == 200
        foreign = await tcp.post("/v1/graphs", json={}, headers={"Origin": "http://evil.example"})
        assert (foreign.status_code, foreign.json()["type"]) == (403, "urn:dgraph:problem:Origin")
    async with one.tcp(None) as tcp:
        assert (await tcp.get(url)).status_code == 401
        assert (await tcp.get("/v1/graphs", headers={"Cookie": "dgraph_session=x"})).status_code == 401
        assert (await tcp.post("/v1/login")).status_code == 401
    one.service.address = "http://127.0.0.1:1"
    assert "/login?token=" in (await one.http.post("/v1/login")).json()["url"]


def test_services_of_one_host_have_cookies_of_their_own(tmp_path):
    async def body():
        async with front(tmp_path) as one:
            (tmp_path / "b").mkdir()
            async with front(tmp_path / "b") as two, one.tcp(None) as browser, two.tcp(None) as other:
                browser.cookies.jar = other.cookies.jar  # a browser sends cookies of a host to all its ports
                for client, service in ((browser, one), (other, two)):
                    url = f"/login?token={service.service.doors.new_login()}"
                    assert (await client.get(url)).status_code == 303
                assert len(browser.cookies) == 2
                for client in (browser, other):
                    assert (await client.get("/v1/graphs")).status_code == 200
                cookies = "; ".join(
                    ["bad", 'x="a;b', "=", *(f"{name}={text}" for name, text in browser.cookies.items())]
                )
                for service in (one, two):
                    async with service.tcp(None, Cookie=cookies) as client:
                        assert (await client.get("/v1/graphs")).status_code == 200
        async with front(tmp_path) as one:
            assert one.service.doors.cookie in browser.cookies  # the same after a restart

    asyncio.run(body())


@serving
async def test_a_browser_without_a_login_gets_a_page(one):
    browser = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
    async with one.tcp(None, **browser) as tcp:
        for path in ("/", "/index.html", "/login?token=used", "/login", "/v1/graphs"):
            answer = await tcp.get(path)
            assert (answer.status_code, answer.headers["vary"]) == (401, "Accept"), path
            assert answer.headers["content-type"].startswith("text/html")
            assert "service.sock -X POST http://localhost/v1/login" in answer.text, path
        foreign = await tcp.get("/", headers={"Host": "<script>.example"})
        assert foreign.status_code == 403
        assert "<script>" not in foreign.text
        for accept in ("*/*", "application/json", ""):
            answer = await tcp.get("/", headers={"Accept": accept})
            assert answer.headers["content-type"] == "application/problem+json"


@serving
async def test_other_hosts_and_origins_are_refused(one):
    async with one.tcp() as tcp:
        for name, status in (("127.0.0.1:8484", 200), ("[::1]:1", 200), ("evil.example", 403), ("", 403)):
            assert (await tcp.get("/v1/graphs", headers={"Host": name})).status_code == status, name
        for origin, status in (("http://localhost:8484", 200), ("http://localhost:1", 403), ("null", 403)):
            assert (await tcp.get("/v1/graphs", headers={"Origin": origin})).status_code == status, origin


@pytest.mark.parametrize(
    ("text", "mode", "match"),
    [
        ("a\n", 0o644, "chmod 600"),
        ("a\n", 0o620, "others can use it"),
        ("a root\n", 0o600, "line 1"),
        ("a\n\na read\n", 0o600, "line 3.*twice"),
        ("\n", 0o600, "no token"),
    ],
)
def test_bad_token_files_are_refused(tmp_path, text, mode, match):
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(UsageError, match=match):
        read_tokens(path)


def test_tokens_may_be_short_and_have_roles(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("a\nb read\nc admin\n")
    path.chmod(0o600)
    assert [principal.role for principal in read_tokens(path).values()] == ["admin", "read", "admin"]


def test_an_open_address_needs_a_token_file(tmp_path):
    with pytest.raises(UsageError, match="--token-file"):
        Settings(tmp_path, tmp_path, bind="0.0.0.0")
    Settings(tmp_path, tmp_path, bind="0.0.0.0", port=None)


def test_one_state_folder_serves_once_and_is_closed_to_others(tmp_path):
    state = tmp_path / "state"
    with take_state(state):
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        with pytest.raises(UsageError, match=f"used by another service, process {os.getpid()}"):
            take_state(state)
        with unix_listener(Settings(state, tmp_path)):
            assert stat.S_IMODE((state / "service.sock").stat().st_mode) == 0o600
    take_state(state).close()


@serving
async def test_no_source_leaves_the_data_root(one):
    root = one.service.settings.data_root
    outside = root.parent / "outside.el"
    outside.write_text("0 1\n")
    (root / "inside.el").write_text("0 1\n")
    (root / "link.el").symlink_to(outside)
    (root / "folder").symlink_to(root.parent)
    (root / "pair.e").write_text("0 1\n")
    (root / "pair.v").symlink_to(outside)
    (root / "store").mkdir()
    (root / "store" / "part").symlink_to("/proc/self/environ")
    (root / "good.el").symlink_to(root / "inside.el")
    os.mkfifo(root / "pipe.el")
    for number, (source, status) in enumerate(
        [
            ("/etc/passwd", 403), ("/proc/self/mem", 403), ("../outside.el", 403), ("a/../../outside.el", 403),
            ("~/x", 403),
            ("link.el", 403), ("folder/outside.el", 403), ("pair.e", 403), ("store", 403), ("pipe.el", 403),
            ("missing.el", 422), ("a\0b", 422), ("x" * 300, 422),
            ("inside.el", 202), ("good.el", 202), ("grid:3x3", 202),
            ("grid:9", 422), ("rmat:41", 422), ("rmat:40", 507), ("complete:9999999", 507),
        ]
    ):  # fmt: skip
        answer = await one.http.post("/v1/graphs", json={"name": f"n{number}", "source": source})
        assert answer.status_code == status, (source, answer.text)
    assert (await one.ready("n15"))["state"] == "ready"
    loads = [fields["source"] for op, fields in one.ranks.calls if op == "load"]
    assert loads == [str(root / "inside.el"), str(root / "inside.el"), "grid:3x3"]


def test_bodies_are_limited_before_and_after_decompression(tmp_path):
    async def body():
        async with front(tmp_path, json_bytes=2000, upload_bytes=100_000, columns=5) as one:
            put = one.http.put
            bomb = gzip.compress(b"1,2\n" * 1_000_000)
            assert len(bomb) < 100_000
            zipped = CSV | {"Content-Encoding": "gzip"}
            assert (await put("/v1/graphs/g/data", content=bomb, headers=zipped)).status_code == 413
            assert (await put("/v1/graphs/g/data", content=b"1" * 100_001, headers=CSV)).status_code == 413
            assert (await put("/v1/graphs/g/data", content=_parts(b"1,2\n", 30_000), headers=CSV)).status_code == 413
            assert (await put("/v1/graphs/g/data", content=b"nonsense", headers=zipped)).status_code == 422
            assert (await put("/v1/graphs/g/data", content=bomb[:-9], headers=zipped)).status_code in (413, 422)
            assert (await put("/v1/graphs/g/data", content=b"1,2,3,4,5,6\n", headers=CSV)).status_code == 422
            json = {"Content-Type": "application/json"}
            assert (await one.http.post("/v1/jobs", content=b" " * 2001, headers=json)).status_code == 413
            assert (await one.http.patch("/v1/graphs/data", content=b" " * 2001, headers=json)).status_code == 413
            squeezed = json | {"Content-Encoding": "gzip"}
            assert (await one.http.post("/v1/jobs", content=gzip.compress(b"{}"), headers=squeezed)).status_code == 415
            for media, encoding in (("application/octet-stream", "identity"), ("text/csv", "br")):
                headers = {"Content-Type": media, "Content-Encoding": encoding}
                assert (await put("/v1/graphs/g/data", content=b"1,2\n", headers=headers)).status_code == 415
            assert list((one.service.settings.state / "uploads").iterdir()) == []
            assert one.service.doors.socket.uploading == 0
            assert (await put("/v1/graphs/g/data", content=gzip.compress(b"1,2\n"), headers=zipped)).status_code == 202
            assert (await one.ready())["state"] == "ready"

    asyncio.run(body())


async def _parts(text, count):
    for _ in range(count // 1000):
        yield text * 1000


@serving
async def test_tables_that_would_grow_are_refused(one):
    object.__setattr__(one.service.settings, "upload_bytes", 1_000_000)
    zeros = pa.table({"s": [0] * 400_000, "t": [0] * 400_000})
    stream, file = io.BytesIO(), io.BytesIO()
    with pa.ipc.new_stream(stream, zeros.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(zeros)
    parquet.write_table(zeros, file, compression="zstd", use_dictionary=False)
    arrow, wide = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"
    for media, text, status, word in (
        (arrow, stream.getvalue(), 422, "without compression"),
        (wide, file.getvalue(), 413, "after decompression"),
        (arrow, b"garbage", 422, "not arrow"),
        (wide, b"garbage", 422, "not parquet"),
    ):
        answer = await one.http.put("/v1/graphs/g/data", content=text, headers={"Content-Type": media})
        assert answer.status_code == status, answer.text
        assert word in answer.json()["detail"]
    good = io.BytesIO()
    with pa.ipc.new_stream(good, zeros.schema) as writer:
        writer.write_table(zeros.slice(0, 10))
    answer = await one.http.put("/v1/graphs/g/data", content=good.getvalue(), headers={"Content-Type": arrow})
    assert answer.status_code == 202


@serving
async def test_metrics_have_no_text_of_requests(one):
    await one.load("some-secret-name")
    await one.job(graph="some-secret-name")
    await one.http.get("/v1/jobs/injected-id")
    await one.http.get("/injected-path")
    await one.job(algorithm="injected-algorithm", graph="some-secret-name")
    text = (await one.http.get("/metrics")).text
    assert "injected" not in text
    assert "secret" not in text
    assert 'dgraph_http_requests_total{method="GET",route="/v1/jobs/{id}",status="404"} 1.0' in text
