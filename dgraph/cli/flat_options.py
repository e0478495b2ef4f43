"""From flat options, as a command line has them, to the objects of the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dgraph.backend.transport_names import AUTO, MPI_HOST, TRANSPORTS
from dgraph.engine.checkpoint import Checkpoint
from dgraph.engine.run_options import Options
from dgraph.errors import UsageError, unknown
from dgraph.graph.devices import DEVICES, Auto, Cpu, Cuda, Device
from dgraph.testing import TestOptions

OPTION_FIELDS = ("direction", "schedule", "rounds", "max_rounds", "sync", "record", "watchdog")
TEST_AIDS = {"direction": "flip", "sync": "poison"}


def device_of(flat: Mapping[str, Any]) -> Device:
    """Return the device of ``backend``, ``threads``, ``gpus``, ``gpu_memory``, ``transport``, ``allow_gpu_sharing``.

    Raises:
        UsageError: an unknown backend, or an option that it does not have.
    """
    name = flat.get("backend", "auto")
    if name not in DEVICES:
        raise unknown("backend", name, DEVICES)
    args: dict[str, Any] = {
        "threads": flat.get("threads"),
        "gpus": flat.get("gpus"),
        "transport": flat.get("transport"),
        "memory": flat.get("gpu_memory"),
        "share": flat.get("allow_gpu_sharing") or None,
    }
    args = {key: value for key, value in args.items() if value is not None}
    if name == "cpu":
        transport = args.get("transport", AUTO)
        if transport not in (AUTO, *TRANSPORTS):
            raise unknown("transport", transport, (AUTO, *TRANSPORTS))
        if transport in (AUTO, MPI_HOST):
            args.pop("transport", None)
        args.pop("share", None)
        for option in args.keys() - {"threads"}:
            flag = {"memory": "gpu-memory"}.get(option, option)
            raise UsageError(
                f"--{flag} {args[option]} is about GPUs, and --backend cpu takes none; leave one of them out"
            )
        return Cpu(**args)
    if name == "cuda":
        args.pop("threads", None)
        return Cuda(**args)
    return Auto(**args)


def options_of(flat: Mapping[str, Any]) -> Options:
    """Return the fields of :class:`~dgraph.Options` among flat options; with test aids where one was named."""
    args = {name: flat[name] for name in OPTION_FIELDS if flat.get(name) is not None}
    aids = any(args.get(name) == word for name, word in TEST_AIDS.items())
    return TestOptions(**args) if aids else Options(**args)


def checkpoint_of(flat: Mapping[str, Any]) -> Checkpoint | None:
    """Return the checkpoint of the options ``checkpoint``, ``checkpoint_every`` and ``resume``.

    Raises:
        UsageError: one of the last two without the first.
    """
    if "checkpoint" in flat:
        return Checkpoint(flat["checkpoint"], flat.get("checkpoint_every"), flat.get("resume"))
    if {"resume", "checkpoint_every"} & flat.keys():
        raise UsageError("--resume and --checkpoint-every need --checkpoint DIR, the folder of the checkpoints")
    return None


def run_keywords(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``weight``, ``options``, ``validate`` and ``checkpoint`` of :func:`dgraph.run` from flat options."""
    return {
        "weight": flat.get("weight"),
        "options": options_of(flat),
        "validate": bool(flat.get("validate")),
        "checkpoint": checkpoint_of(flat),
    }
