"""Members of gzip and frames of zstd, unpacked at once: the text is that of the libraries; errors name the byte."""

import gzip
import random
import struct
import zlib

import pytest
from loading import cleaned, figures, loaded, written

from dgraph.errors import DataError
from dgraph.graph.formats import packed_members
from dgraph.graph.formats.packed import zstd_library
from dgraph.graph.formats.packed_members import texts, unpacked

zstd = zstd_library()


def bgzip(text: bytes) -> bytes:
    """Return a block as bgzip writes it: a member with its size in an extra field (SAM specification, section 4.1)."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(text) + packer.flush()
    head = struct.pack("<4BI2BH2sHH", 31, 139, 8, 4, 0, 0, 255, 6, b"BC", 2, len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(text), len(text))


def stored(text: bytes) -> bytes:
    """Return a member that holds the text as it is, so that what it contains may look like the start of a member."""
    return gzip.compress(text, 0)


SKIPPABLE = struct.pack("<II", 0x184D2A53, 5) + b"hello"
MEMBERS = {
    "gzip": ("gzip", gzip.compress, b"\0\0\0"),
    "bgzip": ("gzip", bgzip, bgzip(b"")),
    "stored": ("gzip", stored, b""),
    "zstd": ("zstd", zstd.compress, SKIPPABLE),
}
"""Kind, what packs a part, and what may stand after it."""


def parts_of(rng):
    """Return texts of members, some empty, some that look like members, some longer than a cell."""
    inner = gzip.compress(b"1 2\n") + zstd.compress(b"1 2\n")
    return [
        rng.choice([b"", inner * rng.randrange(3), rng.randbytes(rng.randrange(300)), b"1 2\n" * rng.randrange(2000)])
        for _ in range(rng.randrange(1, 30))
    ]


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_text_is_that_of_all_members(name, threads, tmp_path, monkeypatch):
    kind, pack, after = MEMBERS[name]
    rng = random.Random(f"{name} {threads}")
    for number in range(12):
        for size, smallest in (("CELL", 20), ("AHEAD", 1), ("STEP", 1), ("FED", 1), ("TAKEN", 1)):
            monkeypatch.setattr(packed_members, size, rng.randrange(smallest, 900))
        parts = parts_of(rng)
        packed = b"".join(pack(part) + after * rng.randrange(2) for part in parts)
        path = written(tmp_path, f"{number}", packed)
        assert b"".join(texts(str(path), kind, threads)) == b"".join(parts)
        with unpacked(str(path), kind, threads) as stream:
            assert stream.read(8) == b"".join(parts)[:8]
            stream.seek(3)
            assert stream.read() == b"".join(parts)[3:]


@pytest.mark.parametrize("name", ["gzip", "zstd"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_member_of_many_cells_is_unpacked_whole(name, threads, tmp_path):
    kind, pack, _ = MEMBERS[name]
    text = random.Random(1).randbytes(packed_members.CELL) + bytes(8 << 20) + random.Random(2).randbytes(3 << 20)
    path = written(tmp_path, "a", pack(text) + pack(text[:99]) + pack(text[99:]))
    assert b"".join(texts(str(path), kind, threads)) == 2 * text


@pytest.mark.parametrize("name", ["gzip", "bgzip", "zstd"])
def test_no_member_of_a_chain_is_unpacked_twice(name, tmp_path, monkeypatch):
    kind, pack, _ = MEMBERS[name]
    packed = [pack(random.Random(number).randbytes(200)) for number in range(40)]
    monkeypatch.setattr(packed_members, "CELL", 1000)
    begun = []
    make = packed_members._Run.__init__
    monkeypatch.setattr(packed_members._Run, "__init__", lambda run, *of: (begun.append(of[2]), make(run, *of))[1])
    b"".join(texts(str(written(tmp_path, "a", b"".join(packed))), kind, 3))
    starts = [sum(map(len, packed[:number])) for number in range(40)]
    first = {start // 1000: start for start in reversed(starts)}
    assert sorted(begun) == sorted(first.values())


@pytest.mark.parametrize("name", ["gzip", "bgzip", "zstd"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_file_that_is_cut_or_goes_on_is_refused_with_the_byte(name, ranks, tmp_path, monkeypatch):
    kind, pack, _ = MEMBERS[name]
    monkeypatch.setattr(packed_members, "CELL", 64)
    lines = [f"{u} {u * 7 % 50}\n".encode() for u in range(50)]
    members = [pack(b"".join(lines[first : first + 10])) for first in range(0, 50, 10)]
    chain, starts = b"".join(members), [sum(map(len, members[:number])) for number in range(6)]
    figures_of_all = cleaned([(u, u * 7 % 50, 1) for u in range(50)], True, vertices=range(50))
    path = tmp_path / "a.el"
    path.write_bytes(chain)
    assert figures(loaded(path, ranks)) == figures_of_all
    for cut in (starts[1] - 3, starts[3] + 20, len(chain) - 1):
        path.write_bytes(chain[:cut])
        begin = max(start for start in starts if start < cut)
        with pytest.raises(DataError, match=rf"a\.el: ends inside what {kind} has packed.* begins at byte {begin} has"):
            loaded(path, ranks)
    for after in (b"garbage", b"1 2\n", chain[:1]):
        path.write_bytes(chain + after)
        with pytest.raises(DataError, match=rf"a\.el: {kind} cannot unpack it: byte {len(chain)} and those after it"):
            loaded(path, ranks)
    path.write_bytes(chain[: starts[2]] + b"garbage" + chain[starts[2] :])
    with pytest.raises(DataError, match=rf"a\.el: {kind} cannot unpack it: byte {starts[2]} and those after it are"):
        loaded(path, ranks)
    damaged = bytearray(chain)
    damaged[starts[4] - 6] ^= 255
    path.write_bytes(damaged)
    if kind == "gzip":  # zstd's checksums are an option
        with pytest.raises(
            DataError, match=rf"cannot unpack it: the member that begins at byte {starts[3]} is damaged"
        ):
            loaded(path, ranks)
