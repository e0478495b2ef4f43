"""Context: the interface between an algorithm and the engine.

An algorithm's ``run(ctx)`` starts programs with :meth:`Context.run`; what ranks find out together of their partition is
in ``shared_partition.py``.
The context compiles a program, hands its machine to the round loop (``driver.py``) and returns its state.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dgraph._support import interrupts
from dgraph.backend.backend_base import Backend
from dgraph.backend.compile_ahead import compile_alongside
from dgraph.backend.interface import Machine
from dgraph.comm import Comm
from dgraph.engine.rounds.driver import COLD, Checkpoints, RoundDriver, start_without
from dgraph.engine.rounds.drivers import driver_of
from dgraph.engine.rounds.previous import PreviousAnswer
from dgraph.engine.rounds.return_state import State
from dgraph.engine.rounds.shared_partition import SharedPartition
from dgraph.errors import OutOfMemory, UsageError, option
from dgraph.graph.local import LocalGraph
from dgraph.graph.names import Names
from dgraph.program import Program, Traced, trace
from dgraph.program.program import ID_SPAN, ID_UNORDERED, IN_DEGREE, extended
from partitioning.arrays.lazy_numba import compiles

FEW_ARCS, RARELY_SHARED = 8, 64
"""Local rounds are taken on graphs of fewer arcs a vertex than the first, with so many vertices a mirror or more."""

POSTPONED = "the kernel that runs many of them in one launch is compiled in the background, for later runs"


class Context(SharedPartition):
    """The graph, the backend and the communicator of one run; all methods are collective.

    Attributes:
        backend: what computes on this rank.
        progress: receiver of progress.
        direction: "auto", "push", "pull" or the test aid "flip".
        sync: "auto", "full" or the test aid "poison".
        max_rounds: rounds after which a program is stopped; None: no limit.
        place: index of this rank among those of its node.
        checkpoints: None where the run writes none.
        previous: an earlier answer to start from; None: start from scratch.
        repeats: True if machines of earlier runs may start before ranks agree that all have theirs; equal on all ranks.
        rounds: rounds run so far, of all programs.
        weighted: True if a program has read the edges' weights.
    """

    def __init__(
        self, local: LocalGraph, comm: Comm, backend: Backend, record, progress,
        direction: str = "auto", sync: str = "auto", max_rounds: int | None = None, place: int = 0,
        checkpoints: Checkpoints | None = None, names: Names | None = None, previous: PreviousAnswer | None = None,
        repeats: bool = False,
    ):  # fmt: skip
        super().__init__(local, comm, record, names)
        self.backend, self.progress = backend, progress
        self.direction, self.sync, self.max_rounds = direction, sync, max_rounds
        self.place, self.checkpoints, self.previous = place, checkpoints, previous
        self.repeats = repeats and direction == sync == "auto" and checkpoints is None
        self._unchecked: list[tuple[int, Callable[[], None]]] = []
        self.rounds, self.weighted = 0, False
        self._uncompiled: dict[str, None] = {}
        self._coming: list[tuple[Program, LocalGraph]] = []

    def run(self, program: Program, state: Mapping[str, Any] | None = None) -> State:
        """Run a program to its end or to the round limit, and return its state.

        Args:
            program: one kind of round.
            state: initial values of its ``given`` fields, shape (masters,), or values of :meth:`State.raw`.
        """
        program, traced, state = self._with_builtins(program, state or {})
        completed = self.checkpoints.completed(program) if self.checkpoints else None
        if completed is not None:
            self.rounds += completed.rounds
            self.weighted |= traced.weighted
            return replace(completed, declared=program.fields)
        with self.comm.watchdog.paused():
            local = self._graph(program)
        driver = self._repeated(program, traced, local, state) if self.repeats else None
        with self.comm.watchdog.paused():
            self.check_owned()
            machine = self._machine(program, traced) if driver is None else driver.machine
        if machine.remark:
            self._uncompiled.setdefault(type(program).__name__)
            self.record.choose("rounds", "NumPy", f"{', '.join(self._uncompiled)}: {machine.remark}")
        if machine.traced.row_reducer:
            self._check_whole_rows(machine.traced, local)
        self.weighted |= machine.traced.weighted
        if machine.traced.weighted:
            self.check_weights()
        limit = self.max_rounds if self.max_rounds is not None else sys.maxsize
        if driver is None:
            driver = driver_of(machine, local, self.comm, self.record, self.progress, self.sync, self.checkpoints)
            driver.start(state)
        if self.checkpoints:
            with self.comm.watchdog.paused():
                self.checkpoints.resume(program, machine)
        driver.run(limit)
        self.rounds += machine.round
        self.comm.watchdog.begin(0)
        self.record.spent(machine.spent())
        self.record.queues.join(machine.tasks())
        for name, amount in machine.schedule_counts().items():
            self.record.count_most(name, amount)
        result = State(
            fields=machine.fields(),
            globals=machine.globals(),
            rounds=machine.round,
            finished=machine.done,
            bucket=machine.bucket,
            declared=program.fields,
            summary=driver.summary,
        )
        if self.checkpoints:
            with self.comm.watchdog.paused():
                self.checkpoints.finished(program, result, machine)
        self.backend.keep(machine, local)
        return result

    def _repeated(
        self, program: Program, traced: Traced, local: LocalGraph, state: Mapping[str, Any]
    ) -> RoundDriver | None:
        """Start the machine that an earlier run kept, if every rank has one; return its driver, else None; collective.

        One agreement, of the first totals, takes the place of those on memory, machine code, mailboxes and sources.
        """
        error: BaseException | None = None
        driver: RoundDriver | None = None
        try:
            with self.record("prepare"):
                machine = self.backend.repeated(traced, local, self._direction(program))
                if machine is not None:
                    driver = driver_of(machine, local, self.comm, self.record, self.progress)
        except Exception as caught:
            error, driver = caught, None
        beside = sum(self.local.owns(vertex) for vertex, _ in self._unchecked)
        if driver is not None:
            driver.start(state, beside)
            beside = driver.beside
        else:
            beside = start_without(traced, self.comm, beside + COLD, error)
        if beside % COLD == len(self._unchecked):
            self._unchecked.clear()
        if beside < COLD:
            return driver
        if driver is not None:
            self.backend.keep(driver.machine, local)
        return None

    def owned(self, vertex: int, refuse: Callable[[], None]) -> None:
        """Call ``refuse`` on all ranks if none owns a vertex: here, or when the next program starts; collective."""
        self._unchecked.append((vertex, refuse))
        if not self.repeats:
            self.check_owned()

    def check_owned(self) -> None:
        """Check the vertices of :meth:`owned` that are not checked yet; collective."""
        while self._unchecked:
            vertex, refuse = self._unchecked.pop(0)
            if not self.total(self.local.owns(vertex)):
                refuse()

    def _with_builtins(self, program: Program, state: Mapping[str, Any]) -> tuple[Program, Traced, Mapping[str, Any]]:
        """Add the values of ``in_degree`` and of ``e.id`` for a program that reads them; return its trace, too."""
        traced = trace(program, self.local.out.weight_type)
        needs = traced.program
        if IN_DEGREE in needs.fields:
            local = self.local
            degrees = local.out_degree if program.reverse else self.backend.in_degrees(local, self.comm)
            state = {**state, IN_DEGREE: degrees[: local.masters]}
        if ID_SPAN in needs.parameters:
            program = extended(program, {}, {ID_SPAN: self._ids_below(), ID_UNORDERED: not self.local.directed})
            traced = trace(program, self.local.out.weight_type)
        return program, traced, state

    @property
    def reversed(self) -> LocalGraph:
        """This rank's partition with reversed edges, made at first use; its ``out_degree`` is the in-degree."""
        with self.record("prepare"):
            return self.backend.reversed(self.local, self.comm)

    def _graph(self, program: Program) -> LocalGraph:
        """Return the partition that a program runs on."""
        return self.reversed if program.reverse else self.local

    def _check_whole_rows(self, traced: Traced, local: LocalGraph) -> None:
        """Refuse a program that folds whole rows on a partition that cuts rows; raises on every rank alike."""
        if self.mirrors_pull(local):
            able = ("oec" if traced.program.reverse else "iec") if local.directed else "oec or metis"
            raise UsageError(
                f"{type(traced.program).__name__} folds all in-edges of a vertex ({traced.row_reducer!r}), and this "
                f"partition spreads them over ranks; use {option('policy', able)}"
            )

    def ahead(self, *programs: Program) -> None:
        """Name programs that are likely to follow the next one, to be compiled beside it."""
        self._coming = [(program, self._graph(program)) for program in programs]

    def solver(self, name: str) -> Any:
        """Return the registered solver of rows that serves this run; None: programs do; collective."""
        return next((solver for solver in self.backend.solvers(name) if solver.fits(self)), None)

    def affords(self, program: Program) -> bool:
        """Return True if the optional memory that a program wants beside the graph pays and fits on all ranks."""
        local = self._graph(program)
        with self.comm.together():
            lacks = not self.backend.affords(self._traced(program), local, self._direction(program))
        return not self.comm.total(lacks)

    def answers_at_once(self, program: Program) -> bool:
        """Return True if no rank would compile a program: the graph and its runs so far are small; collective."""
        local = self._graph(program)
        with self.comm.together():
            waits = not self.backend.answers_at_once(self._traced(program), local, self._direction(program))
        return not self.comm.total(waits)

    def _traced(self, program: Program) -> Traced:
        return trace(program, self._graph(program).out.weight_type)

    def _machine(self, program: Program, traced: Traced) -> Machine:
        """Make the machine of a program, compiled on every rank; it only pushes if in-edges do not fit in memory."""
        local = self._graph(program)
        try:
            return self._made(program, traced, local)
        except OutOfMemory:  # on every rank alike
            if self._direction(program) != "auto" or not local.directed or "push" not in program.directions:
                raise
        self.direction = "push"
        reason = "its in-edges (CSC), which pulls read, do not fit beside the graph in GPU memory"
        self.record.choose("direction", "push", reason)
        self.progress.line(f"direction push: {reason}")
        return self._made(program, traced, local)

    def _made(self, program: Program, traced: Traced, local: LocalGraph) -> Machine:
        error: BaseException | None = None
        compiled = large = arrays = False
        with self.record("prepare"):
            self.backend.prepare(local, self.comm)
            try:
                machine = self.backend.machine(traced, local, self._direction(program))
                arrays = bool(machine.remark)
            except Exception as caught:
                error = caught
        if error is None and self.comm.size == 1 and machine.loaded:
            return machine
        try:
            if error is not None:
                raise error
            with self.record("compile"):
                compiled = machine.compiled
                if compiled:
                    machine.compile()
                large = machine.large_compiled
        except Exception as caught:
            error = caught
        with self.record("compile"):
            everywhere, large_everywhere, *alike = self.comm.agree(error, compiled, large, arrays, not arrays)
            if not any(alike):  # each rank counts its own seconds; array rounds only push, and the others may pull
                everywhere = False
                with self.comm.together():
                    machine = machine.in_machine_code()
            if not machine.use_large(bool(large_everywhere)):
                self.record.choose("small rounds", "one by one", f"{type(program).__name__}: {POSTPONED}")
            if not everywhere:
                self._compile(machine, type(program).__name__)
        return machine

    def _compile(self, machine: Machine, name: str) -> None:
        """Compile on one rank of each node; the others wait, then load the machine code from the cache folder.

        Programs named by :meth:`ahead` are compiled at the same time: by that rank, or, where its compiler takes one
        program at a time, by one other rank each. Ranks whose compiler takes several share all texts out.
        """
        self.progress.phase("compile", name)
        error: BaseException | None = None
        for first in (True, False):
            try:
                with interrupts.immediate(), compile_alongside(self._others() if first else []):
                    own = first == (self.place == 0)
                    if first if self.backend.compiles_in_parallel else own:
                        machine.compile()
                    if own and self.comm.size > 1 and machine.exchanges_on_host and compiles(self.local.size):
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
        if not self.backend.compiles_in_parallel:
            coming = coming[max(self.place - 1, 0) : self.place]
        traced = [(trace(program, local.out.weight_type), local) for program, local in coming]
        compilations = [self.backend.ahead(*arguments, "auto") for arguments in traced]
        return [compile for compile in compilations if compile]

    def _direction(self, program: Program) -> str:
        """Return the requested direction where the program supports it, else its traversal's or only direction."""
        traversal = program.traversal
        if traversal and traversal.direction != "auto":
            if self.direction not in ("auto", traversal.direction):
                raise UsageError(
                    f"{traversal.name} always goes {traversal.direction}; leave "
                    f"{option('direction', self.direction)} out"
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

    def warn_of_unused_schedule(self) -> None:
        """Record a schedule that the user named, and warn if none of this rank's rounds used it."""
        asked, rounds = self.backend.schedule, self.record.rounds
        if asked == "auto":
            return
        self.record.choose("schedule", asked, "it was asked for")
        if asked in rounds.schedules or not rounds.count:
            return
        used = f"they used {', '.join(rounds.schedules)}" if rounds.schedules else "their kernels need none"
        text = f"no round used the schedule {asked}: {used}; take another variant or direction, or leave it out"
        self.record.warn(text)
        self.progress.line(text)

    @property
    def began(self) -> str | None:
        """Class name of the first program of a resumed run, whose choices hold; None where the run starts anew."""
        return self.checkpoints.began if self.checkpoints else None

    @property
    def local_rounds(self) -> bool:
        """True if ranks run several rounds between exchanges, for programs whose values only improve; collective.

        Unless the user asks, they do on graphs like roads, whose many small rounds rarely reach another rank.
        """
        asked = self.backend.local_rounds
        if self.comm.size == 1 or asked is not None:
            return self.comm.size > 1 and bool(asked)
        free = self.direction == self.sync == "auto" and self.max_rounds is None and not self.checkpoints
        few = free and self.local.arcs < FEW_ARCS * self.local.n
        if few and self.once("mirrors", lambda: self.total(self.local.mirrors)) * RARELY_SHARED <= self.local.n:
            self.record.choose("exchanges", "after local rounds", "few edges a vertex, few vertices on several ranks")
            return True
        return False

    @property
    def follows_buckets(self) -> bool:
        """True if threads follow vertices inside a bucket, in programs whose values only improve: on one CPU rank.

        Rounds are then fewer, and which vertices they hold depends on the threads' timing, so a round limit,
        checkpoints and a forced direction exclude it.
        """
        free = self.direction == self.sync == "auto" and self.max_rounds is None and not self.checkpoints
        return self.comm.size == 1 and free and not self.few_rounds

    @property
    def few_rounds(self) -> bool:
        """True if few rounds over many edges cost less than many over few, as on GPUs; equal on all ranks."""
        return self.backend.few_rounds
