"""Assignment of GPUs to ranks: by ``--gpus``, the only visible GPU, or the rank's place on its node."""

from __future__ import annotations

from typing import Any

from dgraph.comm import Comm
from dgraph.errors import UsageError, option


def number(gpus: str | None, place: int, ranks_here: int, visible: int) -> tuple[int, str]:
    """Return the number of a rank's GPU among those that its process sees, and how it was chosen.

    Args:
        gpus: numbers by the rank's place on its node, as in "0,1,2,3"; None: not given.
        place: place of this rank on its node, from 0.
        ranks_here: ranks of this node.
        visible: GPUs that the process sees, 1 or more.

    Raises:
        UsageError: the list is malformed, too short, or names a GPU that does not exist.
    """
    if gpus is None:
        return (0, "the only one visible") if visible == 1 else (place % visible, "by place on the node")
    words = [word.strip() for word in gpus.split(",")]
    if not all(word.isdigit() for word in words):
        raise UsageError(
            f"{option('gpus', gpus)} is not a list of GPUs; write their numbers by place on the node, such as 0,1,2,3"
        )
    if len(words) < ranks_here:
        raise UsageError(
            f"{option('gpus', gpus)} names {len(words)} for the {ranks_here} ranks of this node; name one for each"
        )
    if int(words[place]) >= visible:
        raise UsageError(
            f"{option('gpus', gpus)}: there is no GPU {words[place]}, only 0 to {visible - 1} "
            "(CUDA_VISIBLE_DEVICES and the batch system may hide others)"
        )
    return int(words[place]), f"as {option('gpus', gpus)} says"


def gpus_of_ranks(device: Any, how: str, comm: Comm) -> list[dict]:
    """Return every rank's GPU by rank: ``number``, ``name``, ``uuid``, ``how``, ``mps``; collective."""
    return comm.allgather_cached("gpu", lambda: {
        "number": device.number, "name": device.name, "uuid": device.raw.uuid(), "how": how,
        "mps": device.raw.under_mps(),
    })  # fmt: skip


def shared(bound: list[dict]) -> dict[str, list[int]]:
    """Return the GPUs of more than one rank: UUID → ranks."""
    ranks: dict[str, list[int]] = {}
    for rank, gpu in enumerate(bound):
        ranks.setdefault(gpu["uuid"], []).append(rank)
    return {uuid: sharers for uuid, sharers in ranks.items() if len(sharers) > 1}


def refuse_shared(bound: list[dict], allowed: bool) -> str:
    """Return a warning about ranks that share a GPU, or ""; the same on all ranks.

    Raises:
        UsageError: ranks share a GPU and the user has not allowed it.
    """
    gpus = shared(bound)
    if not gpus:
        return ""
    uuid, ranks = next(iter(gpus.items()))
    what = f"ranks {', '.join(map(str, ranks))} share GPU {bound[ranks[0]]['number']} ({uuid})"
    if len(gpus) > 1:
        what += f", and {len(gpus) - 1} more are shared"
    if not allowed:
        raise UsageError(
            f"{what}: they would take turns, and halve its memory; start a rank a GPU, say which with "
            f"{option('gpus')}, or allow it with {option('allow_gpu_sharing', True)}"
        )
    return f"{what}: they take turns"
