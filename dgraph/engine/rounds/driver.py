"""Rounds: the reference loop, one phase after the other, and the context that an algorithm works with.

compute → reduce → apply → agree → broadcast. Agreement comes before the broadcast: so the broadcast already knows the
next round's direction, and a last round broadcasts nothing. Where no vertex has a mirror the backend runs the same
phases fused, many rounds a call.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dgraph._support import interrupts
from dgraph.backend.compile_ahead import compile_alongside
from dgraph.backend.interface import Backend, Machine, SharedMachine
from dgraph.comm import Comm
from dgraph.errors import DataError, PeerLost, UsageError
from dgraph.graph.local import LocalGraph
from dgraph.program import Program, trace

DIRECTIONS = ("auto", "push", "pull", "flip")
SYNCS = ("auto", "full", "poison")

LOOK_AROUND = 0.2
"""Seconds of fused rounds before Python looks around, for signals and for what it tells the user."""

GRACE = 10.0
"""Seconds in which a rank that another one has waited for in vain may still say why."""

AHEAD = 1 << 14
"""Rounds that GPUs run by themselves before Python looks around: a quarter of a second."""


PendingTotals = Callable[[], tuple[np.ndarray, np.ndarray, int]]
"""Waits for the totals of a round: integers, sums of floats, and how many vertices wait in buckets."""


@dataclass(frozen=True)
class State:
    """What a program left: fields of masters and the globals.

    Attributes:
        fields: name → array, shape (masters,); bool fields as uint8. A GPU's come to the host when they are asked for.
        globals: name → value, the same on every rank.
        rounds: rounds run.
        finished: whether the program's own end was reached, and not a round limit.
        bucket: the one that rounds stood in.
    """

    fields: Mapping[str, np.ndarray]
    globals: dict[str, int | float]
    rounds: int
    finished: bool
    bucket: int = 0

    def __getitem__(self, name: str) -> np.ndarray:
        return self.fields[name]

    def counted(self, what: str, name: str) -> Any:
        """What a GPU counts of a field that it still has ("reached", "largest", "own", "total"); None elsewhere."""
        count = getattr(self.fields, what, None)
        return count(name) if count else None

    def raw(self, name: str) -> Any:
        """A field where it lies, for another program to begin with."""
        raw = getattr(self.fields, "raw", None)
        return raw(name) if raw else self.fields[name]


class Keeper(Protocol):
    """Keeps checkpoints (``dgraph/engine/checkpoint``). Collective, but for ``began``, ``request`` and ``until``."""

    @property
    def began(self) -> str | None:
        """The class of the first program of the run that this one goes on from, if there is one."""

    def known(self, program: Program) -> State | None:
        """What ``program`` left, if it had ended before the checkpoint."""

    def resume(self, program: Program, machine: Machine) -> None:
        """Put a machine that has started to where the checkpoint found it, if it is this program's."""

    def request(self) -> int:
        """Whether this rank wants a checkpoint at the next boundary; summed over ranks."""

    def until(self, round: int) -> int:
        """Rounds from ``round`` to the next boundary at which to look."""

    def boundary(self, program: Program, machine: Machine, requests: int) -> None:
        """Between two rounds: a checkpoint, where it is time; raises where the run is to end with it."""

    def finished(self, program: Program, state: State) -> None:
        """A program has ended."""


