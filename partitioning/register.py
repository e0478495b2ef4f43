"""The register of policies, and ``plan``, which looks one up and asks it."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partitioning.placement import Placement, PolicyError


@dataclass(frozen=True)
class Policy:
    """A way to place a graph: ``place(edges, comm) -> Placement``, collective."""

    name: str
    help: str
    place: Callable[..., Placement]


POLICIES: dict[str, Policy] = {}


def policy(name: str, help: str):
    """Decorator: register ``place(edges, comm) -> Placement`` under ``name``, with one line of help."""

    def register(place):
        POLICIES[name] = Policy(name, help, place)
        return place

    return register


def plan(name: str, edges, comm) -> Placement:
    """Place a graph by the policy of that name; collective.

    Args:
        name: a key of :data:`POLICIES`.
        edges: this rank's rows: anything with ``n, arcs, first, offsets, targets, directed`` as in
            ``dgraph.graph.block.EdgeBlock``.
        comm: the ranks: anything with the methods of ``dgraph.comm.Comm``.

    Raises:
        PolicyError: the name is unknown, or the policy cannot place this graph.
    """
    if name not in POLICIES:
        close = difflib.get_close_matches(name, POLICIES, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise PolicyError(f"unknown policy {name!r}: {hint}known are {', '.join(sorted(POLICIES))}")
    if comm.size == 1:
        return Placement("oec" if name == "auto" else name, "one rank holds everything", "outgoing", _rank_zero)
    return POLICIES[name].place(edges, comm)


def _rank_zero(gids: np.ndarray) -> np.ndarray:
    return np.zeros(len(gids), np.int32)
