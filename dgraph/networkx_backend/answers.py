"""Register of the NetworkX functions that the backend answers, and the arguments for which it declines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

FUNCTIONS: dict[str, Callable] = {}
"""Name of a NetworkX function → the function that answers it."""

WEIGHTS = ("weight", "distance")
"""Parameters that name an edge attribute, or are a function of an edge, which the engine cannot call."""

_declines: dict[str, Callable[[Mapping[str, Any]], str | None]] = {}
_signatures: dict[str, inspect.Signature] = {}


def answers(function: Callable | None = None, *, declines: Callable[[Mapping[str, Any]], str | None] | None = None):
    """Register a function under its name; decorator, with or without arguments.

    Args:
        function: the function, with the parameters of NetworkX's function of that name.
        declines: arguments that were given, by name → the reason to decline them, or None.
    """

    def register(function: Callable) -> Callable:
        name = function.__name__
        FUNCTIONS[name] = function
        _signatures[name] = inspect.signature(function)
        if declines is not None:
            _declines[name] = declines
        return function

    return register if function is None else register(function)


def can_run(name: str, args: tuple, kwargs: Mapping[str, Any]) -> bool | str:
    """Return True if the backend answers this call, else the reason why not; NetworkX calls it."""
    if name not in FUNCTIONS:
        return f"dgraph has no {name}"
    try:
        given = _signatures[name].bind(*args, **kwargs).arguments
    except TypeError as wrong:
        return f"dgraph's {name} has other parameters: {wrong}"
    for key in WEIGHTS:
        if callable(given.get(key)):
            return f"{key}= is a function; the engine reads weights from an edge attribute"
    reason = _declines[name](given) if name in _declines else None
    return reason or True
