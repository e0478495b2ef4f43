"""Pieces of lines that threads place in columns of the whole file give the graph that one thread reads."""

import pytest

from dgraph.comm.serial import SerialComm
from dgraph.graph.formats import line_reader, lines, placed_lines, scan, text
from dgraph.graph.load import read
from dgraph.graph.load_options import LoadOptions

PLAIN = [f"{u} {u * 7 % 1000} {u % 13}" for u in range(4_000)]
OTHER = {
    "plain": (),
    "comment": (1_500, "# a comment"),
    "blank": (2_000, ""),
    "wide id": (1_000, f"{1 << 40} 5 1"),
    "wide weight": (1_000, f"3 5 {1 << 40}"),
    "fraction": (3_999, "3 5 0.5"),
    "in the first piece": (0, "3 5 1e3"),
    "spaces": (2_500, "  3   5\t1  "),
    "a line longer than a buffer's tail": (2_500, f"3 5 1{' ' * 5_000}"),
}


def columns(path, threads, monkeypatch):
    monkeypatch.setattr(text, "rank_threads", lambda comm: threads)
    raw = read(str(path), SerialComm(), LoadOptions())
    return [values if values is None else (values.dtype, values.tolist()) for values in (raw.src, raw.dst, raw.weights)]


@pytest.mark.parametrize("ends", ["\n", ""])
@pytest.mark.parametrize("other", OTHER)
def test_threads_place_what_one_thread_reads(other, ends, tmp_path, monkeypatch):
    listed = list(PLAIN)
    if OTHER[other]:
        listed.insert(*OTHER[other])
    path = tmp_path / "a.txt"
    path.write_text("\n".join(listed) + ends)
    expected = columns(path, 1, monkeypatch)
    monkeypatch.setattr(lines, "CHUNK", 1 << 10)
    whole, placed = placed_lines.PlacedLines.whole, []
    monkeypatch.setattr(placed_lines.PlacedLines, "whole", lambda self: placed.append(whole(self)) or placed[-1])
    assert columns(path, 3, monkeypatch) == expected
    if other == "plain":
        assert len(placed[0]) == 3


def test_more_lines_than_the_first_piece_lets_expect_get_columns_of_their_own(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{u} 123456789\n" for u in range(10**8, 10**8 + 500)) + "1 2\n" * 9_000)
    expected = columns(path, 1, monkeypatch)
    monkeypatch.setattr(lines, "CHUNK", 1 << 10)
    assert columns(path, 4, monkeypatch) == expected


def test_an_error_in_one_piece_ends_the_others(tmp_path, monkeypatch):
    path = tmp_path / "a.wel"
    path.write_text("".join(f"{u} 5 1\n" for u in range(3_000)))
    monkeypatch.setattr(lines, "CHUNK", 1 << 10)
    pieces = iter(range(100))

    def broken(self, low, high):
        if next(pieces) == 3:
            raise OSError("no file")
        return original(self, low, high)

    original = lines.LineBuffer.lines
    monkeypatch.setattr(lines.LineBuffer, "lines", broken)
    with pytest.raises(OSError, match="no file"):
        columns(path, 3, monkeypatch)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("module", "name", "before"), [(placed_lines, "Arena", 0), (line_reader, "Arena", 0), (scan, "ScanBuffers", 1)]
)
def test_memory_that_is_lacking_ends_all_pieces(module, name, before, tmp_path, monkeypatch):
    """The columns' memory, a thread's, and a piece's; the reader of the whole file has buffers ``before`` that."""
    path = tmp_path / "a.wel"
    path.write_text("".join(f"{u} 5 1\n" for u in range(3_000)))
    monkeypatch.setattr(lines, "CHUNK", 1 << 10)
    original, calls = getattr(module, name), iter(range(1_000))

    def lacking(*size):
        if next(calls) < before:
            return original(*size)
        raise MemoryError("none left")

    monkeypatch.setattr(module, name, lacking)
    with pytest.raises(MemoryError, match="none left"):
        columns(path, 3, monkeypatch)
