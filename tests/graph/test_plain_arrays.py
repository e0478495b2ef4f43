"""NumPy reads the plain lines that the kernel reads, or leaves the text to it."""

import random

import numpy as np
import pytest

from dgraph.graph.formats import plain_arrays
from dgraph.graph.formats.column import IDS, WEIGHTS
from dgraph.graph.formats.plain_scan import NONE, PAD, _plain_lines, _short_lines
from dgraph.graph.formats.scan import ANY, INTEGER, NUMBER, SOURCE, TARGET, byte_classes

LIMITS = (1 << 32) - 1, (1 << 31) - 1
ODD = [
    "-3",
    "1.5",
    "2e3",
    "x",
    "",
    "007",
    "4294967296",
    "2147483648",
    "9" * 18,
    "9" * 19,
    "7".zfill(18),
    "7".zfill(19),
    '"1"',
    "+1",
]
"""Words that some lines have in place of a small number."""


def by_kernel(text, classes, kinds, ends, most, columns, tag=0, short=False):
    """Return what the kernel does with narrow columns, as :func:`by_arrays` does; first the ``short`` lines' kernel."""
    padded = np.concatenate([text, np.full(1 + PAD, 10, np.uint8)])
    weights, done = columns[2] if len(columns) > 2 else NONE.view(WEIGHTS[0]), (0, 0)
    if short:
        done = _short_lines(padded, text.size, classes, tag, *ends, *columns[:2], weights, most)
    answer = _plain_lines(
        padded, text.size, classes, tag, kinds, *ends, ord("."), *columns[:2], NONE, NONE, weights, NONE, None, most,
        *done,
    )  # fmt: skip
    return answer[0], min(answer[1], text.size), *done


def lines_of(draw, width, separator, odd, widths=(1,), start=""):
    """Return lines of numbers, some with an odd word, separator or end; ``widths``: with zeros before them."""
    text = []
    for _ in range(draw.randrange(1, 30)):
        words = [str(draw.randrange(10 ** draw.randrange(1, 9))).zfill(draw.choice(widths)) for _ in range(width)]
        end = "\n"
        if draw.random() < odd:
            match draw.randrange(5):
                case 0:
                    words[draw.randrange(width)] = draw.choice(ODD)
                case 1:
                    words.append("1")
                case 2:
                    words.pop()
                case 3:
                    end = draw.choice(["\r\n", " \n", "\n\n", " # 4\n"])
                case 4:
                    words[-1] = separator + words[-1]
        text.append(start + separator.join(words) + end)
    return "".join(text)


@pytest.mark.quick
def test_plain_lines_are_those_of_the_kernel(monkeypatch):
    draw, read, left = random.Random(5), 0, 0
    for case in range(1500):
        monkeypatch.setattr(plain_arrays, "PIECE", draw.choice([40, 100, 1 << 18]))
        separator = draw.choice([" ", "\t", ","])
        kinds = draw.choice([(SOURCE, TARGET), (TARGET, SOURCE), (SOURCE, TARGET, NUMBER), (INTEGER, SOURCE, TARGET)])
        text = np.frombuffer(lines_of(draw, len(kinds), separator, draw.choice([0, 0.03, 0.3])).encode(), np.uint8)
        ends = draw.choice([(0, 1 << 40), (1, 10**7)])
        most = draw.choice([5, 100])
        arguments = text, byte_classes("#", "," if separator == "," else ""), np.array(kinds), ends, most
        mine, wanted = ([np.zeros(most, kind) for kind in (IDS[0], IDS[0], WEIGHTS[0])[: len(kinds)]] for _ in "ab")
        counts = plain_arrays.read_plain(*arguments, LIMITS, tuple(mine))
        if counts is None:
            left += 1
            assert set('-.eE+x"#\r ') & set(text.tobytes().decode()) or by_kernel(*arguments, tuple(wanted))[0] < most
            continue
        read += counts[0]
        assert counts == by_kernel(*arguments, tuple(wanted))[:2], (case, text.tobytes())
        for column, expected in zip(mine, wanted, strict=True):
            assert np.array_equal(column[: counts[0]], expected[: counts[0]]), (case, text.tobytes())
    assert read > 5000
    assert 20 < left < 700


@pytest.mark.quick
def test_short_lines_are_those_of_the_kernel():
    draw, all_short, partly = random.Random(7), 0, 0
    for _ in range(600):
        separator, start = draw.choice([" ", ","]), draw.choice(["", "a "])
        kinds, odd = (SOURCE, TARGET, NUMBER)[: draw.choice([2, 3])], draw.choice([0, 0.03])
        widths = draw.choice([(1,), (1, 8, 9), (1,) * 20 + (16, 17)])
        text = np.frombuffer(lines_of(draw, len(kinds), separator, odd, widths, start).encode(), np.uint8)
        ends, most, tag = draw.choice([(0, 1 << 40), (1, 10**7)]), draw.choice([5, 100]), ord(start[0]) if start else 0
        arguments = text, byte_classes("#", "," if separator == "," else ""), np.array(kinds), ends, most
        mine, wanted = (tuple(np.zeros(most, kind) for kind in (IDS[0], IDS[0], WEIGHTS[0])) for _ in "ab")
        counts = by_kernel(*arguments, mine[: len(kinds)], tag, short=True)
        assert counts[:2] == by_kernel(*arguments, wanted[: len(kinds)], tag)[:2], text.tobytes()
        for column, expected in zip(mine, wanted, strict=True):
            assert np.array_equal(column, expected), text.tobytes()
        if not odd and max(widths) < 10:
            assert counts[2:] == counts[:2], text.tobytes()
        all_short, partly = all_short + (counts[2:] == counts[:2]), partly + (0 < counts[2] < counts[0])
    assert all_short > 200
    assert partly > 40


@pytest.mark.quick
def test_other_columns_and_more_bytes_are_left_to_the_kernel(monkeypatch):
    text, columns = np.frombuffer(b"1 2 x\n", np.uint8), tuple(np.zeros(1, kind) for kind in (IDS[0], IDS[0]))
    kinds = np.array([SOURCE, TARGET, ANY])
    assert plain_arrays.read_plain(text, byte_classes("#", ""), kinds, (0, 9), 1, LIMITS, columns) is None
    monkeypatch.delenv("DGRAPH_COMPILE", raising=False)
    monkeypatch.setattr(plain_arrays, "_read", [plain_arrays.BYTES - 5])
    assert plain_arrays.affordable(5)
    assert not plain_arrays.affordable(6)
    plain_arrays.expect(5)
    assert plain_arrays.affordable(5)
    plain_arrays.expect(6)
    assert not plain_arrays.affordable(1)
    monkeypatch.setenv("DGRAPH_COMPILE", "always")
    assert not plain_arrays.affordable(5)
