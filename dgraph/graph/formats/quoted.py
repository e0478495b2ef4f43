"""Quoted fields of CSV as RFC 4180 has them: ``"a, b"`` is one field, and ``""`` in it stands for one quotation mark.

A quotation mark that is not the first character of a field is an ordinary character. A field ends on its line: ranks
read from any line on, so they cannot know whether a line break is inside quotes.
"""

from __future__ import annotations

import re

import numpy as np

from dgraph._support.compiled import njit
from dgraph.graph.formats.scan import BLANK, COMMENT, DELIMITER, OTHER, PADDING, ends_token, gap_end
from dgraph.graph.formats.sniff import words_of

QUOTE = 34
FAULT = (
    "a quotation mark is not closed on its line, or its field goes on after it (line breaks inside quotes are not read)"
)


def split_fields(line: str, separator: str) -> list[str]:
    """Split a line at the separator, and strip blanks around fields; at runs of blanks and tabs if it is "".

    Quoted fields come without their marks.
    """
    if '"' not in line or separator == '"':
        return [field.strip(" \t") for field in line.split(separator)] if separator else words_of(line)
    if separator:
        mark, pad = re.escape(separator), " *" if separator == "\t" else "[ \t]*"
        pattern = rf'(?:^|{mark}){pad}(?:"((?:[^"]|"")*)"{pad}(?={mark}|$)|([^{mark}]*))'
    else:
        pattern = r'"((?:[^"]|"")*)"(?=[ \t]|$)|([^ \t]+)'
    return [
        match[2].strip(" \t") if match[1] is None else match[1].replace('""', '"')
        for match in re.finditer(pattern, line)
    ]


def unquoted(text: np.ndarray, classes: np.ndarray, lenient: bool, inner_mark: int = 95) -> tuple[np.ndarray, int, int]:
    """Return text in which quoted fields are words: marks become blanks, blanks within become ``_``.

    Args:
        text: whole lines, uint8.
        classes: of bytes, as ``byte_classes`` returns them.
        lenient: blank wrong lines and count them.
        inner_mark: the byte that delimiters within quotes become.

    Returns:
        The text, of equal length; the start of the first wrong line, or the length; and the number of blanked lines.
    """
    if not (text == QUOTE).any():
        return text, text.size, 0
    plain = text.copy()
    return plain, *_unquote(text, classes, lenient, inner_mark, plain)


@njit(cache=True)
def _unquote(text, classes, lenient, inner_mark, plain):
    position, blanked = 0, 0
    while position < text.size:
        line, here = position, gap_end(text, position, text.size, 0)
        skip = here < text.size and classes[text[here]] == COMMENT
        inside, begins, wrong, start = False, True, False, here
        while here < text.size and text[here] != 10:
            kind = classes[text[here]]
            if skip:
                pass
            elif inside and text[here] == QUOTE:
                if here + 1 < text.size and text[here + 1] == QUOTE:
                    plain[here], plain[here + 1] = 95, 95
                    here += 1
                else:
                    inside, begins = False, False
                    plain[here] = 32
                    if here == start + 1:  # an empty field stays a column
                        plain[start], plain[here] = 95, 95
                    wrong = wrong or not ends_token(text, classes, here + 1)
            elif inside:
                if kind != OTHER:
                    plain[here] = inner_mark if kind == DELIMITER else 95
            elif text[here] == QUOTE and begins:
                inside, start, plain[here] = True, here, 32
            else:
                begins = kind in (BLANK, DELIMITER) or (begins and kind == PADDING)
            here += 1
        if inside or wrong:
            if not lenient:
                return line, blanked
            plain[line:here] = 32
            blanked += 1
        position = here + 1
    return text.size, blanked
