"""Recipes of images: rules of hadolint (by number), shellcheck of their commands, pinned versions.

Images are built where a container engine answers and reaches the base image. ``docs/guide/mpi-and-slurm.md`` describes
the images.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib

import pytest
from children import ROOT
from test_launch import shellcheck

DOCKER = ROOT / "docker"
DOCKERFILES = ["Dockerfile", "Dockerfile.cuda"]
KNOWN = ["FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "HEALTHCHECK", "CMD"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = dict(
    line.split("==") for line in (DOCKER / "constraints.txt").read_text().splitlines() if not line.startswith("#")
)


def instructions(text):
    """Return (word, rest) of every instruction, with continued lines joined."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    whole = [line for line in "\n".join(lines).replace("\\\n", "").splitlines() if line.strip()]
    return [tuple(line.split(maxsplit=1)) for line in whole]


def violations(text):
    """Return the numbers of the rules that a Dockerfile breaks."""
    steps = instructions(text)
    stages = [i for i, (word, _) in enumerate(steps) if word == "FROM"]
    final = steps[stages[-1] :]
    of = {word: [rest for name, rest in steps if name == word] for word, _ in steps}
    last = dict(final)
    runs = " && ".join(of.get("RUN", []))
    installs = [part for part in runs.split("&&") if "pip install" in part]
    checks = {
        "DL3000: WORKDIR is absolute": all(rest.startswith("/") for rest in of.get("WORKDIR", [])),
        "DL3002: the last USER is not root": last.get("USER", "root") not in ("root", "0"),
        "DL3004: no sudo": "sudo" not in runs,
        "DL3006, DL3007: images have a version": all(re.search(r":\d+\.\d+\.\d+", rest) for rest in of["FROM"]),
        "DL3013: pip's versions are pinned": all("--constraint" in part for part in installs),
        "DL3020: COPY, not ADD": "ADD" not in of,
        "DL3025: CMD in JSON": last.get("CMD", "").startswith("[") and "CMD [" in last.get("HEALTHCHECK", "CMD ["),
        "DL3042: pip keeps no cache": all("--no-cache-dir" in part for part in installs),
        "DL3057: there is a HEALTHCHECK": "HEALTHCHECK" in last,
        "DL4006: no pipe that could fail unseen": "|" not in runs,
        "stages: what builds is left behind": len(stages) == 2 and "--from=build" in last.get("COPY", ""),
        "words: nothing that these rules do not know": set(of) <= set(KNOWN),
    }
    return [name.partition(":")[0] for name, holds in checks.items() if not holds]


@pytest.mark.parametrize("name", DOCKERFILES)
def test_dockerfiles_break_no_rule(name):
    assert violations((DOCKER / name).read_text()) == []


@pytest.mark.quick
@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("WORKDIR /data", "WORKDIR data", "DL3000"),
        ("USER dgraph", "USER root", "DL3002"),
        ("python3 -m venv", "sudo python3 -m venv", "DL3004"),
        ("python:3.11.13-slim-bookworm AS", "python:latest AS", "DL3006, DL3007"),
        ("--constraint constraints.txt ", "", "DL3013"),
        ("COPY launch", "ADD launch", "DL3020"),
        ('CMD ["python", "-m", "dgraph", "--help"]', "CMD python -m dgraph", "DL3025"),
        ("--no-cache-dir ", "", "DL3042"),
        ("HEALTHCHECK", "# HEALTHCHECK", "DL3057"),
        ("&& mkdir /data", "| mkdir /data", "DL4006"),
        ("--from=build ", "", "stages"),
        ("USER dgraph", "USER dgraph\nVOLUME /data", "words"),
    ],
)
def test_the_rules_can_be_broken(old, new, rule):
    text = (DOCKER / "Dockerfile").read_text()
    assert old in text
    assert rule in violations(text.replace(old, new))


def steps_of(name):
    """Return the shell commands of a recipe."""
    text = (DOCKER / name).read_text()
    if name.endswith(".def"):
        return re.search(r"%post\n(.*?)\n%", text, re.DOTALL).group(1)
    return "\n".join(rest for word, rest in instructions(text) if word == "RUN")


