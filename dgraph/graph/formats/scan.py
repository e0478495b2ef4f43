"""Parse lines of text in one strict pass: columns of integers and numbers, exact to the last bit.

:func:`scan` is independent of files. It takes whole lines, and returns values or the position of the first line that
violates the columns' kinds. A fast path handles plain lines; :func:`_line` handles every other.
"""

from __future__ import annotations

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.formats.column import EXACT
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
        src, dst, integers: int64 (lines,); ``reals``: float64 (lines,).
        late: int64 (lines, 4): (edge, line, start, end) of numbers that the scan cannot round exactly.
    """

    def __init__(self, lines: int, weighted: bool):
        self.lines = lines
        self.src, self.dst = np.empty(lines, np.int64), np.empty(lines, np.int64)
        lines = lines if weighted else 0
        self.integers, self.reals = np.empty(lines, np.int64), np.empty(lines)
        self.late = np.empty((lines, 4), np.int64)


@njit(no_cpython_wrapper=True, forceinline=True)
def blank_end(text, classes, position):
    """Return the position of the first byte from ``position`` on that is neither blank nor padding."""
    while position < text.size and (classes[text[position]] == BLANK or classes[text[position]] == PADDING):
        position += 1
    return position


@njit(no_cpython_wrapper=True)
def gap_end(text, position, end, separator):
    """Return the first position from ``position`` on that is neither a blank nor a tab, or is the separator."""
    while position < end and (text[position] == 32 or text[position] == 9) and text[position] != separator:
        position += 1
    return position


@njit(no_cpython_wrapper=True, forceinline=True)
def ends_line(text, classes, position):
    r"""Return True if the line or the text ends at ``position``: ``\n``, or ``\r`` before it."""
    if position >= text.size or classes[text[position]] == LINE_FEED:
        return True
    return classes[text[position]] == RETURN and (position + 1 == text.size or classes[text[position + 1]] == LINE_FEED)


@njit(no_cpython_wrapper=True, forceinline=True)
def ends_token(text, classes, position):
    """Return True if a token ends at ``position``: blank, padding, delimiter, or end of the line."""
    return ends_field(text, classes, position) or classes[text[position]] == PADDING


@njit(no_cpython_wrapper=True, forceinline=True)
def ends_field(text, classes, position):
    """Return True if a column ends at ``position``: blank, delimiter, or end of the line."""
    if position >= text.size:
        return True
    kind = classes[text[position]]
    return kind in (BLANK, DELIMITER) or ends_line(text, classes, position)


@njit(no_cpython_wrapper=True, forceinline=True)
def line_end(text, position):
    r"""Return the position of the next line feed or the text's end; and True if a ``\r`` stands elsewhere before it."""
    carriage = False
    while position < text.size and text[position] != 10:
        carriage = carriage or (text[position] == 13 and position + 1 < text.size and text[position + 1] != 10)
        position += 1
    return position, carriage


@njit(cache=True)
def hides_fields(line, classes, fields):
    """Return True if a comment line has as many columns as the data, and so may be an edge.

    Prose behind a mark and a blank is none in a file whose columns are separated by blanks; numbers are.

    Args:
        line: uint8, from the mark on.
        classes: as :func:`byte_classes` returns them.
        fields: columns of the data.
    """
    position = blank_end(line, classes, 1)
    apart = position > 1 and classes[line[1]] == BLANK
    count, numbers, begins = 0, True, True
    while position < line.size and not ends_line(line, classes, position):
        kind = classes[line[position]]
        if kind == DELIMITER:
            count += begins
            begins = True
        elif kind == BLANK:
            begins = True
        elif begins and kind != PADDING:
            count += 1
            begins = False
            numbers = numbers and (np.uint8(48) <= line[position] <= np.uint8(57) or line[position] == 45)
        position += 1
    return count == fields and (not apart or numbers)


@njit(no_cpython_wrapper=True, forceinline=True)
def _is_comment(text, classes, position):
    kind = classes[text[position]]
    return kind == COMMENT or (kind == COMMENT_WORD and ends_token(text, classes, position + 1))


@njit(no_cpython_wrapper=True, forceinline=True)
def digits(text, position):
    """Return (value, end) of the digits from ``position`` on; value -1 if it exceeds 2^63 - 1."""
    value = np.int64(0)
    while position < text.size and np.uint8(48) <= text[position] <= np.uint8(57):
        digit = np.int64(text[position]) - 48
        if value >= 0:
            if value > LARGEST // 10 or (value == LARGEST // 10 and digit > 7):
                value = np.int64(-1)
            else:
                value = value * 10 + digit
        position += 1
    return value, position


@njit(no_cpython_wrapper=True)
def infinite_end(text, position):
    """Return the end of ``inf`` or ``infinity``, in any letter case, that begins here; else ``position``."""
    end = position
    while end < text.size and end - position < INFINITY.size and text[end] | 32 == INFINITY[end - position]:
        end += 1
    return end if end - position == 8 else position + 3 if end - position >= 3 else position


