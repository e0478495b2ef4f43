"""The batch scripts under a real Slurm: ranks, arrays, the service, signals, preemption and requeued jobs."""

import contextlib
import os
import re
import sys
from pathlib import Path

import pytest
from children import ROOT
from processes import free_port
from slurm import Slurm, missing

from dgraph.errors import OutputError
from dgraph.service.client.http_link import Link
from launch.__main__ import main
from launch.slurm import Job, script

pytestmark = pytest.mark.starts_children

SCRIPTS = ROOT / "launch" / "scripts"
BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if why := missing():
        pytest.skip(f"no Slurm: {why}")
    with Slurm(tmp_path_factory.mktemp("slurm")) as running:
        yield running


def test_slurm_runs_four_ranks_as_the_script_stands(cluster):
    path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
    job = cluster.submit(SCRIPTS / "one_node.sbatch", "bfs", "path:40", "--source", "0", "-o", "levels.txt", **path)
    (state,) = cluster.ended(job, 120)
    assert (state["JobState"], state["ExitCode"]) == ("COMPLETED", "0:0"), cluster.told()
    lines = (cluster.folder / "levels.txt").read_text().splitlines()
    assert lines == [f"{v} {v}" for v in range(40)]
    assert re.search(r" rounds in .* on 4 ranks$", (cluster.folder / f"dgraph-{job}.out").read_text(), re.MULTILINE)


def test_slurm_runs_an_array_over_a_list_of_sources(cluster):
    (cluster.folder / "list.txt").write_text("0\n5,39\n")
    words = ["bfs", "path:40", "-o", "from.%a.txt", "-q"]
    job = cluster.submit(
        "--array=0-1%1", "--ntasks-per-node=2", SCRIPTS / "array.sbatch", "list.txt", *words,
        PATH=f"{BIN}:{os.environ['PATH']}",
    )  # fmt: skip
    assert {state["JobState"] for state in cluster.ended(job, 120)} == {"COMPLETED"}, cluster.told()
    for name, source in (("from.0.txt", 0), ("from.1.5.txt", 5), ("from.1.39.txt", 39)):
        lines = (cluster.folder / name).read_text().splitlines()
        assert lines == [f"{v} {abs(v - source)}" for v in range(40)]


def test_the_wrong_launcher_is_refused_under_slurm(cluster):
    """Check the refusal under srun without PMI, where every rank is alone."""
    job = cluster.submit(
        SCRIPTS / "one_node.sbatch", "bfs", "path:40", "-q", PATH=f"{BIN}:{os.environ['PATH']}", DGRAPH_MPI="none"
    )
    (state,) = cluster.ended(job, 120)
    assert (state["JobState"], state["ExitCode"]) == ("FAILED", "2:0"), cluster.told()
    assert "srun started 4 processes, but each is alone" in (cluster.folder / f"dgraph-{job}.out").read_text()


def test_slurm_runs_ranks_on_two_nodes(cluster):
    """Check two node daemons on one machine; only the network between nodes is not covered."""
    job = cluster.submit(
        "--nodes=2", "--ntasks-per-node=2", SCRIPTS / "many_nodes.sbatch",
        "bfs", "path:40", "--source", "0", "-o", "far.txt", PATH=f"{BIN}:{os.environ['PATH']}",
    )  # fmt: skip
    (state,) = cluster.ended(job, 120)
    assert (state["JobState"], state["NodeList"], state["NumTasks"]) == ("COMPLETED", "n[1-2]", "4"), cluster.told()
    assert (cluster.folder / "far.txt").read_text().splitlines() == [f"{v} {v}" for v in range(40)]
    assert re.search(r" rounds in .* on 4 ranks$", (cluster.folder / f"dgraph-{job}.out").read_text(), re.MULTILINE)


@pytest.mark.exhaustive
def test_slurm_runs_the_service_until_it_is_cancelled(cluster):
    tokens, port = cluster.folder / "tokens", str(free_port())
    tokens.write_text("secret\n")
    tokens.chmod(0o600)
    words = ["serve", "--port", port, "--token-file", str(tokens), "--state-dir", str(cluster.folder / "service")]
    assert main(["slurm", "--ranks", "2", "-o", str(cluster.folder / "serve.sbatch"), "--", *words]) == 0
    job = cluster.submit("serve.sbatch", PATH=f"{BIN}:{os.environ['PATH']}")
    link = Link(f"http://127.0.0.1:{port}", "secret", 30.0)

    def answers(path):
        with contextlib.suppress(OutputError):
            return link.call("GET", path)

    cluster.until(lambda: answers("/readyz"), 60, "the service")
    assert len(link.call("GET", "/v1/memory")["by_rank"]) == 2
    link.call("POST", "/v1/graphs", {"name": "p", "source": "path:9"})
    cluster.until(lambda: answers("/v1/graphs/p")["state"] == "ready", 60, "the graph")
    answer = link.call("POST", "/v1/graphs/p/path", {"source": 0, "target": 8})
    assert answer == {"vertices": list(range(9)), "length": 8}
    cluster.ask("scancel", job)
    cluster.ended(job, 30)
    cluster.until(lambda: answers("/healthz") is None, 10, "the end of the service")


FAR = 3000
"""Vertices of a path, hence rounds: the search takes seconds, so that a signal arrives during the run."""