class Context:
    """What an algorithm's ``run`` works with: the graph, programs, small agreements. Collective throughout."""

    def __init__(
        self, local: LocalGraph, comm: Comm, backend: Backend, record, progress,
        direction: str = "auto", sync: str = "auto", max_rounds: int | None = None, place: int = 0,
        keeper: Keeper | None = None,
    ):  # fmt: skip
        self.local, self.comm, self.backend = local, comm, backend
        self.record, self.progress = record, progress
        self.direction, self.sync, self.max_rounds = direction, sync, max_rounds
        self.place, self.keeper = place, keeper  # of this rank among those of its node
        self.rounds, self.weighted = 0, False  # whether any program read the edges' weights
        self._coming: list[Program] = []
        self._weights_checked = False

    def run(self, program: Program, state: Mapping[str, Any] | None = None) -> State:
        """Run a program to its end, or to the round limit.

        Args:
            state: initial values of its ``given`` fields, shape (masters,), or :meth:`State.raw` ones.
        """
        known = self.keeper.known(program) if self.keeper else None
        if known is not None:
            self.rounds += known.rounds
            self.weighted |= trace(program, self.local.out.weight_type).weighted
            return known
        with self.comm.watchdog.paused():
            with self.record("prepare"):
                self.backend.prepare(self.local, self.comm)
            machine = self._machine(program)
        self.weighted |= machine.traced.weighted
        if machine.traced.weighted:
            self.check_weights()
        limit = self.max_rounds if self.max_rounds is not None else np.iinfo(np.int64).max
        run = Run(machine, self)
        run.start(state or {})
        if self.keeper:
            with self.comm.watchdog.paused():
                self.keeper.resume(program, machine)
        begun = machine.compiling
        if self.comm.size == 1:
            run.fused(limit)
        else:
            run.rounds(limit)
        late = min(machine.compiling - begun, self.record.seconds.get("compute", 0.0))
        if late > 0.0:
            self.record.add("compile", late)
            self.record.add("compute", -late)
        self.rounds += machine.round
        self.comm.watchdog.begin(0)
        self.record.spent(machine.spent())
        self.record.queues |= machine.tasks()
        left = State(
            fields=machine.fields(),
            globals=machine.globals(),
            rounds=machine.round,
            finished=machine.done,
            bucket=machine.bucket,
        )
        if self.keeper:
            with self.comm.watchdog.paused():
                self.keeper.finished(program, left)
        return left

    def check_weights(self) -> None:
        """Refuse infinite weights, which a graph may have as long as nothing uses them.

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
        """Raise the error that names the graph, and an edge whose weight is ``wrong``, of several the one of the lowest
        ids; there must be one on some rank."""
        edge = self.local.lowest_edge(wrong, self.comm)
        if edge is not None:
            u, v, weight = edge
            name = self.record.facts["graph"].get("name", "graph")
            raise DataError(
                f"{name}: the edge {u} → {v} weighs {weight}; {reason}; correct the data, or give --weights (weights=)"
            )

    def ahead(self, *programs: Program) -> None:
        """Programs that are likely to follow the next one, to be compiled beside it."""
        self._coming = list(programs)

    def affords(self, program: Program) -> bool:
        """Whether on all ranks what a program wants beside the graph, but can do without, pays, and fits."""
        with self.comm.together():
            traced = trace(program, self.local.out.weight_type)
            lacks = not self.backend.affords(traced, self.local, self._direction(program))
        return not self.comm.total(lacks)

    def _machine(self, program: Program) -> Machine:
        """The machine of a program, with its code."""
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
        """One rank a node compiles; the others wait, then find the machine code in the cache folder.

        What comes ahead is compiled meanwhile: by that rank, or, where its compiler takes one program at a time, by one
        each of the others.
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
            except Exception as caught:  # told after both turns: the others are on their way to the second
                error = caught
            self.comm.barrier()
        self.comm.agree(error)

    def _others(self) -> list[Callable[[], None]]:
        """What this rank compiles beside the program that is next."""
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
        """The direction asked for, where the program can go it; the one of its way, where there is one."""
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
        told = f"{type(program).__name__} only goes {able}; direction {self.direction!r} does not apply to it"
        self.record.warn(told)
        self.progress.line(told)
        return able

    @property
    def began(self) -> str | None:
        """The class of the program that this run began with, where it goes on from a checkpoint: its choices stand."""
        return self.keeper.began if self.keeper else None

    @property
    def local_rounds(self) -> bool:
        """Whether ranks run rounds of their own between exchanges, where a program's values only ever improve."""
        return self.comm.size > 1 and self.backend.local_rounds

    def total(self, value: float) -> float:
        """The sum over ranks of one number a rank: an int stays one, floats are added in rank order."""
        if isinstance(value, (int, np.integer)):
            return self.comm.total(int(value))
        return float(self.comm.allgather(np.array([value], np.float64)).sum())

    def largest(self, value: int) -> int:
        """The largest of one integer a rank."""
        return self.comm.largest(value)


