"""Checkpoint policy of a run: when one is written, what it contains, and how a run resumes from it.

:class:`CheckpointManager` is what the round loop calls. ``checkpoint_file.py`` reads and writes the files;
``redistribute.py`` moves values to the ranks that own the vertices now.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dgraph._support.arguments import is_int64
from dgraph.backend.snapshot import Snapshot
from dgraph.comm import Comm
from dgraph.engine.checkpoint.checkpoint_file import manifests, read, write
from dgraph.engine.checkpoint.redistribute import redistribute
from dgraph.engine.checkpoint.signals import StopSignals
from dgraph.engine.rounds.progress import Progress
from dgraph.engine.rounds.record import Record, plain
from dgraph.engine.rounds.return_state import State
from dgraph.errors import Checkpointed, DataError, OutputError, UsageError, option, shown
from dgraph.graph.local import LocalGraph
from dgraph.program import Program

RESUME = ("auto", "must")
"""auto: resume if there is a checkpoint, otherwise start; must: refuse to start without one."""

DUE, STOP = 1, 1 << 20
"""Requests of a rank for a checkpoint, or for a checkpoint and a stop; they are summed over ranks."""

FAR = 1 << 62

LIMIT = "max_iter"
"""Parameter that ends a program without changing its rounds, so a resumed run may have a larger one."""


def interval(text: str | int | None) -> tuple[int | None, float | None]:
    """Parse an interval: ``"100"`` is every 100 rounds, ``"300s"`` every 300 seconds.

    Returns:
        Rounds and seconds, of which at least one is None.

    Raises:
        UsageError: ``text`` is neither.
    """
    if text is None:
        return None, None
    word = str(text) if isinstance(text, str) or is_int64(text) else ""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d{1,18})?)(s|m|h)|(\d{1,18})", word)
    if not match or not float(match[1] or match[3]):
        raise UsageError(
            f"checkpoint interval every = {shown(text)}: write rounds such as 100, or a time such as 300s, 10m, 1h"
        )
    if match[3]:
        return int(match[3]), None
    return None, float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


class CheckpointManager:
    """The checkpoints of one run: an :class:`~dgraph.engine.rounds.driver.Checkpoints`.

    Args:
        folder: checkpoint folder, the same on every rank.
        identity: entries that must equal those of a checkpoint to resume from it: algorithm, parameters, graph.
        local: this rank's part of the graph.
        comm: ranks of the run.
        record: receives timings, warnings and the choice to resume.
        progress: receives the lines that the user sees.
        every: see :func:`interval`; None: only when a signal requests one.
        resume: a word of ``RESUME``; None: start anew, and refuse to if the folder holds a checkpoint.
        signals: handler that is set when the run is to stop.
    """

    def __init__(
        self, folder: Path, identity: dict[str, Any], local: LocalGraph, comm: Comm, record: Record, progress: Progress,
        *, every: str | int | None = None, resume: str | None = None, signals: StopSignals | None = None,
    ):  # fmt: skip
        self.folder, self.identity, self.local, self.comm = folder, plain(identity), local, comm
        self.record, self.progress, self.signals = record, progress, signals or StopSignals()
        self.rounds, self.seconds = interval(every)
        self._ended: list[tuple[str, State]] = []
        self._restored: list[tuple[str, State]] = []
        self._current: tuple[str, Snapshot] | None = None
        self._last: Snapshot | None = None
        self._deferred = 0
        self._last_time, self._last_round = time.monotonic(), 0
        self._load(resume)

    @property
    def began(self) -> str | None:
        """Class name of the first program of the run that is resumed; None for a new run."""
        programs = [*self._restored, *([self._current] if self._current else [])]
        return programs[0][0].partition("(")[0] if programs else None

    def completed(self, program: Program) -> State | None:
        """Return the state of a program that had ended before the checkpoint, else None; collective."""
        if len(self._ended) >= len(self._restored):
            return None
        name, state = self._restored[len(self._ended)]
        self._check_program(name, program)
        self._ended.append((name, state))
        return state

    def resume(self, program: Program, machine) -> None:
        """Restore a started machine from the checkpoint, if the checkpoint is of its program; collective."""
        self._last_round = 0
        if self._current is None:
            return
        (name, kept), self._current = self._current, None
        self._check_program(name, program)
        with self.comm.together():
            machine.restore(kept)
        self._last_round = machine.round

    def request(self) -> int:
        """Return this rank's request, ``DUE`` and ``STOP`` added; 0 for none. Not collective."""
        due = self.seconds is not None and time.monotonic() - self._last_time >= self.seconds
        return DUE * due + STOP * self.signals.stop

    def until(self, round: int) -> int:
        """Return the rounds from ``round`` to the next checkpoint of an interval in rounds; not collective."""
        return FAR if self.rounds is None else max(self._last_round + self.rounds - round, 1)

    def boundary(self, program: Program, machine, requests: int) -> None:
        """Write a checkpoint between two rounds if one is due; collective.

        A machine that cannot be snapshot between these rounds defers the request to the next boundary. A failed write
        is a warning, and the run continues.

        Args:
            program: the running program.
            machine: its machine.
            requests: requests summed over ranks.

        Raises:
            Checkpointed: a signal requested the stop, and the checkpoint is written.
        """
        requests = max(requests, self._deferred)
        due = requests > 0 or (self.rounds is not None and machine.round - self._last_round >= self.rounds)
        if not due:
            return
        with self.comm.together():
            kept = machine.snapshot()
        if kept is None:
            self._deferred = max(requests, DUE)
            return
        began = time.perf_counter()
        self._last_round, self._deferred = machine.round, 0
        error = self.save(_name(program), kept)
        if error is not None:
            warning = f"no checkpoint after round {machine.round}: {error}"
            self.record.warn(warning)
            self.progress.line(warning)
        elif requests >= STOP:
            raise Checkpointed(
                f"stopped with a checkpoint after round {machine.round} of {_name(program)}, in {self.folder}; "
                f"the same call with {option('resume', 'auto')} goes on from there"
            )
        self.record.add("checkpoint_write", time.perf_counter() - began)
        self._last_time = time.monotonic()

    def finished(self, program: Program, state: State, machine) -> None:
        """Keep a copy of the state of a program that has ended, for later checkpoints."""
        fields = {name: values.copy() for name, values in state.fields.items()}
        self._ended.append((_name(program), State(fields, state.globals, state.rounds, state.finished)))
        snapshot = machine.snapshot() if LIMIT in self._parameters else None
        self._last = None if snapshot is None else replace(snapshot, fields=fields)

    def end(self, converged: bool) -> None:
        """Write the final checkpoint, unless ``max_rounds`` ended a program that could continue; collective.

        A last program that ``max_iter`` ended is written as one that runs, so that a larger ``max_iter`` continues it.
        """
        if not all(state.finished for _, state in self._ended):
            return
        limited = self._last is not None and not (converged and self._parameters.get("tol"))
        if limited and self._ended[-1][1].rounds >= self._parameters[LIMIT]:
            error = self.save(self._ended.pop()[0], self._last)
        else:
            error = self.save()
        if error is not None:
            self.record.warn(f"no checkpoint of the end: {error}")

    def save(self, name: str = "", kept: Snapshot | None = None) -> str | None:
        """Write a set with the programs that have ended and the running one; collective.

        Args:
            name: the running program.
            kept: its snapshot; None: no program runs.

        Returns:
            None, or the reason why it could not be written.
        """
        masters = self.local.masters
        arrays = {"gids": self.local.gids[:masters]}
        ended = []
        for number, (program, state) in enumerate(self._ended):
            arrays |= {f"{number}/{field}": values for field, values in state.fields.items()}
            ended.append(
                {
                    "program": program, "fields": list(state.fields),
                    "rounds": state.rounds, "finished": bool(state.finished),
                    "globals": {k: v.hex() if isinstance(v, float) else v for k, v in state.globals.items()},
                }
            )  # fmt: skip
        running = None
        if kept is not None:
            arrays |= {f"current/{field}": values for field, values in kept.fields.items()}
            arrays |= {"active": kept.active, "waiting": kept.waiting}
            running = {"program": name, "fields": list(kept.fields), "shared": kept.shared}
        facts = {"identity": self.identity, "ranks": self.comm.size, "ended": ended, "current": running}
        error = write(self.folder, arrays, facts, self.comm)
        self.record.count("checkpoints", error is None)
        return error

    def _load(self, resume: str | None) -> None:
        sets = manifests(self.folder, self.comm)
        if not sets:
            if resume == "must":
                raise UsageError(f"{option('resume', 'must')}: there is no checkpoint in {self.folder}")
            return
        if resume is None:
            raise UsageError(
                f"{self.folder} holds a checkpoint already; go on from it with {option('resume', 'auto')}, or remove "
                "the folder"
            )
        for place, manifest in sets:
            self._refuse_another(place, manifest["identity"])
            self._refuse_limit(place, manifest)
        broken = []
        for place, manifest in sets:
            try:
                arrays = read(place, manifest, self.comm)
            except (DataError, OutputError) as error:
                broken.append(str(error))
                continue
            for reason in broken:
                self.record.warn(f"{reason}; the checkpoint before it was taken")
                self.progress.line(f"{reason}; taking the checkpoint before it")
            self._restore(manifest, arrays)
            where, ranks = self._position(manifest), manifest["ranks"]
            source = f"a checkpoint of {ranks} rank{'s'[: ranks != 1]} in {place}"
            self.record.choose("resumed", where, source)
            self.record.describe("outcome", resumed_after=_rounds(manifest))
            self.progress.line(f"going on {where}: {source}")
            return
        raise DataError(
            f"{'; '.join(broken)}; no checkpoint in {self.folder} is whole: remove the folder and start anew"
        )

    @property
    def _parameters(self) -> dict[str, Any]:
        return self.identity.get("parameters", {})

    def _refuse_another(self, place: Path, theirs: dict[str, Any]) -> None:
        for what, value in self.identity.items():
            other = theirs.get(what)
            if what == "parameters" and isinstance(other, dict) and LIMIT in other and LIMIT in value:
                other = {**other, LIMIT: value[LIMIT]}
            if other != value:
                raise UsageError(
                    f"{place} is a checkpoint of another run: its {what} is {theirs.get(what)}, here it is {value}; "
                    "give the same request, or another folder of checkpoints"
                )

    def _refuse_limit(self, place: Path, manifest: dict) -> None:
        """Refuse a smaller ``max_iter`` than the rounds done, and a larger one for a program that others followed."""
        here, theirs = (what.get("parameters", {}).get(LIMIT) for what in (self.identity, manifest["identity"]))
        if here == theirs:
            return
        rounds = max([one["rounds"] for one in manifest["ended"]], default=0)
        running = manifest["current"]["shared"]["round"] if manifest["current"] else 0
        if here < theirs and here <= max(rounds, running):
            raise UsageError(
                f"{place} is a checkpoint after {max(rounds, running)} rounds, and {option(LIMIT, here)} allows no "
                "more; give a larger one, or another folder of checkpoints"
            )
        if rounds >= theirs:
            raise UsageError(
                f"{place} is a checkpoint of a run that {option(LIMIT, theirs)} ended and that cannot go on with "
                f"{option(LIMIT, here)}; give another folder of checkpoints"
            )
        if manifest["current"]:
            manifest["current"]["shared"]["done"] = 0

    def _restore(self, manifest: dict, arrays: dict[str, np.ndarray]) -> None:
        gids = arrays.pop("gids")
        wanted = self.local.gids[: self.local.masters]
        mine = redistribute(gids, arrays, wanted, self.local.n, self.comm)
        for number, one in enumerate(manifest["ended"]):
            values = {k: float.fromhex(v) if isinstance(v, str) else v for k, v in one["globals"].items()}
            fields = {field: mine[f"{number}/{field}"] for field in one["fields"]}
            self._restored.append((one["program"], State(fields, values, one["rounds"], one["finished"])))
        if one := manifest["current"]:
            fields = {field: mine[f"current/{field}"] for field in one["fields"]}
            self._current = one["program"], Snapshot(fields, mine["active"], mine["waiting"], one["shared"])

    def _check_program(self, name: str, program: Program) -> None:
        if name != _name(program):
            raise DataError(f"{self.folder}: the checkpoint is of {name}, and {_name(program)} runs here; start anew")

    def _position(self, manifest: dict) -> str:
        """Describe the position in the run, for the user."""
        if one := manifest["current"]:
            return f"after round {one['shared']['round']} of {one['program']}"
        return f"after {manifest['ended'][-1]['program']}" if manifest["ended"] else "at the start"


def _rounds(manifest: dict) -> int:
    """Return the rounds before a checkpoint, of all programs."""
    running = manifest["current"]["shared"]["round"] if manifest["current"] else 0
    return sum(one["rounds"] for one in manifest["ended"]) + running


def _name(program: Program) -> str:
    """Return the class name and dtypes of a program, which must match to restore its state."""
    fields = ", ".join(f"{name} {field.dtype}" for name, field in program.fields.items())
    return f"{type(program).__name__}({fields})"
