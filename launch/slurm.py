"""Batch scripts for Slurm: a :class:`Job` to the text that ``sbatch`` takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

MPI = ("pmi2", "pmix", "mpirun")
"""How ranks are started: srun for MPICH (pip's mpich too), srun for Open MPI, or the MPI's own launcher."""

TIME = re.compile(r"(\d+-)?\d+(:\d\d){0,2}")
ARRAY = re.compile(r"\d+(-\d+(:\d+)?)?(,\d+(-\d+(:\d+)?)?)*(%\d+)?")


@dataclass(frozen=True)
class Job:
    """What a batch script asks Slurm for, and what it runs.

    Attributes:
        nodes, ranks: nodes, and ranks on each of them.
        cpus: cores a rank; None: Slurm's default.
        gpus: GPUs a node. Ranks choose among them: bound by Slurm, they could not reach each other's memory.
        time: Slurm's, such as 30 (minutes), 04:00:00 or 1-12.
        array: task numbers such as 0-9%2. Task i runs the sources on line i + 1 of the list, the script's first word.
        image: an Apptainer image that dgraph runs in.
        mpi: a word of ``MPI``.
        setup: shell lines that make ``python`` the right one, such as ``module load mpich``.
        words: dgraph's command line; without, the words that follow the script in ``sbatch SCRIPT …``.
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


READY = {
    "one_node": Job(),
    "many_nodes": Job(nodes=4),
    "array": Job(array="0-9%2"),
    "apptainer": Job(image="dgraph.sif"),
}
"""The scripts that lie in ``launch/scripts``, as they are."""


def script(job: Job) -> str:
    """The batch script of a job."""
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
        yield 'set -- "${@//%a/$SLURM_ARRAY_TASK_ID}" --source "$sources"'
    yield f'{_start(job)} "$@"'


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
    yield f"--output=%x-{'%A_%a' if job.array else '%j'}.out"


def _comment(job: Job) -> Iterator[str]:
    ranks = f"{job.ranks} rank{'s'[: job.ranks > 1]}"
    where = "one node" if job.nodes == 1 else f"each of {job.nodes} nodes"
    yield f"# {ranks} on {where}. Submit it where `python -m dgraph` works;"
    yield "# sbatch takes other numbers than those above: sbatch --nodes=2 --time=30 SCRIPT ..."
    if job.array:
        yield "# Task i of the array takes line i (from 0) of a list of sources such as 1,2,3; %a stands for i:"
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
