"""The algorithm that a call asks for, with its parameters, and what a call cannot ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgraph._support.arguments import refused, text
from dgraph.algorithms.base import ALGORITHMS, Algorithm, ProgramAlgorithm
from dgraph.backend.schedule_options import CHOICES
from dgraph.comm import Comm
from dgraph.engine.rounds.previous import PreviousAnswer, previous_answer
from dgraph.errors import OTHER_PARAMETERS, UsageError, unknown
from dgraph.graph.change_record import Version
from dgraph.graph.load_options import NAMES as LOAD_OPTIONS
from dgraph.graph.local import LocalGraph
from dgraph.program import Program
from dgraph.result.result import Result

OF_A_GRAPH = {"backend", "build", "comm", "device", "gpus", "policy", "threads", "transport", *LOAD_OPTIONS}
"""Words that say how a graph is loaded and where it lives."""

OF_A_RUN = {"direction", "max_rounds", "record", "rounds", "schedule", "sync", "watchdog", *CHOICES}
"""Words that are fields of :class:`Options`, or options of its schedule."""


def requested(algorithm: str | Algorithm | Program, parameters: dict[str, Any], weight: str | None = None) -> Algorithm:
    """Return the algorithm with its parameters; the parameter ``weighted`` is True where the call names a ``weight``.

    Raises:
        UsageError: an unknown name or parameter; a ``weight`` for an algorithm that uses none; for words of a graph or
            of :class:`Options` it says where they go.
    """
    if isinstance(algorithm, str) and algorithm not in ALGORITHMS:
        raise unknown("algorithm", algorithm, ALGORITHMS)
    parameters_of = ALGORITHMS[algorithm].parameters if isinstance(algorithm, str) else {}
    for name in parameters.keys() - parameters_of:
        if OTHER_PARAMETERS.get(name) in parameters_of:
            continue  # the refusal of the parameter says so
        if name in ("edge_attr", "weights"):
            raise UsageError(
                f"{name}= is about the graph: Graph.load makes weights (weights=) or keeps attributes (keep=); "
                "a call uses one of these by weight=, as in dgraph.sssp(graph, 1, weight='time')"
            )
        if name in OF_A_GRAPH:
            raise UsageError(f"{name}= is about the graph; give it to Graph.load, or to graph.on(policy=, device=)")
        if name in OF_A_RUN:
            raise UsageError(f"{name}= is about the rounds; give options=dgraph.Options({name}=…)")
        if name in ("checkpoint_every", "resume"):
            raise UsageError(
                f"{name}= is about checkpoints; give checkpoint=dgraph.Checkpoint(folder, every=, resume=)"
            )
    if weight is not None and isinstance(algorithm, str) and "weighted" in ALGORITHMS[algorithm].parameters:
        parameters = {"weighted": True} | parameters
    work = _constructed(algorithm, parameters)
    if weight is not None:
        text("weight", weight, more=", or None")
        if not (work.weighted or isinstance(work, ProgramAlgorithm)):
            raise UsageError(f"weight={weight!r}: {work.name} uses no weights; leave weight out")
    return work


def _constructed(algorithm: str | Algorithm | Program, parameters: dict[str, Any]) -> Algorithm:
    if isinstance(algorithm, str):
        return ALGORITHMS[algorithm](**parameters)
    if parameters:
        raise UsageError(f"{next(iter(parameters))}= belongs to an algorithm's name; this one was given its parameters")
    if not isinstance(algorithm, (Program, Algorithm)):
        raise refused("algorithm", algorithm, "", "a name, an Algorithm or a Program")
    return ProgramAlgorithm(algorithm) if isinstance(algorithm, Program) else algorithm


def check_continues(work: Algorithm, checkpoint: object) -> None:
    """Refuse ``previous`` where it cannot be used."""
    if not work.continues:
        able = ", ".join(sorted(name for name, registered in ALGORITHMS.items() if registered.continues))
        raise UsageError(f"{work.name} cannot start from a previous answer ({able} can); leave previous out")
    if checkpoint is not None:
        raise UsageError("a run that starts from a previous answer writes no checkpoints; leave one of the two out")


def check_residual(work: Algorithm) -> None:
    """Refuse to record a residual of an algorithm that has none.

    Raises:
        UsageError: it names the algorithms that have one.
    """
    if not work.residual:
        able = ", ".join(sorted(name for name, one in ALGORITHMS.items() if one.residual))
        raise UsageError(
            f"{work.name} has no residual to record, as it does not iterate to a tolerance ({able} do, and programs "
            "that name a residual); leave residual out of record"
        )


@dataclass(frozen=True)
class Start:
    """Previous answer of a call.

    Attributes:
        asked: True if the call gave one.
        answer: what the run knows of it; None: nothing that it can start from.
        why: why there is nothing, or "".
    """

    asked: bool
    answer: PreviousAnswer | None = None
    why: str = ""

    @property
    def taken(self) -> str:
        """Start of the run, as the report names it."""
        return "previous answer" if self.answer is not None and self.answer.used else "from scratch"

    @property
    def reason(self) -> str:
        """Reason why the run started from scratch, or ""."""
        used = self.answer is not None and self.answer.used
        return "" if used else self.why or "edges were removed, or weights rose"


def start_of(
    previous: Result | None, work: Algorithm, version: Version, local: LocalGraph, directed: bool, comm: Comm
) -> Start:
    """Return what a run may start from; collective.

    Args:
        previous: the earlier result that the call gave.
        work: the algorithm as the call named it.
        version: the graph's record of changes.
        local: this rank's partition.
        directed: True if the call's graph is directed.
        comm: the ranks.

    Raises:
        UsageError: a result of another graph, or of other parameters.
    """
    if previous is None:
        return Start(False)
    answer, why = previous_answer(previous, work.name, version, local, directed, comm)
    earlier, now = previous.report["algorithm"]["parameters"], work.settings()
    if answer is not None and not work.same_search(earlier):
        apart = [f"{name}={earlier[name]!r}" for name in now if name in earlier and earlier[name] != now[name]]
        raise UsageError(
            f"previous is the answer with {', '.join(apart)}; give one with this call's parameters, or leave previous "
            "out"
        )
    return Start(True, answer, why)
