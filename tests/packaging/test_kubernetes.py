"""Manifests of ``python -m launch k8s`` against the schemas of JobSet and MPIJob; unknown words are refused."""

import gzip
import json

import jsonschema
import pytest
import yaml
from children import ROOT

from dgraph.algorithms import ALGORITHMS
from dgraph.cli.commands import COMMANDS
from launch.__main__ import main
from launch.command_words import first_words
from launch.kubernetes import KINDS, ClusterJob, manifest

SCHEMAS = ROOT / "tests" / "support" / "kubernetes"
JOBS = {
    "small": ClusterJob(words=("cc", "rmat:10")),
    "large": ClusterJob(
        words=("sssp", 'a "file".gr', "--source", "1"), nodes=3, ranks=2, gpus=2, cpus=8, claim="graphs", name="roads"
    ),
}


def violations(kind, text):
    schema = json.loads(gzip.decompress((SCHEMAS / f"{kind}.json.gz").read_bytes()))
    return [error.json_path + ": " + error.message for error in jsonschema.Draft4Validator(schema).iter_errors(text)]


@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", JOBS)
def test_manifests_are_valid(name, kind):
    fields = yaml.safe_load(manifest(JOBS[name], kind))
    assert violations(kind, fields) == []
    assert fields["kind"].lower() == kind


@pytest.mark.quick
@pytest.mark.parametrize("kind", KINDS)
def test_the_schemas_refuse_what_is_wrong(kind):
    fields = yaml.safe_load(manifest(JOBS["large"], kind))
    fields["spec"]["nodes"] = 3
    assert any("nodes" in error for error in violations(kind, fields))


def test_ranks_and_resources():
    spec = yaml.safe_load(manifest(JOBS["large"], "jobset"))["spec"]
    workers, driver = (job["template"]["spec"] for job in spec["replicatedJobs"])
    command = driver["template"]["spec"]["containers"][0]["command"]
    assert workers["completions"] == 3
    assert workers["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 2
    assert command[command.index("-n") + 1] == "6"
    assert command[-4:] == ["sssp", 'a "file".gr', "--source", "1"]
    assert "roads-workers-0-2.roads:2" in command[command.index("-hosts") + 1]


def test_command_line(capsys):
    assert main(["k8s", "--kind", "mpijob", "--nodes", "2", "--", "leiden", "web.parts"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 2
    with pytest.raises(SystemExit):
        main(["k8s", "--memory", "much", "--", "cc", "rmat:10"])
    assert "16Gi" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["slurm", "k8s"])
def test_unknown_algorithms_are_refused(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--", "pagernak", "web.txt"])
    assert "near are pagerank" in capsys.readouterr().err
    assert main([command, "--", "examples.widest_path:WidestPath", "web.txt"]) == 0


def test_first_words_are_those_of_the_registers():
    assert first_words() == {*ALGORITHMS, *ALGORITHMS.aliases, *COMMANDS}
