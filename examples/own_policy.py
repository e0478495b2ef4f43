"""A partitioning policy of your own: stripes of vertices, dealt out to the parts in turn.

python -m partitioning grid:300x300 -n 8 --policy examples.own_policy:stripes,width=300
mpirun -n 4 python -m dgraph cc grid:300x300 --policy examples.own_policy:stripes,width=300
"""

import numpy as np

from partitioning import Placement, policy


@policy("stripes", "stripes of consecutive vertices, dealt out in turn")
def stripes(edges, parts, comm, *, width: int = 64):
    def owner(gids):
        return (gids // width % parts).astype(np.int32)

    return Placement("stripes", cut="outgoing", parts=parts, owner=owner)
