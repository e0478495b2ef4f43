"""Vertices at the distance of a neighbour that leads to them, on one GPU that has all vertices.

Predecessors in a plateau of equal distances must not run in a circle; without predecessors, tight arcs must lead into
the plateau from outside, and on to all of its vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.backend.cuda.certificates import rule_numbers as rules


def follow(kernels: Any, n: int, pointing: bool) -> None:
    """Test the plateaus of ``n`` vertices with the kernels of ``tree_proof.cuh``, after all arcs were checked.

    Args:
        kernels: kernels, with the arrays of the check.
        n: vertices of the graph.
        pointing: there are predecessors.
    """
    device = kernels.device
    if pointing:
        kernels.take(pointers=device.xp.empty(n, np.uint32), level=device.xp.zeros((n + 31) // 32 + 1, np.uint32))
        kernels.launch("find_level")
        for _ in range(n.bit_length() + 1):
            kernels.launch("jump_level")
        kernels.launch("prove_level")
        return
    broken = kernels.arrays["broken"]
    before, settled = -1, 0
    while settled > before:
        before = settled
        kernels.launch("settle_arcs")
        settled = int(device.get(broken)[rules.SETTLED, 0])