class Run:
    """One program's rounds on all ranks."""

    def __init__(self, machine: Machine, context: Context):
        self.machine, self.comm, self.context = machine, context.comm, context
        self.record, self.watchdog = context.record, context.comm.watchdog
        from dgraph.engine.sync import Sync  # not at the top: --help would wait for Numba

        self.sync = Sync(machine, context.local, context.comm, context.sync, context.record)
        self.error: BaseException | None = None
        self.requests = 0

    def start(self, given: Mapping[str, np.ndarray]) -> None:
        """``init`` on every rank, and the first totals."""
        with self.record("init"):
            self._attempt(lambda: self.machine.start(given))
            self._agree(starting=True)
            if self.sync.device_exchange:
                self.comm.barrier()  # GPUs that wait for each other are not to begin apart

    def rounds(self, limit: int) -> None:
        """The reference: round after round, every phase on every rank."""
        machine, sync, record = self.machine, self.sync, self.record
        assert isinstance(machine, SharedMachine), f"{machine} is for one rank"
        self.watchdog.begin(machine.round + 1)
        if not machine.done and limit > 0:
            sync.broadcast()
            if machine.traced.program.sparse:
                with record("compute"), self.comm.together():
                    machine.begin()
        while not machine.done and machine.round < limit:
            began, first = time.perf_counter(), machine.round
            self.watchdog.begin(first + 1)
            if not self._across(limit):
                with record("compute"):
                    self._attempt(machine.edge)
                sync.reduce(failed=self.error is not None)
                with record("compute"):
                    self._attempt(machine.vertex)
            self.watchdog.at("agreement")
            direction, frontier, edges = machine.direction, machine.total_active, machine.total_edges
            with record("agree"):
                pending = self._begin_agreement()
            figures = np.array([[frontier, edges, direction == "pull"]], np.int64)
            if self.error is None:
                sync.account()
                if machine.round > first:
                    figures = np.concatenate([machine.figures(first), figures])
            with record("agree"):
                self._agree(pending)
            self._boundary()
            if not machine.done and machine.round < limit:
                sync.broadcast()
            record.rounds.extend(figures, (time.perf_counter() - began) / len(figures), machine.notes())
            self.context.progress.round(machine.round, frontier, edges, direction)

    def _across(self, limit: int) -> bool:
        """Rounds that the ranks' GPUs run by themselves, up to the agreement on the last: whether there were any."""
        keeper, first = self.context.keeper, self.machine.round
        end = min(limit, first + (min(keeper.until(first), AHEAD) if keeper else AHEAD))
        with self.record("compute"):
            ran = self._attempt(lambda: self.sync.across(end))
        return bool(ran) or self.error is not None

    def fused(self, limit: int) -> None:
        """The same rounds where no mirror exists, many a call."""
        machine, record, keeper, batch = self.machine, self.record, self.context.keeper, 16
        if machine.traced.program.sparse:
            with record("compute"):
                machine.begin()
        while not machine.done and machine.round < limit:
            began, first = time.perf_counter(), machine.round
            with record("compute"):
                run = machine.fused(min(batch, limit - first, keeper.until(first) if keeper else batch))
            seconds = (time.perf_counter() - began) / run
            batch = max(1, min(int(LOOK_AROUND / seconds), 8 * batch))
            record.rounds.extend(machine.figures(first), seconds, machine.notes())
            self.context.progress.round(machine.round, machine.total_active, machine.total_edges, machine.direction)
            self.requests = keeper.request() if keeper else 0
            self._boundary()

    def _boundary(self) -> None:
        """Every rank stands between the same two rounds."""
        interrupts.check()
        if self.context.keeper and not self.machine.done:
            with self.record("checkpoint"), self.watchdog.paused():
                self.context.keeper.boundary(self.machine.traced.program, self.machine, self.requests)

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """Local work. A rank that failed goes on with empty messages, and raises where all ranks agree."""
        if self.error is None:
            try:
                return work()
            except PeerLost as error:
                self.error, self.comm.deadline = error, time.monotonic() + GRACE
            except Exception as error:
                self.error = error
        return None

    def _agree(self, pending: PendingTotals | None = None, starting: bool = False) -> None:
        """The round's totals on every rank; vertices that wait are let in when nobody else is active."""
        machine = self.machine
        try:
            integers, floats, waiting = (pending or self._begin_agreement())()
        except TimeoutError:
            assert self.error is not None
            raise self.error from None
        if integers[0] == 0 and waiting:
            bucket = self.comm.allreduce(np.array([machine.lowest_bucket()], np.int64), "min")
            self._attempt(lambda: machine.open_bucket(int(bucket[0])))
            opened, _, _ = self._begin_agreement()()
            integers[:2] = opened[:2]
        machine.apply_totals(integers, floats, starting)

    def _begin_agreement(self) -> PendingTotals:
        """This rank's part of the round's totals is on its way; what is returned waits for those of all."""
        machine, failed = self.machine, self.error is not None
        integers, floats = machine.totals()
        request = self.context.keeper.request() if self.context.keeper else 0
        mine = np.array([failed, machine.waiting, request, *integers], np.int64)
        if self.comm.size > 1 and floats.size:
            return lambda: self._end_agreement(mine, *self._gathered(mine, floats))
        begun = self.comm.begin_allreduce(mine)
        return lambda: self._end_agreement(mine, begun(), floats)

    def _gathered(self, mine: np.ndarray, floats: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over ranks in one exchange; of floats in rank order, so that every rank has the same bits."""
        gathered = self.comm.allgather(np.concatenate([mine, floats.view(np.int64)]))
        sums = np.zeros_like(floats)
        for part in gathered[:, mine.size :]:
            sums += np.ascontiguousarray(part).view(np.float64)
        return gathered[:, : mine.size].sum(axis=0), sums

    def _end_agreement(
        self, mine: np.ndarray, whole: np.ndarray, floats: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Sums of integers and floats, and how many vertices wait. Minima take an allreduce of their own."""
        if self.machine.minima:
            whole[-self.machine.minima :] = self.comm.allreduce(mine[-self.machine.minima :], "min")
        if whole[0]:
            self.comm.deadline = math.inf
            self.comm.agree(self.error)
        self.requests = int(whole[2])
        return whole[3:], floats, int(whole[1])
