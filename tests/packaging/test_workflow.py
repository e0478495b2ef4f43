"""The workflow of CI: GitHub's schema of workflows, and the machines and versions of Python that it names."""

import subprocess
import sys
import tomllib

import pytest
import yaml
from children import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
MACHINES = {"ubuntu-24.04": "Linux x86-64", "ubuntu-24.04-arm": "Linux aarch64", "macos-15": "macOS"}
VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
"""Versions of Python that are supported; the first is the oldest that the package takes."""


def check(path):
    """Check a file against GitHub's schema, of which the package has a copy."""
    pytest.importorskip("check_jsonschema", reason="pip install check-jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", path]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_workflow_is_one():
    done = check(WORKFLOW)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [("runs-on: ubuntu", "run-on: ubuntu", "jobs.all"), ("    branches: [main]", "    branch: [main]", "on.push")],
)
def test_a_wrong_word_is_seen(tmp_path, old, new, place):
    (tmp_path / "ci.yml").write_text(WORKFLOW.read_text().replace(old, new, 1))
    done = check(tmp_path / "ci.yml")
    assert done.returncode == 1
    assert place in done.stdout


def test_wheels_are_tried_on_every_machine_and_version():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    matrix = jobs["wheel"]["strategy"]["matrix"]
    assert set(matrix["os"]) == set(MACHINES)
    assert matrix["python"] == VERSIONS
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={VERSIONS[0]}"


def test_what_the_steps_name_is_there():
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    for name, job in jobs.items():
        needs = job.get("needs", [])
        assert {needs} if isinstance(needs, str) else set(needs) <= set(jobs), name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), name
            assert "@" in step.get("uses", "@"), step
    (step,) = [step["run"] for step in jobs["all"]["steps"] if "run" in step]
    assert (ROOT / step).stat().st_mode & 0o111, step