def submit_far(cluster, *options):
    """Submit ``requeue.sbatch`` with a search of many rounds; return the job once it has written a checkpoint."""
    words = ["bfs", f"path:{FAR}", "--source", "0", "-o", "far.txt", "--report", "far.json"]
    path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
    job = cluster.submit(*options, SCRIPTS / "requeue.sbatch", *words, **path, DGRAPH_CHECKPOINT_EVERY="100")
    wait_for_checkpoint(cluster, job)
    return job


def wait_for_checkpoint(cluster, name):
    folder = cluster.folder / "checkpoints" / name
    cluster.until(lambda: list(folder.glob("set-*/manifest.json")), 60, "a checkpoint")


def goes_on(cluster, job, log):
    """Check that the job is requeued, and ends with the answer of an uninterrupted run."""
    cluster.until(lambda: cluster.states(job)[0]["Restarts"] == "1", 90, "the job in the queue again")
    cluster.start_again(job)
    (state,) = cluster.ended(job, 150)
    assert (state["JobState"], state["ExitCode"]) == ("COMPLETED", "0:0"), cluster.told()
    told = (cluster.folder / log).read_text()
    stopped = re.search(r"stopped with a checkpoint after round (\d+) of Levels", told)
    resumed = re.search(r"going on after round (\d+) of Levels.*a checkpoint of 4 ranks", told)
    assert stopped[1] == resumed[1], cluster.told()
    assert 100 <= int(resumed[1]) < FAR
    assert not (cluster.folder / "checkpoints" / job).exists()


def the_answer(cluster):
    return (cluster.folder / "far.txt").read_text().splitlines() == [f"{v} {v}" for v in range(FAR)]


@pytest.mark.exhaustive
def test_slurm_takes_a_job_back_and_it_goes_on_to_the_same_answer(cluster):
    """Check the whole cycle: signal, checkpoint, exit code 75, requeue, resume."""
    job = submit_far(cluster)
    cluster.ask("scancel", "--signal=USR1", "--batch", job)
    goes_on(cluster, job, f"dgraph-{job}.out")
    assert the_answer(cluster)


@pytest.mark.exhaustive
def test_a_job_whose_ranks_were_killed_goes_on_when_it_is_queued_again(cluster):
    """Check that the requeued run does not use shared memory that killed ranks left."""
    job = submit_far(cluster)
    cluster.ask("scancel", "--signal=KILL", f"{job}.0")
    assert cluster.ended(job, 60)[0]["JobState"] == "FAILED"
    cluster.ask("scontrol", "requeue", job)
    cluster.start_again(job)
    (state,) = cluster.ended(job, 150)
    assert (state["JobState"], state["ExitCode"]) == ("COMPLETED", "0:0"), cluster.told()
    assert the_answer(cluster)


@pytest.mark.exhaustive
@pytest.mark.parametrize("configuration", ["", "SlurmctldParameters=preempt_send_user_signal"])
def test_a_job_that_is_preempted_goes_on_afterwards(configuration, cluster, tmp_path):
    """Check Slurm's preemption: SIGTERM to all ranks or, if the site configures it, SIGUSR1 to the script."""
    with Slurm(tmp_path / "slurm", configuration) if configuration else contextlib.nullcontext(cluster) as running:
        job = submit_far(running, "--nodes=2", "--ntasks-per-node=2")
        urgent = running.submit("--partition=urgent", "--nodes=2", "--ntasks-per-node=4", "--wrap=sleep 1")
        goes_on(running, job, f"dgraph-{job}.out")
        assert running.states(urgent)[0]["JobState"] == "COMPLETED"
        assert the_answer(running)


@pytest.mark.exhaustive
def test_of_an_array_only_the_task_that_stopped_is_queued_again(cluster):
    """Check that a task is requeued by its own name: one task's job number is also that of the whole array."""
    job = submit_array(cluster)
    for task in range(2):
        wait_for_checkpoint(cluster, f"{job}_{task}")
    cluster.ask("scancel", "--signal=USR1", "--batch", f"{job}_1")
    cluster.ask("scancel", "--signal=USR1", "--batch", f"{job}_0")

    def restarts():
        return {state["ArrayTaskId"]: state["Restarts"] for state in cluster.states(job)}

    cluster.until(lambda: restarts() == {"0": "1", "1": "1"}, 60, "both tasks in the queue again")
    for task in range(2):
        cluster.start_again(f"{job}_{task}")
    assert {state["JobState"] for state in cluster.ended(job, 120)} == {"COMPLETED"}, cluster.told()
    assert restarts() == {"0": "1", "1": "1"}
    for task in range(2):
        lines = (cluster.folder / f"far.{task}.txt").read_text().splitlines()
        assert lines == [f"{v} {v}" for v in range(FAR // 2)]


def submit_array(cluster):
    text = script(Job(ranks=2, requeue=True, array="0-1", words=("bfs", f"path:{FAR // 2}", "-o", "far.%a.txt", "-q")))
    (cluster.folder / "array.sbatch").write_text(text)
    (cluster.folder / "list.txt").write_text("0\n0\n")
    path = {"PATH": f"{BIN}:{os.environ['PATH']}"}
    return cluster.submit("array.sbatch", "list.txt", **path, DGRAPH_CHECKPOINT_EVERY="100")
