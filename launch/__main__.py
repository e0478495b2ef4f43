"""``python -m launch``: ``slurm`` and ``scripts`` write batch scripts, ``k8s`` a manifest, ``unit`` a systemd unit."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from launch.command_words import check
from launch.kubernetes import KINDS, ClusterJob, manifest
from launch.once import once
from launch.slurm import MPI, READY, Job, script

DESCRIPTION = (
    "Write a batch script for Slurm to stdout. The words after -- are dgraph's command line; without them the script "
    "runs the words that follow it in sbatch. Ready-made scripts: python -m launch scripts DIR."
)

ABOUT_K8S = (
    "Write a manifest for Kubernetes to stdout, for kubectl apply -f -. The words after -- are dgraph's command line, "
    "run in /data. Several nodes need an image with an SSH server, and a JobSet also a secret of type "
    "kubernetes.io/ssh-auth with the keys ssh-privatekey and ssh-publickey."
)

ABOUT_UNIT = (
    "Write a systemd unit that runs `python -m dgraph serve` with this Python; its head says how to install it."
)

UNIT = Path(__file__).with_name("service") / "dgraph.service"
UNIT_PYTHON = "/opt/dgraph/bin/python"
"""Python that the unit starts; ``unit`` writes its own in its place."""

EXAMPLES = """\
examples:
  python -m launch slurm --nodes 4 --ranks 4 --gpus 4 -- sssp road.gr --source 1 --report run.json > road.sbatch
  python -m launch slurm --array 0-9%2 > sources.sbatch
  python -m launch slurm --image dgraph.sif --setup 'module load apptainer' -- pagerank web.txt | sbatch
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    ours, theirs = words, []
    if "--" in words:
        ours, theirs = words[: words.index("--")], words[words.index("--") + 1 :]
    parser = _Parser(
        prog="python -m launch", description="Files that start dgraph: batch scripts, manifests, a systemd unit."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _slurm(commands.add_parser("slurm", help="a batch script for Slurm", description=DESCRIPTION, epilog=EXAMPLES,
                               formatter_class=argparse.RawDescriptionHelpFormatter))  # fmt: skip
    ready = commands.add_parser("scripts", help="the ready-made batch scripts", description=", ".join(READY))
    ready.add_argument("output", type=Path, metavar="DIR", help="folder to write them to")
    unit = commands.add_parser("unit", help="a unit with which systemd runs the service", description=ABOUT_UNIT)
    unit.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the unit to FILE, not to stdout")
    _k8s(commands.add_parser("k8s", help="a JobSet or an MPIJob for Kubernetes", description=ABOUT_K8S))
    parsed, unknown = parser.parse_known_args(ours)
    if unknown:
        parser.error(_advice(unknown, parsed.command, commands.choices[parsed.command]))
    options = vars(parsed)
    output: Path | None = options.pop("output", None)
    command, note = options.pop("command"), None
    try:
        if command == "scripts":
            Path(output or ".").mkdir(parents=True, exist_ok=True)
            for name, job in READY.items():
                Path(output or ".", f"{name}.sbatch").write_text(script(job))
            return 0
        if command == "unit":
            text = UNIT.read_text().replace(UNIT_PYTHON, sys.executable)
        elif command == "k8s":
            note = check(theirs)
            kind = options.pop("kind", KINDS[0])
            text = manifest(ClusterJob(words=tuple(theirs), **options), kind)
        else:
            job = Job(words=tuple(theirs), setup=tuple(options.pop("setup", ())), **options)
            note = check((*theirs, *job.added_words()) if theirs else ())
            text = script(job)
        if note:
            print(f"note: {note}", file=sys.stderr)
        if output is None:
            print(text, end="")
        else:
            output.write_text(text)
    except ValueError as wrong:
        parser.error(str(wrong))
    except OSError as failed:
        print(f"{output} cannot be written: {failed.strerror}", file=sys.stderr)
        return 74
    return 0


def _advice(unknown: Sequence[str], command: str, parser: argparse.ArgumentParser) -> str:
    """Return the error for words that a command does not have: the near option, or a missing ``--``."""
    word = unknown[0].partition("=")[0]
    if not word.startswith("-"):
        return f"{word!r} is not an option; write -- before dgraph's words: python -m launch {command} … -- {word} …"
    near = get_close_matches(word, [name for name in parser._option_string_actions if name.startswith("--")], 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{command} has no option {word}; {meant}see python -m launch {command} --help"


class _Parser(argparse.ArgumentParser):
    """Parser whose result omits options that were not given, so that :class:`Job` supplies the defaults."""

    def __init__(self, **options: Any):
        super().__init__(argument_default=argparse.SUPPRESS, allow_abbrev=False, **options)
        once(self)


def _slurm(parser: argparse.ArgumentParser) -> None:
    add, default = parser.add_argument, Job()
    add("--nodes", type=int, metavar="N", help=f"number of nodes (default {default.nodes})")
    add("--ranks", type=int, metavar="N", help=f"ranks per node (default {default.ranks})")
    add("--cpus", type=int, metavar="N", help="cores per rank (default: Slurm's)")
    add("--gpus", type=int, metavar="N", help=f"GPUs per node (default {default.gpus})")
    add("--time", help=f"time limit: minutes, HH:MM:SS or DAYS-HH (default {default.time})")
    add("--name", help=f"job name (default {default.name})")
    add("--partition", help="Slurm partition (queue)")
    add("--account", help="Slurm account to charge")
    add("--array", metavar="TASKS", help="0-9%%2: one task per line of a list of sources, two at a time")
    add("--requeue", action="store_true", help="stop with a checkpoint before the time limit, requeue, and resume")
    add("--image", metavar="FILE.sif", help="run in an Apptainer image")
    add("--mpi", choices=MPI, help=f"pmi2: MPICH, pmix: Open MPI (default {default.mpi})")
    add(
        "--setup",
        action="append",
        metavar="LINE",
        help="shell line to run before the start, such as module load; may be given several times",
    )
    add("-o", "--output", type=Path, metavar="FILE", help="write the script to FILE, not to stdout")


def _k8s(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--kind", choices=KINDS, help="JobSet, or MPIJob of Kubeflow's MPI operator (default jobset)")
    add("--nodes", type=int, metavar="N", help="number of workers (default 1)")
    add("--ranks", type=int, metavar="N", help="ranks per worker (default 4)")
    add("--cpus", type=int, metavar="N", help="cores per worker (default: one a rank)")
    add("--gpus", type=int, metavar="N", help="NVIDIA GPUs per worker (default 0)")
    add("--memory", metavar="SIZE", help="memory of a worker (default 16Gi)")
    add("--image", help="container image with dgraph (default dgraph)")
    add("--name", help="job name (default dgraph)")
    add("--claim", help="persistent volume claim for /data (default: an empty folder)")
    add("--secret", help="secret with the SSH key of a JobSet (default dgraph-ssh)")
    add("-o", "--output", type=Path, metavar="FILE", help="write the manifest to FILE, not to stdout")


if __name__ == "__main__":
    sys.exit(main())
