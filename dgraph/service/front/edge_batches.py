"""Batches of edges: rows of JSON → the Arrow file of the operation ``change``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dgraph.service.front.problem_documents import Problem


def write(add: Sequence[Sequence[Any]], remove: Sequence[Sequence[Any]], path: Path) -> None:
    """Write a batch as an Arrow file with the columns source, target, weight and remove.

    Args:
        add: rows [source, target] or [source, target, weight].
        remove: rows [source, target].
        path: the file.

    Raises:
        Problem: 422 if there is no row, or the rows differ in kind.
    """
    import pyarrow

    if not add and not remove:
        raise Problem(422, "got no edges; give rows [source, target] or [source, target, weight] in add, or in remove")
    if len({len(row) for row in add}) > 1:
        raise Problem(422, "got edges with and without a weight in add; give all of them one, or none")
    ends = [end for row in (*add, *remove) for end in row[:2]]
    kind = str if isinstance(ends[0], str) else int
    if any(type(end) is not kind for end in ends):
        raise Problem(422, "the ends of edges are integers or words, all of one kind; a weight is a third number")
    weights = [row[2] for row in add if len(row) > 2]
    if any(isinstance(weight, (str, bool)) for weight in weights):
        raise Problem(422, "got a weight that is not a number; give a third number, or none, in each row of add")
    columns = {
        "source": pyarrow.array(ends[::2]),
        "target": pyarrow.array(ends[1::2]),
        "remove": pyarrow.array([False] * len(add) + [True] * len(remove)),
    }
    try:
        if weights:
            columns["weight"] = pyarrow.array([*weights, *[None] * len(remove)])
    except pyarrow.ArrowException as error:
        raise Problem(422, f"the weights are not numbers of one kind: {error}") from None
    table = pyarrow.table(columns)
    with pyarrow.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
