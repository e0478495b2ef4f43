"""Which GPU is whose: by the user's map, the only one that is visible, or the rank's place on its node."""

from __future__ import annotations

from typing import Any

from dgraph.comm import Comm
from dgraph.errors import UsageError


def number(gpus: str | None, place: int, ranks_here: int, visible: int) -> tuple[int, str]:
    """The number of a rank's GPU among those that its process sees, and how it was found.

    Args:
        gpus: numbers by the rank's place on its node, "0,1,2,3"; None: none were named.
        place: this rank's.
        ranks_here: ranks of this node.
        visible: GPUs that the process sees, 1 or more.

    Raises:
        UsageError: the map is none, is too short, or names a GPU that is not there.
    """
    if gpus is None:
        return (0, "the only one visible") if visible == 1 else (place % visible, "by place on the node")
    words = [word.strip() for word in gpus.split(",")]
    if not all(word.isdigit() for word in words):
        raise UsageError(f"--gpus {gpus} is no list of GPUs; write their numbers by place on the node, such as 0,1,2,3")
    if len(words) < ranks_here:
        raise UsageError(f"--gpus {gpus} names {len(words)} for the {ranks_here} ranks of this node; name one for each")
    if int(words[place]) >= visible:
        raise UsageError(
            f"--gpus {gpus}: there is no GPU {words[place]}, only 0 to {visible - 1} "
            "(CUDA_VISIBLE_DEVICES and the batch system may hide others)"
        )
    return int(words[place]), f"as --gpus {gpus} says"


def gpus_of_ranks(device: Any, how: str, comm: Comm) -> list[dict]:
    """Every rank's GPU, by rank: ``number``, ``name``, ``uuid``, ``how``, ``mps``; collective."""
    return comm.allgather_lasting("gpu", lambda: {
        "number": device.number, "name": device.name, "uuid": device.raw.uuid(), "how": how,
        "mps": device.raw.under_mps(),
    })  # fmt: skip


def shared(bound: list[dict]) -> dict[str, list[int]]:
    """GPUs of more than one rank: UUID → ranks."""
    ranks: dict[str, list[int]] = {}
    for rank, gpu in enumerate(bound):
        ranks.setdefault(gpu["uuid"], []).append(rank)
    return {uuid: held for uuid, held in ranks.items() if len(held) > 1}


def refuse_shared(bound: list[dict], allowed: bool) -> str:
    """A warning about ranks that share a GPU, "" where none do; all ranks see the same.

    Raises:
        UsageError: some do, and the user has not allowed it.
    """
    found = shared(bound)
    if not found:
        return ""
    uuid, ranks = next(iter(found.items()))
    what = f"ranks {', '.join(map(str, ranks))} share GPU {bound[ranks[0]]['number']} ({uuid})"
    if len(found) > 1:
        what += f", and {len(found) - 1} more are shared"
    if not allowed:
        raise UsageError(
            f"{what}: they would take turns, and halve its memory; start a rank a GPU, say which with --gpus, "
            "or allow it with --allow-gpu-sharing"
        )
    return f"{what}: they take turns"
