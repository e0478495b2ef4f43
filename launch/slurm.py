"""Batch scripts for Slurm: :func:`script` renders a :class:`Job` as the text that ``sbatch`` takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

MPI = ("pmi2", "pmix", "mpirun")
"""Start of ranks: srun for MPICH (also pip's mpich), srun for Open MPI, or the MPI's own launcher."""

MOST_RESTARTS = 20
"""Maximum number of requeues."""

NOTICE = 120
"""Seconds before the time limit at which Slurm sends the signal: enough for a round, the checkpoint and the exit."""

STOPPED = 75
"""Exit code of dgraph when it has stopped with a complete checkpoint."""

TIME = re.compile(r"(\d+-)?\d+(:\d\d){0,2}")
ARRAY = re.compile(r"\d+(-\d+(:\d+)?)?(,\d+(-\d+(:\d+)?)?)*(%\d+)?")


@dataclass(frozen=True)
class Job:
    """Resources that a batch script requests from Slurm, and the command that it runs.

    Attributes:
        nodes: number of nodes.
        ranks: ranks per node.
        cpus: cores per rank; None: Slurm's default.
        gpus: GPUs per node. Ranks select their own; GPUs bound by Slurm could not access each other's memory.
        time: Slurm's time limit, such as 30 (minutes), 04:00:00 or 1-12.
        name: job name.
        partition: Slurm partition; None: the default.
        account: Slurm account; None: the default.
        array: task numbers such as 0-9%2. Task i runs the sources on line i + 1 of the list, the script's first word:
            ids, or one name.
        requeue: on SIGUSR1, which Slurm sends before the time limit or a preemption, stop with a checkpoint, requeue
            and resume; at most ``MOST_RESTARTS`` times.
        image: Apptainer image that dgraph runs in; None: no container.
        mpi: a word of ``MPI``.
        setup: shell lines that select the right ``python``, such as ``module load mpich``.
        words: dgraph's command line; empty: the words that follow the script in ``sbatch SCRIPT …``.
    """

    nodes: int = 1
    ranks: int = 4
    cpus: int | None = None
    gpus: int = 0
    time: str = "01:00:00"
    name: str = "dgraph"
    partition: str | None = None
    account: str | None = None
    array: str | None = None
    requeue: bool = False
    image: str | None = None
    mpi: str = "pmi2"
    setup: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what in ("nodes", "ranks"):
            if getattr(self, what) < 1:
                raise ValueError(f"{what} is {getattr(self, what)}, but a job has 1 or more")
        if self.cpus is not None and self.cpus < 1:
            raise ValueError(f"cpus is {self.cpus}; give a rank 1 core or more, or leave it to Slurm")
        if self.gpus < 0:
            raise ValueError(f"gpus is {self.gpus}; give 0 or more a node")
        if not TIME.fullmatch(self.time):
            raise ValueError(f"time is {self.time!r}; write minutes, HH:MM:SS or DAYS-HH")
        if self.array is not None and not ARRAY.fullmatch(self.array):
            raise ValueError(f"array is {self.array!r}; write task numbers such as 0-9 or 0-9%2")
        if self.mpi not in MPI:
            raise ValueError(f"mpi is {self.mpi!r}; known are {', '.join(MPI)}")
        for what in ("name", "partition", "account"):
            value = getattr(self, what)
            if value is not None and not re.fullmatch(r"[\w.,+@-]+", value):
                raise ValueError(f"{what} is {value!r}, which Slurm would not take in a comment line")

    def added_words(self) -> tuple[str, ...]:
        """Return the options that the script adds to the words; of an array with one task's source."""
        source = ("--source=1",) if self.array else ()
        folder = ("--checkpoint", "checkpoints", "--checkpoint-every", "300s", "--resume", "auto")
        return source + folder * self.requeue


READY = {
    "one_node": Job(),
    "many_nodes": Job(nodes=4),
    "array": Job(array="0-9%2"),
    "requeue": Job(requeue=True),
    "apptainer": Job(image="dgraph.sif"),
}
"""Jobs of the ready-made scripts in ``launch/scripts``."""


def script(job: Job) -> str:
    """Render the batch script of a job."""
    return "\n".join(_lines(job)) + "\n"


def _lines(job: Job) -> Iterator[str]:
    yield "#!/bin/bash"
    yield from (f"#SBATCH {option}" for option in _options(job))
    yield ""
    yield from _comment(job)
    yield "set -euo pipefail"
    yield from job.setup
    if job.cpus:
        yield "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK"
    yield ""
    if job.array:
        yield "list=$1"
        yield "shift"
    if job.words:
        yield f"set -- {' '.join(map(shlex.quote, job.words))}"
    if job.array:
        yield 'sources=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$list")'
        yield '[ -n "$sources" ] || { echo "$list has no line $((SLURM_ARRAY_TASK_ID + 1))" >&2; exit 2; }'
        yield 'set -- "${@//%a/$SLURM_ARRAY_TASK_ID}" --source="$sources"'
    if job.requeue:
        yield from _again(job)
    else:
        yield f'{_start(job)} "$@"'


def _again(job: Job) -> Iterator[str]:
    """Yield the lines that run dgraph and requeue the job if it stopped with a checkpoint."""
    yield "job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}"
    yield "job=${job:-$SLURM_JOB_ID}  # of an array this task: one task's number can be the whole array's"
    yield "checkpoints=${DGRAPH_CHECKPOINTS:-checkpoints}/$job"
    yield 'set -- "$@" --checkpoint "$checkpoints" --checkpoint-every "${DGRAPH_CHECKPOINT_EVERY:-300s}" --resume auto'
    if job.mpi == "pmi2":
        yield 'for _ in $(seq "${SLURM_RESTART_COUNT:-0}"); do  # MPICH\'s shared memory is named by job and step:'
        yield "    srun --mpi=none --ntasks=1 --nodes=1 true || :  # what a killed run left must not be met again"
        yield "done"
    yield "step="
    yield """trap 'asked=1; [ -z "$step" ] || kill -USR1 "$step"' USR1  # Slurm asks the batch shell alone"""
    yield f'{_start(job)} "$@" &'
    yield "step=$!"
    yield 'while asked=0 code=0; wait "$step" || code=$?; [ $asked = 1 ] && [ $code -gt 128 ]; do'
    yield "    :  # the signal ended the wait, not the run"
    yield "done"
    yield f'if [ $code = {STOPPED} ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {MOST_RESTARTS} ]; then'
    yield '    scontrol requeue "$job"'
    yield "fi"
    yield "exit $code"


def _options(job: Job) -> Iterator[str]:
    yield f"--job-name={job.name}"
    for what in ("partition", "account"):
        if getattr(job, what):
            yield f"--{what}={getattr(job, what)}"
    yield f"--nodes={job.nodes}"
    yield f"--ntasks-per-node={job.ranks}"
    if job.cpus:
        yield f"--cpus-per-task={job.cpus}"
    if job.gpus:
        yield f"--gpus-per-node={job.gpus}"
        yield "--gpu-bind=none"
    yield f"--time={job.time}"
    if job.array:
        yield f"--array={job.array}"
    if job.requeue:
        yield from ("--requeue", "--open-mode=append", f"--signal=B:USR1@{NOTICE}")
    yield f"--output=%x-{'%A_%a' if job.array else '%j'}.out"


def _comment(job: Job) -> Iterator[str]:
    ranks = f"{job.ranks} rank{'s'[: job.ranks > 1]}"
    where = "one node" if job.nodes == 1 else f"each of {job.nodes} nodes"
    yield f"# {ranks} on {where}. Submit it where `python -m dgraph` works;"
    yield "# sbatch takes other numbers than those above: sbatch --nodes=2 --time=30 SCRIPT ..."
    if job.requeue:
        yield f"# It stops with a checkpoint {NOTICE} s before its time is up, queues again and goes on,"
        yield f"# {MOST_RESTARTS} times at most."
    if job.array:
        yield "# Task i of the array takes line i (from 0) of a list of sources: 1,2,3, or a name; %a stands for i:"
        yield f"#   sbatch SCRIPT sources.txt{'' if job.words else ' sssp road.gr --report run.%a.json'}"
    elif not job.words:
        yield "#   sbatch SCRIPT sssp road.gr --source 1 --report run.json"


def _start(job: Job) -> str:
    if job.mpi == "mpirun":
        start = 'mpirun -n "$SLURM_NTASKS"'
    else:
        start = f'srun --mpi="${{DGRAPH_MPI:-{job.mpi}}}"' + " --gpu-bind=none" * bool(job.gpus)
    if job.image:
        start += f" apptainer exec {'--nv ' * bool(job.gpus)}{shlex.quote(job.image)}"
    return f"{start} python -m dgraph"
