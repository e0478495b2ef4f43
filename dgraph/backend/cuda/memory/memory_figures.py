"""GPU memory of a rank, as the report gives it."""

from __future__ import annotations

from typing import Any

from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph


def memory_figures(device: Any, graph: DeviceGraph | None, planned: int, taken: int) -> dict[str, int | bool]:
    """Return figures of a rank's GPU memory.

    Args:
        device: its GPU.
        graph: graph in use.
        planned: bytes of the plan of the most demanding program.
        taken: bytes that any process took when a run last made work arrays.

    Returns:
        ``renumbered`` (vertices are numbered by degree), and bytes: used by arrays now and at the peak, planned, of
        message buffers, held by this process' pool, and taken.
    """
    return {
        "renumbered": graph is not None and graph.extent.renumbered,
        "used_bytes": device.used(),
        "peak_bytes": device.peak,
        "planned_bytes": planned,
        "messages_bytes": graph.post.boxes.bytes if graph and graph.post else 0,
        "held_bytes": device.held_bytes(),
        "taken_bytes": taken,
    }
