"""Readers of edge lists in plain Python: separators, headers, hidden comments, integers and names.

They return what those of ``plain_readers.py`` return.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from plain_readers import (
    RefusedError,
    a_weight,
    an_id,
    are_counts,
    counts_of,
    ends_named,
    misplaced,
    not_most,
    opened,
    proportionate,
    text_lines,
    words_of,
)
from plain_readers import rows_of as integers

QUOTED = re.compile(r'(^|[\t,;| ])"(?:[^"]|"")*"(?=[\t,;| ]|$)')
NUMBER = "0123456789+-."


@dataclass
class Lines:
    """Lines of a file: those before the data, the first line of data, and those after it, which may be comments."""

    before: list[str] = field(default_factory=list)
    first: str = ""
    later: list[str] = field(default_factory=list)


def lines_of(content: bytes) -> Lines:
    """Split a file into lines; refuse a carriage return inside a line before or in the first line of data."""
    raw = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1").split("\n")
    lines = Lines()
    for place, line in enumerate(line.removesuffix("\r") for line in raw):
        if "\r" in line:
            raise RefusedError
        if line.strip(" \t") and line.strip(" \t")[0] not in "#%":
            rest = [line.removesuffix("\r") for line in raw[place + 1 :]]
            return Lines(lines.before, line.strip(" "), [line for line in rest if line.strip(" \t")])
        lines.before.append(line)
    raise RefusedError


def fields_of(line: str, separator: str) -> list[str]:
    """Split a line into columns; quoted columns come without their marks."""
    if not separator:
        return [match[1] or match[0] for match in re.finditer(r'"((?:[^"]|"")+)"(?=[ \t]|$)|[^ \t]+', line)]
    columns, rest = [], line
    while True:
        match = re.match(rf'[ \t]*"((?:[^"]|"")*)"[ \t]*(?={re.escape(separator)}|$)', rest)
        if match and separator != "\t":
            columns.append(match[1].replace('""', '"'))
            rest = rest[match.end() :]
        else:
            column, mark, end = rest.partition(separator)
            columns.append(column.strip(" \t"))
            rest = mark + end
        if not rest:
            return columns
        rest = rest[1:]


def unclosed(line: str, separator: str) -> bool:
    """Return True if a column begins with a quotation mark that its end does not close."""
    mark = re.escape(separator)
    begin, end = (rf"((?:^|{mark})[ \t]*)", rf"(?=[ \t]|{mark}|$)") if mark else (r"(^|[ \t])", r"(?=[ \t]|$)")
    return re.search(rf'{begin}"', re.sub(rf'{begin}"(?:[^"]|"")*"{end}', r"\1_", line)) is not None


def trimmed(columns: list[str]) -> list[str]:
    while columns and not columns[-1]:
        columns = columns[:-1]
    return columns


def share(lines: list[str], mark: str) -> float:
    counts = Counter(len(trimmed(fields_of(line, mark))) for line in lines)
    several = {columns: count for columns, count in counts.items() if columns > 1}
    return max(several.values(), default=0) / len(lines)


def candidates(lines: list[str], gaps: bool) -> list[str]:
    bare = [QUOTED.sub(r'\1""', line) for line in lines]
    marks = [mark for mark in "\t,;|" if any(mark in line for line in bare)]
    if "\t" in marks and gaps and any(re.match("[0-9]+ +[0-9]", line) for line in bare) and share(lines, "") == 1:
        marks.remove("\t")
    digits = all(re.sub("(?<=[0-9]),(?=[0-9])", "", line).count(",") == 0 for line in bare)
    return [*marks, ""] if not marks or (marks == [","] and digits) else marks


def separator_of(lines: list[str], gaps: bool, tabs_first: bool = False) -> str:
    below = lines[1:] or lines
    for some, enough in ((lines, 1), (below, 1), (below, 0.500001)):
        fitting = [mark for mark in candidates(some, gaps) if share(some, mark) >= enough]
        if "\t" in fitting and tabs_first:
            return "\t"
        if len(fitting) > 1:
            raise RefusedError
        if fitting:
            return fitting[0]
    return max(candidates(lines, gaps), key=lambda mark: share(lines, mark))


def header_of(line: str, separator: str) -> list[str]:
    splits = [fields_of(line, mark) for mark in (separator, "\t", ",", ";", "|", "")]
    return next((names for names in splits if len(names) > 1), splits[0])


def usual_of(rows: list[list[str]], skip: bool) -> int:
    """Return the most frequent number of columns, the earlier in a tie; ``skip``: the first row is a header."""
    counts = counts_of(rows[0])
    if len(rows) > 1 and (skip or (counts and len(rows) - 1 in counts[1:])):
        rows = rows[1:]
    sizes = [len(row) for row in rows]
    return max(sizes, key=sizes.count)


def places_of(names: list[str], usual: int) -> list[int]:
    """Return the columns of source, target and perhaps weight below a header."""
    misplaced(names)
    if usual > max(len(names), 2):
        raise RefusedError
    if usual < 3:
        return [0, 1]
    weights = [place for place, name in enumerate(names) if name.strip().lower() == "weight"]
    if ends_match(names):
        weights = [place for place in weights if place > 1]
        if len(weights) > 1:
            raise RefusedError
        return [0, 1, *weights]
    return table_places(names)


def table_places(names: list[str]) -> list[int]:
    """Return the columns of a table of these names."""
    small = [name.strip().lower() for name in names]
    names_of_ends = ("source", "src", "from", "u"), ("target", "destination", "dst", "to", "v")
    ends = [next((small.index(name) for name in some if name in small), None) for some in names_of_ends]
    weights = [place for place, name in enumerate(small) if name == "weight" and place not in ends]
    if None in ends:
        numbers = [re.fullmatch("(|column_?|col_?|_?c|f|v)([0-9]{1,9})", name) for name in small]
        same = all(numbers) and len({match[1] for match in numbers}) == 1
        if len(names) == 3 and same and [int(match[2]) for match in numbers] in ([0, 1, 2], [1, 2, 3]):
            return [0, 1, 2]
        ends = [place for place, name in enumerate(small) if name != "weight"][:2]
        weights = [place for place in weights if place not in ends]
        if len(names) not in (2, 3) or len(ends) < 2:
            raise RefusedError
    if len(weights) > 1:
        raise RefusedError
    return [*ends, *weights]


def ends_match(words: list[str]) -> bool:
    """Return True if the first two names are those of a source and a target."""
    sources, targets = ends_named(words)
    small = [re.sub("[^a-z0-9]", "", word.lower()) for word in words[:2]]
    numbered = len(small) == 2 and any(
        small == [stem + one, stem + two]
        for stem in ("node", "vertex", "id", "name")
        for one, two in ("12", "ab", "01", "ij")
    )
    return (0 in sources and 1 in targets) or numbered


def hides(line: str, separator: str, columns: int) -> bool:
    """Return True if a comment line has as many columns as the edges, and so may be one."""
    body = line.lstrip(" \t")[1:].removesuffix("\r")
    apart = not separator and body[:1] in (" ", "\t")
    words = words_of(body) if not separator else body.split(separator)
    if separator and not words[-1].strip(" \t"):
        words = words[:-1]
    count = len(words) == columns
    return count and (not apart or all(word[0] in "0123456789-" for word in words))


def hidden_before(lines: list[str], separator: str, columns: int, edges: int, vertices: int) -> int:
    hidden = 0
    for line in lines:
        text = line.lstrip(" \t")
        if not text.strip(" \t") or not hides(text, separator, columns):
            continue
        numbers = [int(number) for number in re.findall("[0-9]+", text)]
        if text[1:2] in (" ", "\t") and edges in numbers:
            numbers.remove(edges)
            if min(numbers, default=-1) >= vertices:
                continue
        names = fields_of(text[1:].strip(" \t"), separator)
        hidden += not ends_match(names)
    return hidden


def integer_row(row: list[str], places: list[int], columns: int) -> tuple:
    if len(row) != columns:
        raise RefusedError
    return (an_id(row[places[0]]), an_id(row[places[1]]), *(a_weight(row[place]) for place in places[2:]))


def name_row(row: list[str], places: list[int], columns: int) -> tuple:
    if len(row) != columns:
        raise RefusedError
    ends = [row[place] for place in places[:2]]
    if any(not 1 <= len(end) <= 255 or end[0] in "\"'" or "\0" in end for end in ends):
        raise RefusedError
    return (*ends, *(a_weight(row[place]) for place in places[2:]))


def rows_of(lines: list[str], separator: str, read, places: list[int], columns: int, passed: list | None) -> list:
    """Return the edges of lines, each with a weight."""
    edges = []
    for line in lines:
        try:
            if "\r" in line or (read is integer_row and unclosed(line, separator)):
                raise RefusedError
            edges.append(read(fields_of(line, separator), places, columns))
        except RefusedError:
            if passed is None:
                raise
            passed.append(line)
    return edges


def finished(edges: list[tuple], passed: list | None) -> list[tuple]:
    not_most(passed, edges)
    if not edges:
        raise RefusedError
    edges = [edge if len(edge) == 3 else (*edge, 1) for edge in edges]
    reals = any(isinstance(weight, float) for *_, weight in edges)
    return [(u, v, float(weight)) for u, v, weight in edges] if reals else edges


def plain_integers(content: bytes, passed=None, tabs_first: bool = False):
    """Read an edge list of integers."""
    lines = lines_of(content)
    data = [line for line in lines.later if line.lstrip(" \t")[0] not in "#%" or "\r" in line]
    sample = [lines.first, *(line.strip(" ") for line in data if "\r" not in line)]
    sample = [line for line in sample if line.lstrip(" \t")[0] not in "#%"]
    separator = separator_of(sample, True, tabs_first)
    names = header_of(lines.first, separator)
    named = not any(name[:1] and name[0] in NUMBER for name in names)
    rows = [fields_of(line, separator) if named else trimmed(fields_of(line, separator)) for line in sample]
    usual = usual_of(rows, named)
    places = places_of(names, usual) if named else [0, 1, 2] if usual > 2 else [0, 1]
    columns = (len(names) if max(places) >= usual else usual) if named else len(places)
    counts = counts_of(fields_of(lines.first, separator))
    rest = None if passed is None else []
    edges = rows_of(data, separator, integer_row, places, columns, rest) if named or counts else []
    if not named and not (counts and are_counts(counts, [(*edge, 1)[:3] for edge in edges], rest)):
        rest = None if passed is None else []
        edges = rows_of([lines.first, *data], separator, integer_row, places, columns, rest)
    high = max((end for edge in edges for end in edge[:2]), default=-1)
    edges = finished(edges, rest)
    if passed is not None:
        passed += rest
    hidden = sum(
        hides(line, separator, usual) for line in lines.later if line.lstrip(" \t")[0] in "#%" and "\r" not in line
    )
    return True, None, edges, hidden + hidden_before(lines.before, separator, usual, len(edges), high)


def plain_fixed(content: bytes, passed=None, columns: int = 2):
    """Read an edge list of a number of columns; ids are 0 … n-1."""
    edges, hidden = fixed_rows(content, columns, passed, integers)
    n = max(max(u, v) for u, v, _ in edges) + 1
    proportionate(n, len(edges))
    return True, range(n), edges, hidden


def plain_cedge(content: bytes, passed=None):
    """Read edges behind their numbers; the vertices are the ids that occur."""

    def row(line):
        number, *rest = re.split(r"[ \t]+", line, maxsplit=1)
        an_id(number)
        return (*rest, "?")[0]

    def read(some, _columns, passed):
        return integers(some, 3, passed=passed, row=row)

    return True, None, *fixed_rows(content, 4, passed, read, (1, 2))


def fixed_rows(content: bytes, columns: int, passed: list | None, read, ends=(0, 1)) -> tuple[list, int]:
    """Return the edges that ``read(lines, columns, passed=…)`` returns, and the number of hidden comments."""
    lines = lines_of(content)
    words = list(text_lines(content, "#%"))
    edges = opened(
        words, [words_of(line) for line in words], "", lambda some, rest: read(some, columns, passed=rest), passed, ends
    )
    high = max(max(u, v) for u, v, _ in edges)
    hidden = sum(hides(line, "", columns) for line in lines.later if line.lstrip(" \t")[0] in "#%" and "\r" not in line)
    return edges, hidden + hidden_before(lines.before, "", columns, len(edges), high)


def plain_named(content: bytes, passed=None, tabs_first: bool = False):
    """Read edges between words; the vertices are all words in ascending order."""
    lines = lines_of(content)
    sample = [lines.first, *(line.strip(" ") for line in lines.later if "\r" not in line)]
    separator = separator_of(sample, False, tabs_first)
    words = fields_of(lines.first, separator)
    below = [row[2] for line in sample[1:] if len(row := fields_of(line, separator)) > 2]
    numbers = sum(is_number(word) for word in below)
    titled = len(words) > 2 and words[2] != "" and not is_number(words[2]) and 2 * numbers > len(below)
    named = titled or ends_match(words)
    names = header_of(lines.first, separator) if named else []
    split = fields_of if named else lambda line, mark: trimmed(fields_of(line, mark))
    usual = usual_of([split(line, separator) for line in sample], named)
    if not named and usual not in (2, 3):
        raise RefusedError
    places = places_of(names, usual) if named else [0, 1, 2][:usual]
    columns = (len(names) if max(places) >= usual else usual) if named else usual
    rest = None if passed is None else []
    edges = rows_of(lines.later, separator, name_row, places, columns, rest)
    ends, lines_after = {end for edge in edges for end in edge[:2]}, len(edges) + len(rest or ())
    n, *numbers = counts_of(words) or [0]
    if named and any(words[place] in ends for place in places[:2]):
        raise RefusedError
    if not named and not (lines_after and lines_after in numbers and n == len(ends)):
        edges += rows_of([lines.first], separator, name_row, places, columns, rest)
    edges = finished(edges, rest)
    if passed is not None:
        passed += rest
    vertices = sorted({end for u, v, _ in edges for end in (u, v)})
    number = {name: place for place, name in enumerate(vertices)}
    hidden = hidden_before(lines.before, separator, usual, len(edges), len(vertices))
    return (
        True,
        [name.encode("latin-1") for name in vertices],
        [(number[u], number[v], weight) for u, v, weight in edges],
        hidden,
    )


def is_number(word: str) -> bool:
    """Return True if the word begins like a number, or is one."""
    if word[:1] and word[0] in NUMBER:
        return True
    try:
        a_weight(word)
    except RefusedError:
        return False
    return True
