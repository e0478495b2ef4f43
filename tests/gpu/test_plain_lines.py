"""Lines of text parsed on a GPU: values, counts, notes and errors are those of the host's reader."""

import os
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
from devices import device_of, on_devices
from emulated import needs_compiler

from dgraph.backend.cuda.graph_load import plain_lines
from dgraph.comm import SerialComm
from dgraph.errors import DataError
from dgraph.graph.formats import scan
from dgraph.graph.formats.line_layout import Layout
from dgraph.graph.formats.sniff import DataStart
from dgraph.graph.formats.text import parsing_with, read_table

pytestmark = [pytest.mark.mpi_skip, needs_compiler]

WEIGHTED = Layout((scan.SOURCE, scan.TARGET, scan.NUMBER), "SOURCE TARGET WEIGHT", fields=3)
LAYOUTS = [
    WEIGHTED,
    Layout((scan.SOURCE, scan.TARGET), "SOURCE TARGET", fields=2),
    replace(WEIGHTED, separator=",", quoted=True),
    Layout((scan.WHOLE, scan.SOURCE, scan.TARGET, scan.INTEGER), "EDGE SOURCE TARGET LENGTH"),
    Layout((scan.ANY, scan.TARGET, scan.SOURCE), "- TARGET SOURCE", separator="\t", lowest=1, highest=5000),
]
USUAL = [b"0", b"1", b"7", b"42", b"123456789", b"4294967295", b"3.25", b"-3.5", b"-8"]
UNUSUAL = [
    b"", b"-0", b"+5", b"1e3", b"-2.5e-3", b".5", b"5.", b"inf", b"-inf", b"nan", b"x", b'"4"', b"4294967296",
    b"9007199254740993", b"999999999999999999", b"9223372036854775808", b"0.1234567890123456", b"12345678.12345678",
    b"1.797e400", b"00007", b"18446744073709551621", b"2147483648", b"-2147483649",
]  # fmt: skip


def random_text(draw, layout, oddity):
    """Return lines of which about ``oddity`` are unusual in some way."""
    separator, lines = (layout.separator or " ").encode(), []
    for _ in range(draw.randrange(1, 12)):
        words = [draw.choice(UNUSUAL if draw.random() < oddity / 4 else USUAL) for _ in layout.columns]
        for place, kind in enumerate(layout.columns):
            if kind in (scan.SOURCE, scan.TARGET, scan.WHOLE) and draw.random() > oddity / 4:
                words[place] = draw.choice(USUAL[:5])
            elif kind == scan.INTEGER and draw.random() > oddity:
                words[place] = draw.choice(USUAL[:4] + USUAL[-1:])
        line = separator.join(words)
        if draw.random() < oddity:
            line = draw.choice([
                b"", b"# a comment", b"#1 2 3", b"%" + line, b" " + line, line + b" ", line + b"\r", line + b" 9",
                line + b"x", line.replace(separator, separator + b" ", 1), b"\xef" + line,
                line + b"\rx", line.replace(b" ", b"\t"),
            ])  # fmt: skip
        lines.append(line)
    return b"\n".join(lines) + b"\n" * draw.randrange(2)


def read(path, layout, lenient, parser=None):
    """Return values, counts and notes of a file, or the error's text."""
    begin = DataStart(0, 1, os.path.getsize(path))
    try:
        if parser is None:
            table = read_table(path, layout, begin, SerialComm(), lenient)
        else:
            with parsing_with(parser):
                table = read_table(path, layout, begin, SerialComm(), lenient)
    except DataError as wrong:
        return str(wrong)
    return table


def check(path, layout, lenient, device):
    """Compare the readers; return True if the GPU read the file."""
    want = read(path, layout, lenient)
    have = read(path, layout, lenient, plain_lines.plain_parser(device))
    if isinstance(want, str) or isinstance(have, str):
        assert have == want
        return False
    edges = []
    for table in (have, want):
        columns = [device.get(column) for column in (table.src, table.dst, table.weights) if column is not None]
        bits = [column.view(f"u{column.itemsize}").tolist() for column in columns]
        edges.append(([column.dtype for column in columns], sorted(zip(*bits, strict=True))))
    assert edges[0] == edges[1]
    assert (have.dropped, have.hidden, have.notes) == (want.dropped, want.hidden, want.notes)
    return isinstance(have, plain_lines.DeviceTable)


