"""Register of the NetworkX functions that the backend answers, and the arguments for which it declines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
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
        declines: arguments that were given, by name → the reason to decline them, or None. NetworkX's call of the
            function then raises ``NotImplementedError``.
    """

    def register(function: Callable) -> Callable:
        name = function.__name__

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            reason = declined(name, args, kwargs)
            if reason:
                raise NotImplementedError(reason)
            return function(*args, **kwargs)

        FUNCTIONS[name] = called
        _signatures[name] = inspect.signature(function)
        if declines is not None:
            _declines[name] = declines
        return function

    return register if function is None else register(function)


def declined(name: str, args: tuple, kwargs: Mapping[str, Any]) -> str | None:
    """Return the reason why the backend does not answer a call of one of its functions, or None."""
    try:
        given = _signatures[name].bind(*args, **kwargs).arguments
    except TypeError as wrong:
        return f"dgraph's {name} has other parameters: {wrong}"
    for key in WEIGHTS:
        if callable(given.get(key)):
            return f"{key}= is a function; the engine reads weights from an edge attribute"
    return _declines[name](given) if name in _declines else None
