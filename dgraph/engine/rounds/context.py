"""Context: the interface between an algorithm and the engine.

An algorithm's ``run(ctx)`` starts programs with :meth:`Context.run` and adds up figures with :meth:`Context.total`.
The context compiles a program, hands its machine to the round loop (``driver.py``) and returns its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dgraph._support import interrupts
from dgraph.backend.compile_ahead import compile_alongside
from dgraph.backend.interface import Backend, Machine
from dgraph.comm import Comm
from dgraph.engine.rounds.driver import Checkpoints, Rounds
from dgraph.engine.rounds.previous import PreviousAnswer
from dgraph.engine.rounds.return_state import State
from dgraph.errors import DataError, UsageError
from dgraph.graph.local import LocalGraph
from dgraph.graph.names import Names
from dgraph.program import Program, trace


class Context:
    """The graph, the backend and the communicator of one run; all methods are collective.

    Attributes:
        local: this rank's partition.
        comm, backend: the ranks, and what computes on this one.
        record, progress: receivers of timings and of progress.
        direction: "auto", "push", "pull" or the test aid "flip".
        sync: "auto", "full" or the test aid "poison".
        max_rounds: rounds after which a program is stopped; None: no limit.
        place: index of this rank among those of its node.
        checkpoints: None where the run writes none.
        names: names of the vertices, where they have some.
        previous: an earlier answer to start from; None: start from scratch.
        rounds: rounds run so far, of all programs.
        weighted: True if a program has read the edges' weights.
    """

    def __init__(
        self, local: LocalGraph, comm: Comm, backend: Backend, record, progress,
        direction: str = "auto", sync: str = "auto", max_rounds: int | None = None, place: int = 0,
        checkpoints: Checkpoints | None = None, names: Names | None = None, previous: PreviousAnswer | None = None,
    ):  # fmt: skip
        self.local, self.comm, self.backend = local, comm, backend
        self.record, self.progress = record, progress
        self.direction, self.sync, self.max_rounds = direction, sync, max_rounds
        self.place, self.checkpoints, self.names, self.previous = place, checkpoints, names, previous
        self.rounds, self.weighted = 0, False
        self._coming: list[Program] = []
        self._weights_checked = False

    def run(self, program: Program, state: Mapping[str, Any] | None = None) -> State:
        """Run a program to its end or to the round limit, and return its state.

        Args:
            program: one kind of round.
            state: initial values of its ``given`` fields, shape (masters,), or values of :meth:`State.raw`.
        """
        completed = self.checkpoints.completed(program) if self.checkpoints else None
        if completed is not None:
            self.rounds += completed.rounds
            self.weighted |= trace(program, self.local.out.weight_type).weighted
            return completed
        with self.comm.watchdog.paused():
            with self.record("prepare"):
                self.backend.prepare(self.local, self.comm)
            machine = self._machine(program)
        self.weighted |= machine.traced.weighted
        if machine.traced.weighted:
            self.check_weights()
        limit = self.max_rounds if self.max_rounds is not None else np.iinfo(np.int64).max
        loop = Rounds(machine, self.local, self.comm, self.record, self.progress, self.sync, self.checkpoints)
        loop.start(state or {})
        if self.checkpoints:
            with self.comm.watchdog.paused():
                self.checkpoints.resume(program, machine)
        compiling = machine.compiling
        if self.comm.size == 1:
            loop.fused(limit)
        else:
            loop.rounds(limit)
        late = min(machine.compiling - compiling, self.record.seconds.get("compute", 0.0))
        if late > 0.0:
            self.record.add("compile", late)
            self.record.add("compute", -late)
        self.rounds += machine.round
        self.comm.watchdog.begin(0)
        self.record.spent(machine.spent())
        self.record.queues |= machine.tasks()
        result = State(
            fields=machine.fields(),
            globals=machine.globals(),
            rounds=machine.round,
            finished=machine.done,
            bucket=machine.bucket,
        )
        if self.checkpoints:
            with self.comm.watchdog.paused():
                self.checkpoints.finished(program, result)
        return result

    def check_weights(self) -> None:
        """Refuse infinite weights, which a graph may have as long as no program reads them.

        Raises:
            DataError: names an edge, the same one on any number of ranks.
        """
        kind = self.local.out.weight_type
        if self._weights_checked or kind is None or kind.kind != "f":
            return
        low, most, _ = self.local.out.weight_range
        if self.total(not (np.isfinite(low) and np.isfinite(most))):
            self.refuse_weights(lambda weights: ~np.isfinite(weights), "a weight that is used must be finite")
        self._weights_checked = True

    def refuse_weights(self, wrong: Callable[[np.ndarray], np.ndarray], reason: str) -> None:
        """Raise the error that names the graph and the edge of lowest ids whose weight is ``wrong``.

        Args:
            wrong: weights → mask; at least one rank has such an edge.
            reason: the middle of the message.

        Raises:
            DataError: on every rank alike.
        """
        edge = self.local.lowest_edge(wrong, self.comm)
        if edge is not None:
            u, v, weight = edge
            name = self.record.facts["graph"].get("name", "graph")
            raise DataError(
                f"{name}: the edge {self.called(u)} → {self.called(v)} weighs {weight}; {reason}; correct the data, or "
                "give --weights (weights=)"
            )

    def called(self, vertex: int) -> int | str:
        """Return the name of a vertex, or its original id if vertices have no names; each rank passes the same id."""
        return vertex if self.names is None else self.names.of(np.array([vertex]), self.comm)[0]

    def ahead(self, *programs: Program) -> None:
        """Name programs that are likely to follow the next one, to be compiled beside it."""
        self._coming = list(programs)

    def affords(self, program: Program) -> bool:
        """Return True if the optional memory that a program wants beside the graph pays and fits on all ranks."""
        with self.comm.together():
            traced = trace(program, self.local.out.weight_type)
            lacks = not self.backend.affords(traced, self.local, self._direction(program))
        return not self.comm.total(lacks)

    def _machine(self, program: Program) -> Machine:
        """Make the machine of a program, compiled on every rank."""
        error: BaseException | None = None
        compiled = False
        try:
            with self.record("prepare"):
                traced = trace(program, self.local.out.weight_type)
                machine = self.backend.machine(traced, self.local, self._direction(program))
            with self.record("compile"):
                compiled = machine.compiled
                if compiled:
                    machine.compile()
        except Exception as caught:
            error = caught
        with self.record("compile"):
            (everywhere,) = self.comm.agree(error, compiled)
            if not everywhere:
                self._compile(machine, type(program).__name__)
        return machine

    def _compile(self, machine: Machine, name: str) -> None:
        """Compile on one rank of each node; the others wait, then load the machine code from the cache folder.

        Programs named by :meth:`ahead` are compiled at the same time: by that rank, or, where its compiler takes one
        program at a time, by one other rank each.
        """
        self.progress.phase("compile", name)
        error: BaseException | None = None
        for first in (True, False):
            try:
                with interrupts.immediate(), compile_alongside(self._others() if first else []):
                    if first == (self.place == 0):
                        machine.compile()
                        if self.comm.size > 1:
                            from dgraph.engine.sync import prepare  # not at the top: --help would wait for Numba

                            prepare(machine.traced)
            except Exception as caught:  # raised after both turns: the other ranks enter the second
                error = caught
            self.comm.barrier()
        self.comm.agree(error)

    def _others(self) -> list[Callable[[], None]]:
        """Return the compilations that this rank does beside the next program."""
        coming = self._coming if self.direction == "auto" else []
        self._coming = []
        if self.backend.compiles_in_parallel:
            coming = coming if self.place == 0 else []
        else:
            coming = coming[max(self.place - 1, 0) : self.place]
        traced = [trace(program, self.local.out.weight_type) for program in coming]
        found = [self.backend.ahead(program, self.local, "auto") for program in traced]
        return [compile for compile in found if compile]

    def _direction(self, program: Program) -> str:
        """Return the requested direction where the program supports it, else its traversal's or only direction."""
        traversal = program.traversal
        if traversal and traversal.direction != "auto":
            if self.direction not in ("auto", traversal.direction):
                raise UsageError(
                    f"{traversal.name} always goes {traversal.direction}; leave --direction {self.direction} out"
                )
            return traversal.direction
        wanted = {"flip": {"push", "pull"}}.get(self.direction, {self.direction})
        if self.direction == "auto" or wanted <= set(program.directions):
            return self.direction
        able = program.directions[0]
        text = f"{type(program).__name__} only goes {able}; direction {self.direction!r} does not apply to it"
        self.record.warn(text)
        self.progress.line(text)
        return able

    @property
    def began(self) -> str | None:
        """Class name of the first program of a resumed run, whose choices hold; None where the run starts anew."""
        return self.checkpoints.began if self.checkpoints else None

    @property
    def local_rounds(self) -> bool:
        """True if a rank may run rounds of its own between exchanges, for programs whose values only improve."""
        return self.comm.size > 1 and self.backend.local_rounds

    def total(self, value: float) -> float:
        """Sum one number over ranks; integers stay integers, floats are added in rank order."""
        if isinstance(value, (int, np.integer)):
            return self.comm.total(int(value))
        return float(self.comm.allgather(np.array([value], np.float64)).sum())

    def largest(self, value: int) -> int:
        """Return the largest of one integer a rank."""
        return self.comm.largest(value)
