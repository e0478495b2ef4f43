"""Register of policies and their options. :func:`policy` registers, :func:`choose` parses, :func:`plan` places."""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from partitioning.placement import Placement, PolicyError


@dataclass(frozen=True)
class Option:
    """One option of a policy, from its function's signature."""

    name: str
    type: type
    default: Any
    choices: tuple[str, ...] = ()

    def value(self, text: str) -> Any:
        """Convert a command line's text to a value; raise ValueError if it is invalid."""
        if self.choices and text not in self.choices:
            raise ValueError
        if self.type is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[text.lower()]
        return self.type(text)

    def __str__(self) -> str:
        return f"{self.name}={'|'.join(self.choices) or self.default}"


@dataclass(frozen=True)
class Policy:
    """Registered policy: ``place(edges, parts, comm, **options) -> Placement``, collective."""

    name: str
    help: str
    place: Callable[..., Placement]
    options: Mapping[str, Option]

    def __str__(self) -> str:
        return ",".join([self.name, *map(str, self.options.values())])


@dataclass(frozen=True)
class Chosen:
    """Policy with the options given for it."""

    policy: Policy
    given: Mapping[str, Any]

    def __str__(self) -> str:
        return ",".join([self.policy.name, *(f"{name}={value}" for name, value in self.given.items())])


POLICIES: dict[str, Policy] = {}


def policy(name: str, help: str):
    """Register ``place(edges, parts, comm, *, option=default, …) -> Placement`` under ``name``; a decorator.

    The keyword-only parameters are the policy's options: annotate them ``int``, ``float``, ``bool``, ``str`` or
    ``Literal["one", "other"]``.

    Args:
        name: of the policy.
        help: one line.
    """

    def register(place):
        POLICIES[name] = Policy(name, help, place, _options(place))
        return place

    return register


def choose(text: str) -> Chosen:
    """Return the policy that ``NAME[,option=value…]`` names; ``NAME`` is registered, or ``MODULE:NAME`` and imported.

    Raises:
        PolicyError: an unknown policy, option or value; the text lists the known ones.
    """
    name, *words = text.split(",")
    policy = _imported(name) if ":" in name else POLICIES.get(name)
    if policy is None:
        raise PolicyError(f"unknown policy {name!r}: {_known(name, POLICIES)}, or MODULE:NAME for one of your own")
    values: dict[str, Any] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key not in policy.options:
            cause = f"{_known(key, policy.options)}; write {name},option=value" if policy.options else "it has none"
            raise PolicyError(f"policy {name!r} has no option {key!r}: {cause}")
        if key in values:
            raise PolicyError(f"policy {name!r}: {key} is given twice, as {values[key]} and {value}; give it once")
        option = policy.options[key]
        try:
            values[key] = option.value(value)
        except (ValueError, KeyError):
            wanted = " or ".join(option.choices) or {"int": "an integer", "float": "a number", "bool": "1 or 0"}.get(
                option.type.__name__, "text"
            )
            raise PolicyError(f"policy {name!r}: {word!r} is not valid; {key} is {wanted}") from None
    return Chosen(policy, values)


def plan(name: str, edges, parts: int, comm) -> Placement:
    """Place a graph by the policy of that name; collective.

    Args:
        name: ``NAME[,option=value…]``, see :func:`choose`.
        edges: this rank's rows: anything with ``n, arcs, first, offsets, targets, directed`` as in
            ``dgraph.graph.block.EdgeBlock``.
        parts: number of parts, 1 or more; one a rank for a run, any number for a store.
        comm: the ranks: anything with the methods of ``dgraph.comm.Comm``.

    Raises:
        PolicyError: the name or an option is unknown, or the policy cannot place this graph.
    """
    chosen = choose(name)
    if parts < 1:
        raise PolicyError(f"got {parts} parts; a graph has 1 or more")
    if parts == 1:
        taken = "oec" if chosen.policy.name == "auto" else chosen.policy.name
        return Placement(taken, "outgoing", 1, _part_zero, reason="one rank holds everything")
    placement = chosen.policy.place(edges, parts, comm, **chosen.given)
    return replace(placement, policy=str(chosen)) if placement.policy == chosen.policy.name else placement


def _part_zero(gids: np.ndarray) -> np.ndarray:
    return np.zeros(len(gids), np.int32)


def _options(place: Callable[..., Placement]) -> dict[str, Option]:
    hints = get_type_hints(place)
    options = {}
    for parameter in inspect.signature(place).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            kind = hints.get(parameter.name, type(parameter.default))
            choices = get_args(kind) if get_origin(kind) is Literal else ()
            options[parameter.name] = Option(parameter.name, str if choices else kind, parameter.default, choices)
    return options


def _imported(name: str) -> Policy:
    """Import the policy ``MODULE:NAME``: a function of that module, or the policy it registered under that name."""
    module, _, member = name.partition(":")
    try:
        place = getattr(importlib.import_module(module), member, None)
    except ImportError as error:
        advice = "start where it can, or set PYTHONPATH"
        if module.endswith(".py"):
            advice = f"name the module, not the file: {Path(module).stem}:{member}, from its folder or with PYTHONPATH"
        raise PolicyError(f"policy {name!r}: {module} cannot be imported ({error}); {advice}") from error
    registered = [policy for policy in POLICIES.values() if place is not None and policy.place is place]
    if registered or member in POLICIES:
        return registered[0] if registered else POLICIES[member]
    if not callable(place):
        raise PolicyError(
            f"policy {name!r}: {module} has no function {member!r}; write one that takes (edges, parts, comm)"
        )
    return Policy(name, (inspect.getdoc(place) or "").partition("\n")[0], place, _options(place))


def _known(name: str, names) -> str:
    close = difflib.get_close_matches(name, names, 1)
    return (f"did you mean {close[0]!r}? " if close else "") + f"known are {', '.join(sorted(names))}"
