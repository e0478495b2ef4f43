"""Names that users of NetworkX, igraph, cuGraph and pandas try first, and what has their place here.

``dgraph``, ``Graph`` and ``Result`` end an ``AttributeError`` with :func:`hint`. ``peer_names.json`` has expressions
and the names that they stand for, of attributes of a graph or module, and of a result. Parameters are in ``errors.py``.
"""

import json
from functools import cache
from inspect import getattr_static
from pathlib import Path
from typing import Any

from dgraph._support.function_names import ALIASES, FUNCTIONS
from dgraph.errors import other_method


@cache
def expressions(kind: str) -> dict[str, str]:
    """Return name elsewhere → expression here, for attributes of a "graph" or a "result"."""
    table = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))[kind]
    return {name: here.replace("NAME", name) for here, names in table.items() for name in names.split()}


def hint(name: str, kind: str = "graph") -> str:
    """Return the end of a message about an attribute that is not there: "; …", or "" for unknown names.

    Args:
        name: the attribute.
        kind: "graph" (also for ``dgraph`` and ``Graph``) or "result".
    """
    if name.startswith("__"):
        return ""
    here = expressions(kind).get(name)
    if here is None and kind == "graph":
        if name in FUNCTIONS or name in ALIASES:
            here = f"dgraph.{name}(graph)"
        elif other := other_method(name):
            return f"; {other}"
    return "" if here is None else f"; there is {here}"


def descriptor_of(owner: object, name: str) -> Any:
    """Return the property ``name`` of an object's class, None if there is none.

    ``__getattr__`` reads it again: Python calls it, too, where a property raised ``AttributeError``, whose message is
    lost by then.
    """
    attribute = getattr_static(type(owner), name, None)
    return attribute if hasattr(type(attribute), "__get__") else None