@pytest.mark.parametrize("name", [*DOCKERFILES, "dgraph.def"])
def test_shellcheck_has_nothing_to_say_of_what_is_run(name, tmp_path):
    (tmp_path / "steps.sh").write_text(f"#!/bin/sh\n{steps_of(name)}\n")
    done = subprocess.run([shellcheck(), "--norc", tmp_path / "steps.sh"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def sources(name):
    """Return the paths of the checkout that a recipe copies."""
    text = (DOCKER / name).read_text()
    if name.endswith(".def"):
        listed = re.search(r"%files\n(.*?)\n\n", text, re.DOTALL).group(1)
        return [line.split()[0] for line in listed.splitlines()]
    copies = [rest for word, rest in instructions(text) if word == "COPY" and "--from" not in rest]
    return [path for rest in copies for path in rest.split()[:-1]]


@pytest.mark.parametrize("name", [*DOCKERFILES, "dgraph.def"])
def test_recipes_copy_every_package_and_nothing_that_is_not_there(name):
    paths = set(sources(name))
    assert all((ROOT / path).exists() for path in paths)
    assert {"dgraph", "partitioning", "launch", "pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]} <= paths
    let_in = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all(any(fnmatch.fnmatch(path, rule) for rule in let_in) for path in paths)


SECTIONS = ["files", "post", "environment", "test", "runscript", "labels"]
"""Sections of an Apptainer recipe, in the order of a build."""


def test_the_recipe_of_apptainer_has_its_sections():
    text = (DOCKER / "dgraph.def").read_text()
    head = dict(line.split(": ") for line in text.partition("%")[0].splitlines() if line and not line.startswith("#"))
    assert head.keys() == {"Bootstrap", "From"}
    assert head["Bootstrap"] == "docker"
    assert re.findall(r"^%(\w+)$", text, re.MULTILINE) == SECTIONS
    assert re.findall(r"^%.*", text, re.MULTILINE) == [f"%{name}" for name in SECTIONS]
    outside = [line for line in text.partition("%")[2].splitlines()[1:] if line and not line.startswith(("    ", "%"))]
    assert outside == []


def test_all_recipes_start_from_one_image():
    texts = [(DOCKER / name).read_text() for name in (*DOCKERFILES, "dgraph.def")]
    bases = {base for text in texts for base in re.findall(r"^(?:FROM|From:) (\S+)", text, re.MULTILINE)}
    assert len(bases) == 1
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert re.fullmatch(rf"python:{re.escape(oldest)}\.\d+-slim-\w+", bases.pop())


@pytest.mark.parametrize("name", [*DOCKERFILES, "dgraph.def"])
def test_recipes_install_extras_that_there_are(name):
    (extras,) = re.findall(r"pip install .*'\.\[([\w,]+)\]'", steps_of(name))
    assert "mpi" in extras.split(",")
    assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()


UNREACHABLE = (
    r"pinging container registry|failed to resolve source metadata|dial tcp|no such host|connection refused"
    r"|CERTIFICATE_VERIFY_FAILED|NewConnectionError"
)
"""Words of engines that reach no registry of images, and of a pip in a container that reaches no index."""

BUILD_WORDS = shlex.split(os.environ.get("DGRAPH_TEST_BUILD_WORDS", ""))
"""More words of a build, such as ``-v /etc/ssl/certs:/etc/ssl/certs:ro`` behind a proxy with its own certificate."""

PROBE = ["python", "-m", "dgraph", "cc", "path:4", "--quiet", "--format", "json"]


def answering(*engines):
    """Return the first of these engines that answers; skip the test if none does."""
    for engine in filter(shutil.which, engines):
        if subprocess.run([engine, "version"], capture_output=True, timeout=60).returncode == 0:
            return engine
    pytest.skip(f"no container engine: none of {', '.join(engines)} answers")


def engine_ran(*command):
    """Run a command of an engine; return what it printed. Skip the test if it reaches no registry or index."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500)
    said = done.stdout + done.stderr
    if done.returncode and re.search(UNREACHABLE, said):
        pytest.skip(f"no registry or index: {said.strip().splitlines()[-1]}")
    assert done.returncode == 0, said[-4000:]
    return done.stdout


@pytest.mark.exhaustive
@pytest.mark.starts_children
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", DOCKERFILES)
def test_an_image_is_built_and_answers(name):
    engine, image = answering("docker", "podman", "buildah"), f"localhost/dgraph-test:{name.lower()}"
    engine_ran(
        engine, "bud" if engine == "buildah" else "build", *BUILD_WORDS, "-f", f"docker/{name}", "-t", image, "."
    )
    if engine == "buildah":
        container = engine_ran(engine, "from", image).strip()
        report = engine_ran(engine, "run", container, "--", *PROBE)
        engine_ran(engine, "rm", container)
    else:
        report = engine_ran(engine, "run", "--rm", image, *PROBE)
    engine_ran(engine, "rmi", image)
    assert json.loads(report)["outcome"]["summary"]["components"] == 1


@pytest.mark.exhaustive
@pytest.mark.starts_children
@pytest.mark.timeout(1800)
def test_the_recipe_of_apptainer_is_built_and_answers(tmp_path):
    engine = answering("apptainer", "singularity")
    engine_ran(engine, "build", str(tmp_path / "dgraph.sif"), "docker/dgraph.def")
    report = engine_ran(engine, "exec", str(tmp_path / "dgraph.sif"), *PROBE)
    assert json.loads(report)["outcome"]["summary"]["components"] == 1


def names(requirements):
    return {re.match(r"[\w-]+", text).group().lower().replace("_", "-") for text in requirements}


def test_every_dependency_is_pinned():
    wanted = names(PROJECT["dependencies"]) | names(PROJECT["optional-dependencies"]["mpi"])
    wanted |= names(PROJECT["optional-dependencies"]["service"])
    installed = names(re.findall(r"cupy-[\w-]+|nvidia-[\w-]+", steps_of("Dockerfile.cuda")))
    assert wanted | installed <= PINS.keys()
    assert {"cupy-cuda12x", "nvidia-nccl-cu12"} <= installed
    assert all(re.fullmatch(r"[\d.]+", version) for version in PINS.values())


def serve_words(text):
    """Return the words behind ``serve`` of a command."""
    words = re.findall(r"[^\s,\"\[\]]+", text)
    return words[words.index("serve") + 1 :]


def test_the_unit_of_systemd_starts_the_service():
    unit = (ROOT / "launch" / "service" / "dgraph.service").read_text()
    args = parser().parsed(serve_words(re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE).group(1)))
    assert args["no_tcp"]
    assert str(args["state_dir"]) == "/var/lib/" + re.search(r"^StateDirectory=(.*)$", unit, re.MULTILINE).group(1)
    assert f"RuntimeDirectory={args['socket'].parent.name}\n" in unit
    assert f"ReadWritePaths={args['data_root']}\n" in unit
    assert int(re.search(r"^TimeoutStopSec=(\d+)", unit, re.MULTILINE).group(1)) > DRAIN_S


def test_the_compose_file_starts_the_service_and_asks_it():
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]["dgraph"]
    start, words = service["command"][:4], service["command"][4:]
    assert start == ["python", "-m", "dgraph", "serve"]
    args = parser().parsed(words)
    assert (DOCKER / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    assert service["ports"] == [f"127.0.0.1:8484:{args['port']}"]
    assert args["bind"] == "0.0.0.0"
    assert f"http://localhost:{args['port']}/readyz" in service["healthcheck"]["test"][-1]
    places = {volume.split(":")[1] for volume in service["volumes"]}
    assert {str(args["token_file"]), str(args["data_root"]), str(args["state_dir"].parent)} == places
    assert int(service["stop_grace_period"].removesuffix("s")) > DRAIN_S


DRAIN_S = 20
"""Seconds within which the service ends."""


def parser():
    from dgraph.cli.serve import serve_parser

    return serve_parser()
