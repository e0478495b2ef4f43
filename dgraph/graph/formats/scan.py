"""Parse lines of text in one strict pass: columns of integers and numbers, exact to the last bit.

:func:`scan` is independent of files. It takes whole lines, and returns values or the position of the first line that
violates the columns' kinds. A fast path handles plain lines; :func:`_line` handles every other.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.formats.parse_digits import TENS, digits_at

SOURCE, TARGET, INTEGER, NUMBER, WHOLE, REST, ANY = range(7)
"""Kinds of columns: ends of the edge (ids); a weight, integer or any number; an integer that is skipped; the rest of
the line; one column of any kind that is skipped."""

OK, TAG, MISSING, EMPTY, EXTRA, WORD, NEGATIVE, TOO_BIG, TOO_LOW, TOO_HIGH, FRACTION, SPLIT, CARRIAGE = range(13)
"""Errors of a line."""

OTHER, BLANK, DELIMITER, COMMENT, COMMENT_WORD, LINE_FEED, RETURN, PADDING = range(8)
"""Classes of bytes. A comment word (DIMACS' ``c``) begins a comment only before a blank or the line's end. Blanks
separate columns; where a delimiter does, blanks around it are padding."""

LARGEST = np.iinfo(np.int64).max
EXACT = 1 << 53
INFINITY = np.frombuffer(b"infinity", np.uint8)
MARGIN = 128
"""Bytes beyond the start of a line that the fast path may read."""
POWERS = np.array([float(10**e) for e in range(23)])
"""Powers of ten that a double holds exactly. A mantissa up to 2^53, multiplied or divided by one, is rounded once."""


def byte_classes(comments: str, separator: str) -> np.ndarray:
    """Return the class of every byte, uint8 (256,), where ``separator`` stands between columns; "": blanks and tabs."""
    classes = np.zeros(256, np.uint8)
    classes[list(b" \t")] = PADDING if separator else BLANK
    classes[ord("\n")], classes[ord("\r")] = LINE_FEED, RETURN
    if separator:
        classes[ord(separator)] = DELIMITER
    for mark in comments:
        classes[ord(mark)] = COMMENT_WORD if mark.isalpha() else COMMENT
    return classes


class ScanBuffers:
    """Output arrays of :func:`scan` for ``lines`` lines.

    Attributes:
        src, dst, integers: int64 (lines,).
        reals: float64 (lines,).
        late: int64 (lines, 4): (edge, line, start, end) of numbers that the scan cannot round exactly.
    """

    def __init__(self, lines: int, weighted: bool):
        self.lines = lines
        self.src, self.dst = np.empty(lines, np.int64), np.empty(lines, np.int64)
        lines = lines if weighted else 0
        self.integers, self.reals = np.empty(lines, np.int64), np.empty(lines)
        self.late = np.empty((lines, 4), np.int64)


def correctly_rounded(text: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Return the doubles nearest to the number tokens ``text[start:end]`` of int64 ``spans`` (k, 2)."""
    out = np.empty(len(spans))
    step = max(1, (1 << 22) // int((spans[:, 1] - spans[:, 0]).max(initial=1)))
    for at in range(0, len(spans), step):
        part = spans[at : at + step]
        out[at : at + step] = tokens(text, part).astype(np.float64)
    return out


def tokens(text: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Return the bytes ``text[start:end]`` of int64 ``spans`` (k, 2), as an array of bytes of one width."""
    width = max(1, int((spans[:, 1] - spans[:, 0]).max(initial=1)))
    out = np.zeros((len(spans), width), np.uint8)
    _copy_tokens(text, spans, out)
    return out.view(f"S{width}")[:, 0]


@njit(cache=True)
def any_integer(text, spans):
    """Return True if a number token ``text[start:end]`` of int64 ``spans`` (k, 2) is written as an integer."""
    for i in range(spans.shape[0]):
        plain = spans[i, 1] > spans[i, 0]
        for j in range(spans[i, 0], spans[i, 1]):
            plain = plain and (np.uint8(48) <= text[j] <= np.uint8(57) or text[j] == 43 or text[j] == 45)
        if plain:
            return True
    return False


@njit(cache=True)
def _copy_tokens(text, spans, out):
    for i in range(spans.shape[0]):
        for j in range(spans[i, 0], spans[i, 1]):
            out[i, j - spans[i, 0]] = text[j]


@njit(cache=True, forceinline=True)
def blank_end(text, classes, at):
    """Return the position of the first byte from ``at`` on that is neither blank nor padding."""
    while at < text.size and (classes[text[at]] == BLANK or classes[text[at]] == PADDING):
        at += 1
    return at


@njit(cache=True, forceinline=True)
def ends_line(text, classes, at):
    r"""Return True if the line or the text ends at ``at``: ``\n``, or ``\r`` before it."""
    if at >= text.size or classes[text[at]] == LINE_FEED:
        return True
    return classes[text[at]] == RETURN and (at + 1 == text.size or classes[text[at + 1]] == LINE_FEED)


@njit(cache=True, forceinline=True)
def ends_token(text, classes, at):
    """Return True if a token ends at ``at``: blank, padding, delimiter, or end of the line."""
    return ends_field(text, classes, at) or classes[text[at]] == PADDING


@njit(cache=True, forceinline=True)
def ends_field(text, classes, at):
    """Return True if a column ends at ``at``: blank, delimiter, or end of the line."""
    if at >= text.size:
        return True
    kind = classes[text[at]]
    return kind in (BLANK, DELIMITER) or ends_line(text, classes, at)


@njit(cache=True, forceinline=True)
def line_end(text, at):
    r"""Return the position of the next line feed or the text's end; and True if a ``\r`` stands elsewhere before it."""
    carriage = False
    while at < text.size and text[at] != 10:
        carriage = carriage or (text[at] == 13 and at + 1 < text.size and text[at + 1] != 10)
        at += 1
    return at, carriage


@njit(cache=True)
def hides_fields(line, classes, fields):
    """Return True if a comment line has as many columns as the data, and so may be an edge.

    Prose behind a mark and a blank is none in a file whose columns are separated by blanks; numbers are.

    Args:
        line: uint8, from the mark on.
        classes: as :func:`byte_classes` returns them.
        fields: columns of the data.
    """
    at = blank_end(line, classes, 1)
    apart = at > 1 and classes[line[1]] == BLANK
    count, numbers, begins = 0, True, True
    while at < line.size and not ends_line(line, classes, at):
        kind = classes[line[at]]
        if kind == DELIMITER:
            count += begins
            begins = True
        elif kind == BLANK:
            begins = True
        elif begins and kind != PADDING:
            count += 1
            begins = False
            numbers = numbers and (np.uint8(48) <= line[at] <= np.uint8(57) or line[at] == 45)
        at += 1
    return count == fields and (not apart or numbers)


@njit(cache=True, forceinline=True)
def _is_comment(text, classes, at):
    kind = classes[text[at]]
    return kind == COMMENT or (kind == COMMENT_WORD and ends_token(text, classes, at + 1))


@njit(cache=True, forceinline=True)
def digits(text, at):
    """Return (value, end) of the digits from ``at`` on; value -1 if it exceeds 2^63 - 1."""
    value = np.int64(0)
    while at < text.size and np.uint8(48) <= text[at] <= np.uint8(57):
        digit = np.int64(text[at]) - 48
        if value >= 0:
            if value > LARGEST // 10 or (value == LARGEST // 10 and digit > 7):
                value = np.int64(-1)
            else:
                value = value * 10 + digit
        at += 1
    return value, at


@njit(cache=True)
def infinite_end(text, at):
    """Return the end of ``inf`` or ``infinity``, in any letter case, that begins at ``at``; ``at`` if there is none."""
    end = at
    while end < text.size and end - at < INFINITY.size and text[end] | 32 == INFINITY[end - at]:
        end += 1
    return end if end - at == 8 else at + 3 if end - at >= 3 else at


@njit(cache=True)
def number(text, at):
    """Parse a number: (whole, integer, value, exact, end).

    The value is ``integer`` if ``whole``, else the double ``value``, correctly rounded if ``exact``. The end is ``at``
    if no number begins there.
    """
    start = at
    negative = at < text.size and text[at] == 45
    if at < text.size and (text[at] == 45 or text[at] == 43):
        at += 1
    begin = at
    end = infinite_end(text, at)
    if end > at:
        return False, np.int64(0), -np.inf if negative else np.inf, True, end
    integer, at = digits(text, at)
    places = at - begin
    mantissa, exponent = integer, np.int64(0)
    whole = integer >= 0
    if at < text.size and text[at] == 46:
        whole = False
        at += 1
        point = at
        while at < text.size and np.uint8(48) <= text[at] <= np.uint8(57):
            if mantissa >= 0:
                mantissa = mantissa * 10 + (np.int64(text[at]) - 48) if mantissa < EXACT else np.int64(-1)
            at += 1
        exponent = point - at
        places += at - point
    if places == 0:
        return False, np.int64(0), 0.0, True, start
    if at < text.size and (text[at] == 101 or text[at] == 69):
        whole = False
        mark = at
        at += 1
        down = at < text.size and text[at] == 45
        if at < text.size and (text[at] == 45 or text[at] == 43):
            at += 1
        begin = at
        power, at = digits(text, at)
        if at == begin:
            return False, np.int64(0), 0.0, True, mark
        power = LARGEST // 2 if power < 0 or power > LARGEST // 2 else power
        exponent += -power if down else power
    exact = 0 <= mantissa <= EXACT and -22 <= exponent <= 22
    value = 0.0
    if exact:
        value = float(mantissa) / POWERS[-exponent] if exponent < 0 else float(mantissa) * POWERS[exponent]
        value = -value if negative else value
    return whole, -integer if negative else integer, value, exact, at


@njit(cache=True)
def _line(text, classes, at, tag, columns, lowest, highest, edge, src, dst, integers, reals):
    """Read a line of values in any valid form.

    Returns:
        The error (``OK``), its column and the position of its token; the token of a number that is not yet rounded
        (start and end, 0 and 0 if there is none); True if the weight is an integer.
    """
    whole, late_start, late_end = True, 0, 0
    if tag:
        if text[at] != tag or not ends_token(text, classes, at + 1):
            return TAG, 0, at, 0, 0, whole
        at = blank_end(text, classes, at + 1)
    for column in range(columns.size):
        kind = columns[column]
        if kind == REST:
            return OK, 0, at, late_start, late_end, whole
        delimited = False
        if column:
            gap = at
            at = blank_end(text, classes, at)
            delimited = at < text.size and classes[text[at]] == DELIMITER
            if delimited:
                at = blank_end(text, classes, at + 1)
            elif at > gap and classes[text[gap]] == PADDING and not ends_line(text, classes, at):
                return SPLIT, column - 1, gap, 0, 0, whole
        if ends_line(text, classes, at):
            if kind == ANY and delimited:
                continue
            return MISSING, column, at, 0, 0, whole
        if classes[text[at]] == DELIMITER:
            if kind == ANY:
                continue
            return EMPTY, column, at, 0, 0, whole
        start = at
        if kind == ANY:
            while not ends_field(text, classes, at):
                at += 1
        elif kind in (INTEGER, NUMBER):
            whole, integer, value, exact, at = number(text, at)
            if at == start or not ends_token(text, classes, at):
                return WORD, column, start, 0, 0, whole
            if kind == INTEGER and not whole:
                return FRACTION, column, start, 0, 0, whole
            integers[edge], reals[edge] = integer, value
            if not exact:
                late_start, late_end = start, at
        else:
            value, at = digits(text, at)
            if at == start or not ends_token(text, classes, at):
                wrong = NEGATIVE if text[start] == 45 and digits(text, start + 1)[1] > start + 1 else WORD
                return wrong, column, start, 0, 0, whole
            if value < 0:
                return TOO_BIG, column, start, 0, 0, whole
            if kind != WHOLE:
                if value < lowest:
                    return TOO_LOW, column, start, 0, 0, whole
                if value > highest:
                    return TOO_HIGH, column, start, 0, 0, whole
                if kind == SOURCE:
                    src[edge] = value
                else:
                    dst[edge] = value
    at = blank_end(text, classes, at)
    if not ends_line(text, classes, at):
        return EXTRA, columns.size, at, 0, 0, whole
    return OK, 0, at, late_start, late_end, whole


@njit(cache=True)
def scan(text, classes, tag, columns, lowest, highest, lenient, fields, src, dst, integers, reals, late):
    """Read lines until the text ends or a line is wrong.

    Args:
        text: uint8; whole lines, the last with or without its end.
        classes: as :func:`byte_classes` returns them.
        tag: the byte that begins every line of values, or 0.
        columns: int64 kinds.
        lowest: smallest valid id.
        highest: largest valid id.
        lenient: skip wrong lines, and count them.
        fields: number of columns with which a comment line is counted as hidden; 0: none is.
        src: see :class:`ScanBuffers`.
        dst: see :class:`ScanBuffers`.
        integers: see :class:`ScanBuffers`.
        reals: see :class:`ScanBuffers`.
        late: see :class:`ScanBuffers`.

    Returns:
        Edges, lines, late numbers, True if every weight is an integer, lines skipped; then the error (``OK``), its
        column, the line's start and the token's start; then the number of hidden lines, and the number and the start
        of the first of them. On error ``lines`` includes the wrong line.
    """
    edges, lines, lates, integral, dropped = 0, 0, 0, True, 0
    hidden, hidden_line, hidden_start = 0, 0, 0
    at, last = 0, text.size - MARGIN  # before this position the fast path stays within the text
    while at < text.size:
        line = at
        lines += 1
        # Fast path: a line with its columns and nothing unusual. It is written inline because reference counting of
        # the arrays passed to a function would take longer than reading the line.
        plain, whole, here = at < last, True, at
        if plain and tag:
            plain = text[np.uintp(at)] == tag and classes[text[np.uintp(at + 1)]] == BLANK
            here += 2
        for column in range(columns.size if plain else 0):
            kind = columns[column]
            negative = text[np.uintp(here)] == 45 and (kind == INTEGER or kind == NUMBER or kind == ANY)  # noqa: SIM109
            here += negative
            value, places = digits_at(text, here)
            here += places
            plain = 0 < places <= 18
            if kind == SOURCE or kind == TARGET:  # noqa: SIM109 - one comparison each
                plain = plain and lowest <= value <= highest
                if kind == SOURCE:
                    src[edges] = value
                else:
                    dst[edges] = value
            elif kind == NUMBER or kind == INTEGER:  # noqa: SIM109
                real = float(value)
                if text[np.uintp(here)] == 46 and kind == NUMBER:
                    whole = False
                    part, power = digits_at(text, here + 1)
                    plain = plain and places + power <= 15  # beyond, the mantissa may pass 2^53
                    power = power if plain else 0
                    real = float(value * TENS[power] + part) / POWERS[power]
                    here += 1 + power
                plain = plain and value <= EXACT
                integers[edges], reals[edges] = (-value, -real) if negative else (value, real)
            elif kind == ANY:  # most often a number
                if text[np.uintp(here)] == 46:
                    here += 1 + digits_at(text, here + 1)[1]
            elif kind != WHOLE:
                plain = False
            if column < columns.size - 1:
                after = classes[text[np.uintp(here)]]
                plain = plain and (after == BLANK or after == DELIMITER)  # noqa: SIM109
                here += 1
            if not plain or here > last + MARGIN - 64:
                plain = False
                break
        if plain and text[np.uintp(here)] == 10:
            integral = integral and whole
            edges += 1
            at = here + 1
            continue
        at = blank_end(text, classes, at)
        end, carriage = line_end(text, at)
        wrong, column, token, late_start, late_end = OK, 0, at, 0, 0
        if carriage:
            wrong = CARRIAGE
        elif ends_line(text, classes, at) or _is_comment(text, classes, at):
            if fields and at < end and hides_fields(text[at:end], classes, fields):
                hidden_line, hidden_start = (hidden_line, hidden_start) if hidden else (lines, line)
                hidden += 1
            at = end + 1
            continue
        else:
            wrong, column, token, late_start, late_end, whole = _line(
                text, classes, at, tag, columns, lowest, highest, edges, src, dst, integers, reals
            )
        if wrong == OK:
            integral = integral and whole
            if late_end:
                late[lates, 0], late[lates, 1] = edges, lines
                late[lates, 2], late[lates, 3] = late_start, late_end
                lates += 1
            edges += 1
        elif lenient:
            dropped += 1
        else:
            return edges, lines, lates, integral, dropped, wrong, column, line, token, hidden, hidden_line, hidden_start
        at = end + 1
    return edges, lines, lates, integral, dropped, OK, 0, 0, 0, hidden, hidden_line, hidden_start