def check_many(device, tmp_path, count, seed):
    """Compare the readers on random files, and check how many the GPU reads."""
    draw, path = random.Random(seed), tmp_path / "lines"
    on_gpu, valid = 0, 0
    for number in range(count):
        layout = LAYOUTS[number % len(LAYOUTS)]
        path.write_bytes(random_text(draw, layout, draw.choice([0, 0.05, 0.3])))
        lenient = draw.random() < 0.3
        valid += not isinstance(read(path, layout, lenient), str)
        on_gpu += check(path, layout, lenient, device)
    assert on_gpu > valid / 2


@on_devices
def test_the_gpu_reads_what_the_host_reads(device, tmp_path):
    check_many(device_of(device), tmp_path, 300, 1)


@on_devices
@pytest.mark.exhaustive
def test_the_gpu_reads_what_the_host_reads_in_many_files(device, tmp_path):
    check_many(device_of(device), tmp_path, 10_000, 2)


@pytest.mark.parametrize("expected", [None, 1, 40, 1000])
@pytest.mark.parametrize("chunk", [7, 23, 64, 300])
def test_chunks_end_at_lines(chunk, expected, tmp_path, monkeypatch):
    device, freed = device_of("emulated"), []
    monkeypatch.setattr(plain_lines, "CHUNK", chunk)
    monkeypatch.setattr(plain_lines, "LARGE", 1)
    if expected:
        monkeypatch.setattr(plain_lines, "_expected", lambda *_: (expected, False))
    monkeypatch.setattr(device, "pool", SimpleNamespace(free_all_blocks=lambda: freed.append(chunk)), raising=False)
    text = b"# first\n" + b"".join(b"%d %d %d\n" % (i, i % 9, i * 7) for i in range(60)) + b"%rest\n5 6 7"
    (tmp_path / "lines").write_bytes(text)
    assert check(tmp_path / "lines", WEIGHTED, False, device) is False, "the first line is a comment"
    (tmp_path / "lines").write_bytes(text[8:])
    assert check(tmp_path / "lines", WEIGHTED, False, device) is (chunk > 7)
    assert freed == [chunk] * 3 * (chunk > 7), "the memory of a column's parts goes back before the next is joined"
    if chunk > 7:
        table = read(tmp_path / "lines", WEIGHTED, False, plain_lines.plain_parser(device))
        assert (table.src.base is None) is (expected in (1, 40)), "joined only where too few lines were expected"


@pytest.mark.parametrize("text", [
    b"", b"\n", b"# only a comment\n", b"1 2 3\n" + b"1" * 70_000 + b" 2 3\n", b"1 2 3\n#" + b"x" * (1 << 20) + b"\n",
    b"1 2 3\n4294967296 2 3\n", b"1 2 3\n4 5 1e400\n", b"1 2 3\n4 5\n",
])  # fmt: skip
def test_the_host_reads_other_files(text, tmp_path):
    (tmp_path / "lines").write_bytes(text)
    assert not check(tmp_path / "lines", WEIGHTED, False, device_of("emulated"))


@pytest.mark.parametrize(("odd", "on_gpu"), [(b" 4 5 -0", False), (b" 4 5 0", True), (b" 4 5 -0.0", True)])
def test_a_zero_of_an_unusual_line_keeps_its_sign_beside_fractions(odd, on_gpu, tmp_path):
    (tmp_path / "lines").write_bytes(b"1 2 3.25\n" + odd + b"\n6 7 -0\n")
    assert check(tmp_path / "lines", WEIGHTED, False, device_of("emulated")) is on_gpu


def test_a_zero_of_an_earlier_chunk_keeps_its_sign_beside_fractions(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_lines, "CHUNK", 16)
    (tmp_path / "lines").write_bytes(b"1 2 3\n4 5 -0\n6 7 8\n1 2 9\n1 2 3.25\n")
    assert check(tmp_path / "lines", WEIGHTED, False, device_of("emulated"))


def test_a_line_that_is_left_out_tells_nothing_of_the_weights(tmp_path):
    (tmp_path / "lines").write_bytes(b"1 2 2147483648\n4 5 3.5x\n")
    assert check(tmp_path / "lines", WEIGHTED, True, device_of("emulated"))


@pytest.mark.parametrize("mutant", [
    ("places > 18", "false"), ("places + power > 15", "places + power > 17"), ("value > 1ull << 53", "false"),
    ("value < env.lowest ||", ""), ("place + 1 == end && env.text[place] == '\\r'", "place + 1 == end"),
    ("(negative ? -1.0 : 1.0)", "1.0"), ("whole && fraction &&", "false &&"),
])  # fmt: skip
def test_mutants_fail(mutant, tmp_path):
    with pytest.raises(AssertionError):
        check_many(device_of("emulated", mutant=mutant), tmp_path, 1500, 3)
