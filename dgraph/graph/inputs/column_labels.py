"""Find the column of a data frame that a user names: by its label, of any type, else by its position from 0."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dgraph._support.arguments import is_integer
from dgraph.errors import UsageError, shown, unknown


def labelled_column(name: str, wanted: Any, labels: Sequence[Any]) -> int:
    """Return the position of a column.

    A label counts before a position: an integer is a position only where no column has it as label, and a float or a
    boolean never is one.

    Args:
        name: of the argument, such as ``"source"``.
        wanted: a label or a position.
        labels: of all columns.

    Raises:
        UsageError: no column, or more than one, fits.
    """
    places = [place for place, label in enumerate(labels) if _is_same(label, wanted)]
    position = int(wanted) if is_integer(wanted) and 0 <= wanted < len(labels) else None
    if not places and isinstance(wanted, str):  # "0" for a label that is the integer 0
        places = [place for place, label in enumerate(labels) if not isinstance(label, str) and str(label) == wanted]
    if len(places) > 1:
        raise UsageError(f"{name}: {len(places)} columns are called {shown(wanted)}; rename all but one")
    if places and position not in (None, places[0]):
        raise UsageError(
            f"{name} = {wanted} fits two columns: {places[0]} has this label, and {position} this position (from 0); "
            "rename the columns, such as by df.columns = ['source', 'target']"
        )
    if places:
        return places[0]
    if position is not None:
        return position
    if isinstance(wanted, str):
        refused = unknown(f"column for {name}", wanted, map(str, labels))
        raise UsageError(f"{refused}; give {name}= the label of its column (reset_index() makes one of an index)")
    raise UsageError(
        f"{name} = {shown(wanted)} is not valid: no column has this label, nor this position (an integer from 0); "
        f"columns are {', '.join(shown(label) for label in labels)}"
    )


def _is_same(label: Any, wanted: Any) -> bool:
    """Return True if two labels are equal; True and 1 are not."""
    if label is wanted:
        return True
    if not isinstance(wanted, Hashable) or isinstance(label, (bool, np.bool_)) != isinstance(wanted, (bool, np.bool_)):
        return False
    with suppress(Exception):  # whatever the comparison of foreign types raises, they are not equal
        equal = label == wanted
        return isinstance(equal, (bool, np.bool_)) and bool(equal)
    return False
