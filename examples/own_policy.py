"""User-defined partitioning policy: stripes of consecutive vertices, assigned to the parts in turn.

python -m partitioning grid:300x300 -n 8 --policy examples.own_policy:stripes,width=300
mpirun -n 4 python -m dgraph cc grid:300x300 --policy examples.own_policy:stripes,width=300
"""

import numpy as np

from partitioning import Placement, policy


@policy("stripes", "stripes of consecutive vertices, assigned in turn")
def stripes(edges, parts, comm, *, width: int = 64):
    """Place each stripe of ``width`` vertices, with its out-edges, on the next part."""

    def owner(gids):
        return (gids // width % parts).astype(np.int32)

    return Placement("stripes", cut="outgoing", parts=parts, owner=owner)
