"""Register of the NetworkX functions that the backend answers, and the arguments for which it declines."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from typing import Any

import networkx as nx
from networkx.utils.backends import _registered_algorithms

from dgraph.networkx_backend.nodes_given import NotANode

NETWORKX = tuple(map(int, nx.__version__.split(".")[:2]))
"""Version of NetworkX, by which the types of some results differ."""

FUNCTIONS: dict[str, Callable] = {}
"""Name of a NetworkX function → the function that answers it."""

WEIGHTS = ("weight", "distance", "capacity")
"""Parameters that name an edge attribute, or are a function of an edge, which the engine cannot call."""

BUNCHES = ("nbunch", "nodes", "sources", "targets", "v", "ebunch", "top_nodes")
"""Parameters that hold several nodes, or pairs; an iterator is listed: NetworkX's function may read it after ours."""

_declines: dict[str, Callable[[Mapping[str, Any]], str | None]] = {}
_signatures: dict[str, inspect.Signature] = {}


def answers(function: Callable | None = None, *, declines: Callable[[Mapping[str, Any]], str | None] | None = None):
    """Register a function under its name; decorator, with or without arguments.

    Args:
        function: the function, with the parameters of NetworkX's function of that name.
        declines: arguments by name, with defaults → the reason to decline them, or None. NetworkX's call of the
            function then raises ``NotImplementedError``.
    """

    def register(function: Callable) -> Callable:
        name = function.__name__

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            arguments = _named(name, args, kwargs)
            reason = _reason(name, arguments)
            if reason:
                raise NotImplementedError(reason)
            try:
                return function(**arguments)
            except NotANode:
                return _theirs(name, arguments)

        FUNCTIONS[name] = called
        _signatures[name] = inspect.signature(function)
        if declines is not None:
            _declines[name] = declines
        return function

    return register if function is None else register(function)


def declined(name: str, args: tuple, kwargs: Mapping[str, Any]) -> str | None:
    """Return the reason why the backend does not answer a call of one of its functions, or None."""
    return _reason(name, _named(name, args, kwargs))


def graph_of(name: str, args: tuple, kwargs: Mapping[str, Any]) -> Any:
    """Return the graph of a call, the first parameter of every function."""
    return args[0] if args else kwargs[_parameters(_registered_algorithms[name].orig_func)[0][0]]


def not_given(*names: str) -> Callable[[Mapping[str, Any]], str | None]:
    """Return a check that declines results of a search, which leave the engine nothing to compute."""

    def check(arguments: Mapping[str, Any]) -> str | None:
        declined = next((name for name in names if arguments.get(name) is not None), None)
        return None if declined is None else f"{declined}= is given, so the engine has nothing to compute"

    return check


def _theirs(name: str, all_arguments: Mapping[str, Any]) -> Any:
    """Return what NetworkX's function returns, or raise what it raises."""
    function = _registered_algorithms[name].orig_func
    theirs, _ = _parameters(function)
    arguments = {key: value for key, value in all_arguments.items() if key in theirs}
    graph = theirs[0]
    return function(**arguments | {graph: all_arguments[graph].original()})


def _named(name: str, args: tuple, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments by name, with NetworkX's defaults for parameters that dgraph's function has too."""
    theirs, defaults = _parameters(_registered_algorithms[name].orig_func)
    ours = _signatures[name].parameters
    named = {**defaults, **dict(zip(theirs, args, strict=False)), **kwargs}
    return {
        key: list(value) if key in BUNCHES and isinstance(value, Iterator) else value
        for key, value in named.items()
        if key in ours or key not in defaults or value is not defaults[key]
    }


@cache
def _parameters(function: Callable) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the parameters of a NetworkX function, and the defaults of those that have one."""
    theirs = inspect.signature(function).parameters
    return tuple(theirs), {key: p.default for key, p in theirs.items() if p.default is not p.empty}


def _reason(name: str, arguments: Mapping[str, Any]) -> str | None:
    try:
        _signatures[name].bind(**arguments)
    except TypeError as wrong:
        return f"dgraph's {name} has other parameters: {wrong}"
    for key in WEIGHTS:
        if callable(arguments.get(key)):
            return f"{key}= is a function; the engine reads weights from an edge attribute"
    return _declines[name](arguments) if name in _declines else None
