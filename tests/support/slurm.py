"""A Slurm cluster of two nodes for tests, on loopback in a folder of its own: a controller and two node daemons.

Debian: apt-get install --no-install-recommends slurmctld slurmd slurm-client slurm-wlm-basic-plugins
"""

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

from children import environment

DAEMONS = ("slurmctld", "slurmd")
NODES = ("n1", "n2")
CPUS = 4
"""CPUs of a node, regardless of the machine: ranks share its cores."""

GRACE = 60
"""Grace period, in seconds, of a job of the default partition that a job of ``urgent`` preempts."""

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny
ReturnToService=2
FirstJobId={first}
JobRequeue=1
KillWait=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
{more}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
{nodes}
PartitionName=test Nodes=ALL Default=YES MaxTime=1-0 State=UP PriorityTier=1 GraceTime={grace}
PartitionName=urgent Nodes=ALL MaxTime=1-0 State=UP PriorityTier=9 PreemptMode=OFF
"""


def missing() -> str:
    """Return the reason that Slurm cannot run here, or ""."""
    absent = [name for name in (*DAEMONS, "sbatch", "srun", "scontrol") if shutil.which(name) is None]
    if absent:
        return f"no {', '.join(absent)} here"
    return "" if os.geteuid() == 0 else "only root can run both of its daemons"


class Slurm:
    """Context manager of the cluster; ``folder`` gets configuration, state and logs, ``more`` is added configuration.

    Job numbers start at a random one: they name MPICH's shared memory, and that of a killed test may still exist.
    """

    def __init__(self, folder: Path, more: str = ""):
        self.folder = folder
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir(parents=True)
        self.env = environment({"SLURM_CONF": str(folder / "slurm.conf")})
        host = socket.gethostname().partition(".")[0]
        nodes = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={_free_port()} CPUs={CPUS} State=UNKNOWN"
            for node in NODES
        ]
        (folder / "slurm.conf").write_text(
            CONF.format(
                host=host,
                first=random.randrange(10_000, 60_000_000),
                controller=_free_port(),
                folder=folder,
                grace=GRACE,
                nodes="\n".join(nodes),
                more=more,
            )
        )
        self.daemons = []

    def __enter__(self) -> "Slurm":
        for name, *more in (["slurmctld"], *(["slurmd", "-N", node] for node in NODES)):
            argv = [name, "-D", "-f", str(self.folder / "slurm.conf"), *more]
            with (self.folder / f"{'-'.join([name, *more[1:]])}.log").open("wb") as log:
                started = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env)
            self.daemons.append(started)
        idle = [len(NODES)]
        self.until(
            lambda: [int(n) for n in self.ask("sinfo", "-h", "-p", "test", "-t", "idle", "-o", "%D").split()] == idle,
            30, "idle nodes",
        )  # fmt: skip
        return self

    def __exit__(self, *error) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            self.ask("scancel", "--full", "--user=root")
            self.until(lambda: not self.ask("squeue", "-h").strip(), 15, "an empty queue")
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait(20)

    def ask(self, *argv: str) -> str:
        """Return the output of a Slurm command."""
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=30, cwd=self.folder)
        return done.stdout + done.stderr

    def submit(self, *argv: str | Path, **variables: str) -> str:
        """Run ``sbatch argv`` in the folder; return the job's number."""
        done = subprocess.run(
            ["sbatch", "--parsable", *map(str, argv)], env=self.env | variables, cwd=self.folder,
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def states(self, job: str) -> list[dict[str, str]]:
        """Return the controller's record of a job, or of each task of an array."""
        text = self.ask("scontrol", "show", "job", job, "--oneliner")
        return [dict(word.partition("=")[::2] for word in line.split()) for line in text.splitlines() if "=" in line]

    def ended(self, job: str, timeout: float) -> list[dict[str, str]]:
        """Wait until a job has ended; return its states."""

        def over() -> bool:
            states = {one["JobState"] for one in self.states(job)}
            return bool(states) and states <= {"COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"}

        self.until(over, timeout, f"the end of job {job}")
        return self.states(job)

    def start_again(self, job: str) -> None:
        """Start a requeued job at once; Slurm would start it after two minutes."""
        self.until(lambda: {state["JobState"] for state in self.states(job)} == {"PENDING"}, 90, "the end of the run")
        time.sleep(2)  # slurmd refuses to launch a job in the second in which it killed it ("already killed")
        self.ask("scontrol", "update", f"JobId={job}", "StartTime=now")

    def until(self, true, timeout: float, what: str) -> None:
        """Wait until ``true()``; raise TimeoutError after ``timeout`` seconds."""
        end = time.monotonic() + timeout
        while not true():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not come in {timeout} s; {self.told()}")
            time.sleep(0.3)

    def told(self) -> str:
        """Return every log, for a failed test."""
        logs = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(f"── {log.name} ──\n{log.read_text(errors='replace')[-4000:]}" for log in logs)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
