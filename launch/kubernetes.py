"""Manifests for Kubernetes: a JobSet (jobset.x-k8s.io/v1alpha2) and an MPIJob (kubeflow.org/v2beta1), as YAML.

Both start MPICH's ranks on workers over SSH, so the image needs an SSH server beside dgraph; one node needs none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

KINDS = ("jobset", "mpijob")

PORT = 2222
"""Port of the workers' SSH servers, which a user without rights may open."""

KEYS = "/etc/dgraph-ssh"
"""Folder where the secret with the SSH key is mounted."""

NAME = re.compile(r"[a-z]([-a-z0-9]{0,40}[a-z0-9])?")
QUANTITY = re.compile(r"\d+(\.\d+)?([KMGTP]i?|m)?")


@dataclass(frozen=True)
class ClusterJob:
    """Resources that a manifest requests from Kubernetes, and the command that it runs.

    Attributes:
        words: dgraph's command line.
        nodes: number of workers.
        ranks: ranks per worker.
        cpus: cores per worker; None: one a rank.
        gpus: NVIDIA GPUs per worker.
        memory: memory of a worker, such as 16Gi.
        image: container image with dgraph.
        name: name of the job, as of a host.
        claim: persistent volume claim that is mounted at /data, the folder of the run; None: an empty folder.
        secret: secret of type kubernetes.io/ssh-auth with the key by which a JobSet of several nodes starts ranks.
    """

    words: tuple[str, ...]
    nodes: int = 1
    ranks: int = 4
    cpus: int | None = None
    gpus: int = 0
    memory: str = "16Gi"
    image: str = "dgraph"
    name: str = "dgraph"
    claim: str | None = None
    secret: str = "dgraph-ssh"

    def __post_init__(self) -> None:
        if not self.words:
            raise ValueError("a manifest runs one command line; give it behind --")
        for what in ("nodes", "ranks"):
            if getattr(self, what) < 1:
                raise ValueError(f"{what} is {getattr(self, what)}, but a job has 1 or more")
        if (self.cpus is not None and self.cpus < 1) or self.gpus < 0:
            raise ValueError("give a worker 1 core or more, and 0 GPUs or more")
        for what in ("name", "secret", "claim"):
            value = getattr(self, what)
            if value is not None and not NAME.fullmatch(value):
                raise ValueError(f"{what} is {value!r}; write small letters, digits and -, a letter first")
        if not QUANTITY.fullmatch(self.memory):
            raise ValueError(f"memory is {self.memory!r}; write a quantity such as 16Gi")


def manifest(job: ClusterJob, kind: str) -> str:
    """Return the YAML of a job; ``kind`` is one of ``KINDS``."""
    fields = {"jobset": _jobset, "mpijob": _mpijob}[kind](job)
    return "\n".join(_yaml(fields)) + "\n"


def _jobset(job: ClusterJob) -> dict[str, Any]:
    hosts = [f"{job.name}-workers-0-{i}.{job.name}" for i in range(job.nodes)]
    run = ["mpirun", "-n", str(job.nodes * job.ranks), *_program(job)]
    if job.nodes == 1:
        jobs = [_replicated("driver", 1, _pod(job, "ranks", run, full=True))]
    else:
        ssh = f"-i {KEYS}/ssh-privatekey -p {PORT} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
        spread = ["mpirun", "-launcher", "ssh", "-hosts", ",".join(f"{host}:{job.ranks}" for host in hosts), *run[1:]]
        server = ["/usr/sbin/sshd", "-De", "-p", str(PORT), "-h", f"{KEYS}/ssh-privatekey",
                  "-o", f"AuthorizedKeysFile={KEYS}/ssh-publickey", "-o", "StrictModes=no"]  # fmt: skip
        driver = _pod(job, "driver", spread, full=False, ssh=True)
        driver["containers"][0]["env"] = [{"name": "HYDRA_LAUNCHER_EXTRA_ARGS", "value": ssh}]
        jobs = [
            _replicated("workers", job.nodes, _pod(job, "ranks", server, full=True, ssh=True)),
            _replicated("driver", 1, driver) | {"dependsOn": [{"name": "workers", "status": "Ready"}]},
        ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": job.name},
        "spec": {
            "network": {"enableDNSHostnames": True},
            "failurePolicy": {"maxRestarts": 0},
            "successPolicy": {"operator": "All", "targetReplicatedJobs": ["driver"]},
            "replicatedJobs": jobs,
        },
    }


def _replicated(name: str, pods: int, pod: dict[str, Any]) -> dict[str, Any]:
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": {"spec": pod}}
    return {"name": name, "replicas": 1, "template": {"spec": spec}}


def _mpijob(job: ClusterJob) -> dict[str, Any]:
    server = ["/usr/sbin/sshd", "-De", "-p", str(PORT), "-o", "StrictModes=no"]
    run = ["mpirun", "-n", str(job.nodes * job.ranks), *_program(job)]
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": job.name},
        "spec": {
            "slotsPerWorker": job.ranks,
            "mpiImplementation": "MPICH",
            "sshAuthMountPath": "/home/dgraph/.ssh",
            "runPolicy": {"cleanPodPolicy": "Running", "backoffLimit": 0},
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": {"spec": _pod(job, "driver", run, full=False)}},
                "Worker": {"replicas": job.nodes, "template": {"spec": _pod(job, "ranks", server, full=True)}},
            },
        },
    }


def _program(job: ClusterJob) -> list[str]:
    return ["python", "-m", "dgraph", *job.words]


def _pod(job: ClusterJob, name: str, command: list[str], *, full: bool, ssh: bool = False) -> dict[str, Any]:
    """Return the specification of a pod; ``full``: it runs ranks and gets the resources of a worker."""
    limits: dict[str, Any] = {"cpu": str(job.cpus or job.ranks), "memory": job.memory} if full else {}
    if full and job.gpus:
        limits["nvidia.com/gpu"] = job.gpus
    folder = {"persistentVolumeClaim": {"claimName": job.claim}} if job.claim else {"emptyDir": {}}
    volumes: list[dict[str, Any]] = [
        {"name": "data"} | folder,
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}},
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "data", "mountPath": "/data"},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ]
    if ssh:
        volumes.append({"name": "keys", "secret": {"secretName": job.secret, "defaultMode": 0o440}})
        mounts.append({"name": "keys", "mountPath": KEYS, "readOnly": True})
    container: dict[str, Any] = {"name": name, "image": job.image, "command": command, "workingDir": "/data"}
    if limits:
        container["resources"] = {"limits": limits}
    return {"restartPolicy": "Never", "containers": [container | {"volumeMounts": mounts}], "volumes": volumes}


def _yaml(value: Any, depth: int = 0) -> Iterator[str]:
    """Yield the lines of YAML of dicts, lists and scalars; strings are written as JSON, which YAML includes."""
    margin = "  " * depth
    for key, inner in value.items() if isinstance(value, dict) else (("-", inner) for inner in value):
        mark = key if key == "-" else f"{key}:"
        if not isinstance(inner, (dict, list)) or not inner:
            yield f"{margin}{mark} {json.dumps(inner)}"
        elif key == "-":
            first, *others = _yaml(inner, depth + 1)
            yield f"{margin}- {first.lstrip()}"
            yield from others
        else:
            yield f"{margin}{mark}"
            yield from _yaml(inner, depth + 1)
