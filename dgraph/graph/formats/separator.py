"""The separator of an edge list: the one character between its columns, decided from the first lines.

:func:`separator_of` is the entry. Candidates are tab, comma, semicolon and pipe outside quotes; blanks count where none
of these occurs, and where every comma stands between two digits, because it may then be a decimal mark. A candidate
fits if all lines have the same number of columns, two or more. If two fit, the file is refused until the user decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dgraph.errors import DataError
from dgraph.graph.formats.decimal_marks import between_digits
from dgraph.graph.formats.quoted import split_fields
from dgraph.graph.formats.sniff import FileHead, shortened

MARKS = "\t,;|"
BLANKS = ""
"""Separator of columns between which stand runs of blanks and tabs."""
SPELLED = {"tab": "\t", "\\t": "\t"}
"""Words for separators that a command line cannot easily hold."""

_QUOTED = re.compile(rf'(^|[ {MARKS}])"(?:[^"]|"")*"(?=[ {MARKS}]|$)')
_GAP = re.compile("^[0-9]+ +[0-9]", re.MULTILINE)


def columns_of(line: str, separator: str) -> list[str]:
    """Split a line into its columns, without empty ones at its end."""
    fields = split_fields(line, separator)
    while fields and not fields[-1]:
        fields.pop()
    return fields


def names_of(line: str, separator: str) -> list[str]:
    """Split a header into names of columns; at another candidate if the separator of other lines is not in it."""
    splits = [split_fields(line, mark) for mark in (separator, *MARKS, BLANKS)]
    return next((names for names in splits if len(names) > 1), splits[0])


def separator_of(path: str, head: FileHead, decimal: str, gaps: bool, suffix: str = "") -> str:
    """Return the separator of a file's columns; :data:`BLANKS` for runs of blanks and tabs.

    The first line may be a header of another form: it counts only if some candidate fits with it.

    Args:
        path: the file.
        head: its first lines.
        decimal: the decimal mark.
        gaps: True if the first column is an integer, so that blanks after it end the column in a file with tabs, too.
        suffix: of the file's format; in a ``.tsv`` tabs come first.

    Raises:
        DataError: two candidates fit.
    """
    lines = [head.line, *head.following]
    below = lines[1:] or lines
    all_candidates, candidates = (_candidates(some, decimal, gaps) for some in (lines, below))
    fitting = [mark for mark in all_candidates if _share(lines, mark) == 1]
    fitting = fitting or [mark for mark in candidates if _share(below, mark) == 1]
    fitting = fitting or [mark for mark in candidates if _share(below, mark) > 0.5]
    if "\t" in fitting and suffix == ".tsv":
        return "\t"
    if len(fitting) > 1:
        raise _ambiguous(path, head, fitting, decimal)
    return fitting[0] if fitting else max(all_candidates, key=lambda mark: _share(lines, mark))


def _candidates(lines: Sequence[str], decimal: str, gaps: bool) -> list[str]:
    """Return the separators that may separate the columns of these lines, at least one."""
    bare = "\n".join(_QUOTED.sub(r'\1""', line) for line in lines)
    marks = [mark for mark in MARKS if mark in bare]
    if "\t" in marks and gaps and _GAP.search(bare) and _share(lines, BLANKS) == 1:
        marks.remove("\t")
    if not marks or (marks == [","] and between_digits(bare)):
        marks.append(BLANKS)
    if decimal == "," and any(_share(lines, mark) == 1 for mark in marks if mark != ","):
        marks = [mark for mark in marks if mark != ","]
    return marks


def _share(lines: Sequence[str], mark: str) -> float:
    """Return the share of lines that have the most frequent number of columns, if that is two or more."""
    counts = Counter(len(columns_of(line, mark)) for line in lines)
    columns, number = max(counts.items(), key=lambda entry: (entry[0] > 1, entry[1]))
    return number / len(lines) if columns > 1 else 0.0


def _ambiguous(path: str, head: FileHead, fitting: Sequence[str], decimal: str) -> DataError:
    first, second = fitting[:2]
    message = (
        f"{path}:{head.number}: got {shortened(head.line)!r}; its columns may be separated by {_spelled(first)} or by "
        f"{_spelled(second)}: say which it is, --separator {_word(first)} (separator={first or ' '!r}) or --separator "
        f"{_word(second)} (separator={second or ' '!r})"
    )
    text = "\n".join([head.line, *head.following])
    other = next((mark for mark in fitting if mark != ","), "")
    if "," in fitting and decimal == "." and re.search("[0-9],[0-9]", text):
        message += f"; if commas are decimal marks, say --separator {_word(other)} --decimal , (decimal=',')"
    return DataError(message)


def _spelled(mark: str) -> str:
    return {"\t": "tabs", BLANKS: "blanks"}.get(mark, repr(mark))


def _word(mark: str) -> str:
    return {"\t": "tab", BLANKS: "' '", ",": ","}.get(mark, repr(mark))
