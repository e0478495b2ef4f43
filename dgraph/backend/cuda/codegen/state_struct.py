"""One definition of a state of int64 words: a record for the host, a struct for kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def slots(names: Mapping[str, object], before: set[str], prefix: str = "") -> dict[str, int]:
    """Return the words of a state: member → position, of a module's constants that begin with ``prefix``.

    Args:
        names: name → value, of a module's constants so far.
        before: names that are not words.
        prefix: start of the words' names, which members lack.
    """
    words = {name: value for name, value in names.items() if name.isupper() and name not in before}
    words = {name: value for name, value in words.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix).lower(): value for name, value in words.items() if isinstance(value, int)}


def record(places: Mapping[str, int], words: int) -> np.dtype:
    """Return the record of a state; a member is as long as there are words up to the next, the last one to the end."""
    ends = [*[*places.values()][1:], words]
    counts = [end - place for place, end in zip(places.values(), ends, strict=True)]
    formats = [np.dtype((np.int64, (count,))) if count > 1 else np.dtype(np.int64) for count in counts]
    offsets = [8 * place for place in places.values()]
    return np.dtype({"names": [*places], "formats": formats, "offsets": offsets, "itemsize": 8 * words})


def struct(name: str, state: np.dtype) -> str:
    """Return a record as a struct in C++."""
    assert state.fields is not None
    members = {member: entry[0].shape for member, entry in state.fields.items()}
    lines = [f"    i64 {member}{f'[{shape[0]}]' if shape else ''};" for member, shape in members.items()]
    check = f'static_assert(sizeof({name}) == {state.itemsize}, "");'
    return "\n".join([f"struct {name} {{", *lines, "};", check, ""])