@njit(no_cpython_wrapper=True)
def number(text, position):
    """Parse a number: (whole, integer, value, exact, end).

    The value is ``integer`` if ``whole``, else the double ``value``, correctly rounded if ``exact``. The end is
    ``position`` if no number begins there.
    """
    start = position
    negative = position < text.size and text[position] == 45
    if position < text.size and (text[position] == 45 or text[position] == 43):
        position += 1
    begin = position
    end = infinite_end(text, position)
    if end > position:
        return False, np.int64(0), -np.inf if negative else np.inf, True, end
    integer, position = digits(text, position)
    places = position - begin
    mantissa, exponent = integer, np.int64(0)
    whole = integer >= 0
    if position < text.size and text[position] == 46:
        whole = False
        position += 1
        point = position
        while position < text.size and np.uint8(48) <= text[position] <= np.uint8(57):
            if mantissa >= 0:
                mantissa = mantissa * 10 + (np.int64(text[position]) - 48) if mantissa < EXACT else np.int64(-1)
            position += 1
        exponent = point - position
        places += position - point
    if places == 0:
        return False, np.int64(0), 0.0, True, start
    if position < text.size and (text[position] == 101 or text[position] == 69):
        whole = False
        mark = position
        position += 1
        down = position < text.size and text[position] == 45
        if position < text.size and (text[position] == 45 or text[position] == 43):
            position += 1
        begin = position
        power, position = digits(text, position)
        if position == begin:
            return False, np.int64(0), 0.0, True, mark
        power = LARGEST // 2 if power < 0 or power > LARGEST // 2 else power
        exponent += -power if down else power
    exact = 0 <= mantissa <= EXACT and -22 <= exponent <= 22
    value = 0.0
    if exact:
        value = float(mantissa) / POWERS[-exponent] if exponent < 0 else float(mantissa) * POWERS[exponent]
        value = -value if negative else value
    return whole, -integer if negative else integer, value, exact, position


@njit(no_cpython_wrapper=True)
def _line(text, classes, position, tag, columns, lowest, highest, edge, src, dst, integers, reals):
    """Read a line of values in any valid form.

    Returns:
        The error (``OK``), its column and the position of its token; the token of a number that is not yet rounded
        (start and end, 0 and 0 if there is none); True if the weight is an integer.
    """
    whole, late_start, late_end = True, 0, 0
    if tag:
        if text[position] != tag or not ends_token(text, classes, position + 1):
            return TAG, 0, position, 0, 0, whole
        position = blank_end(text, classes, position + 1)
    for column in range(columns.size):
        kind = columns[column]
        if kind == REST:
            return OK, 0, position, late_start, late_end, whole
        delimited = False
        if column:
            gap = position
            position = blank_end(text, classes, position)
            delimited = position < text.size and classes[text[position]] == DELIMITER
            if delimited:
                position = blank_end(text, classes, position + 1)
            elif position > gap and classes[text[gap]] == PADDING and not ends_line(text, classes, position):
                return SPLIT, column - 1, gap, 0, 0, whole
        if ends_line(text, classes, position):
            if kind == ANY and delimited:
                continue
            return MISSING, column, position, 0, 0, whole
        if classes[text[position]] == DELIMITER:
            if kind == ANY:
                continue
            return EMPTY, column, position, 0, 0, whole
        start = position
        if kind == ANY:
            while not ends_field(text, classes, position):
                position += 1
        elif kind in (INTEGER, NUMBER):
            whole, integer, value, exact, position = number(text, position)
            if position == start or not ends_token(text, classes, position):
                return WORD, column, start, 0, 0, whole
            if kind == INTEGER and not whole:
                return FRACTION, column, start, 0, 0, whole
            integers[edge], reals[edge] = integer, value
            if not exact:
                late_start, late_end = start, position
        else:
            value, position = digits(text, position)
            if position == start or not ends_token(text, classes, position):
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
    position = blank_end(text, classes, position)
    if not ends_line(text, classes, position):
        return EXTRA, columns.size, position, 0, 0, whole
    return OK, 0, position, late_start, late_end, whole


@njit(cache=True, nogil=True)
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
        of the first of them; and True if every weight beside the late numbers is an integer. On error ``lines``
        includes the wrong line.
    """
    edges, lines, lates, integral, early, dropped = 0, 0, 0, True, True, 0
    hidden, hidden_line, hidden_start = 0, 0, 0
    position, last = 0, text.size - MARGIN  # before this position the fast path stays within the text
    while position < text.size:
        line = position
        lines += 1
        # Fast path: a line with its columns and nothing unusual. It is written inline because reference counting of
        # the arrays passed to a function would take longer than reading the line.
        plain, whole, here = position < last, True, position
        if plain and tag:
            plain = text[np.uintp(position)] == tag and classes[text[np.uintp(position + 1)]] == BLANK
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
            integral, early = integral and whole, early and whole
            edges += 1
            position = here + 1
            continue
        position = blank_end(text, classes, position)
        end, carriage = line_end(text, position)
        wrong, column, token, late_start, late_end = OK, 0, position, 0, 0
        mark = gap_end(text, position, end, 0)  # tabs that separate columns, too
        if carriage:
            wrong = CARRIAGE
        elif ends_line(text, classes, mark) or _is_comment(text, classes, mark):
            if fields and mark < end and hides_fields(text[mark:end], classes, fields):
                hidden_line, hidden_start = (hidden_line, hidden_start) if hidden else (lines, line)
                hidden += 1
            position = end + 1
            continue
        else:
            wrong, column, token, late_start, late_end, whole = _line(
                text, classes, position, tag, columns, lowest, highest, edges, src, dst, integers, reals
            )
        if wrong == OK:
            integral, early = integral and whole, early and (whole or late_end > 0)
            if late_end:
                late[lates, 0], late[lates, 1] = edges, lines
                late[lates, 2], late[lates, 3] = late_start, late_end
                lates += 1
            edges += 1
        elif lenient:
            dropped += 1
        else:
            return (
                edges, lines, lates, integral, dropped, wrong, column, line, token, hidden, hidden_line, hidden_start,
                early,
            )  # fmt: skip
        position = end + 1
    return edges, lines, lates, integral, dropped, OK, 0, 0, 0, hidden, hidden_line, hidden_start, early
