"""Skips of a whole run: recorded by every session, reported with what they lacked, refused where nothing was."""

import json
import sys
import tomllib

import pytest
import skips
from children import ROOT, run

ALLOWED = tomllib.loads(skips.ALLOWED.read_text())
GONE = ("test_a.py::test_slurm", "no Slurm: no slurmctld, sbatch here")
NO_GPU = ("test_a.py::test_gpu", "there is no GPU")


def everything(command):
    return f"/usr/bin/{command}"


def nothing(command):
    return None


def test_a_skip_is_told_with_what_it_lacked():
    lacking, wrong = skips.sorted_out({GONE, NO_GPU}, ALLOWED, has=nothing)
    assert lacking == {"Slurm": {GONE[0]}, "a GPU": {NO_GPU[0]}}
    assert wrong == []


@pytest.mark.parametrize("skip", [GONE, ("test_a.py::test_other", "not today"), ("test_a.py", "there is no GPU, yet")])
def test_a_skip_is_wrong_where_its_need_is_there_or_its_reason_is_not_allowed(skip):
    lacking, wrong = skips.sorted_out({skip}, ALLOWED, has=everything)
    assert not lacking
    assert wrong == [f"{skip[0]}: {skip[1]}"]


def test_a_session_records_its_skips_and_the_run_fails_for_a_wrong_one(tmp_path, capsys):
    file, folder = tmp_path / "test_made_up.py", tmp_path / "skips"
    file.write_text(
        "import pytest\n\n\n"
        "def test_gpu():\n    pytest.skip('there is no GPU')\n\n\n"
        "@pytest.mark.skip(reason='not today')\ndef test_other():\n    pass\n"
    )
    where = ["-c", ROOT / "pyproject.toml", "--rootdir", tmp_path]
    extra = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}:{ROOT / 'tests' / 'support'}", skips.FOLDER: str(folder)}
    ran = run([sys.executable, "-m", "pytest", *where, "-p", "conftest", file], tmp_path / "logs", extra=extra)
    assert ran.code == 0, ran.story()
    assert {json.loads(line)["reason"] for line in next(folder.iterdir()).read_text().splitlines()} == {
        "there is no GPU", "not today",
    }  # fmt: skip
    assert skips.main(str(folder)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a GPU could not be had: 1 tests skipped for it"
    assert lines[-1] == "2 tests skipped, 1 of them for no reason in skips.toml"
