"""Original ids of vertices that have names: each id is the place of a name in the sorted table of all names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.graph.ids import VertexIds
from dgraph.graph.names import Names


@dataclass(frozen=True)
class NamedIds(VertexIds):
    """Gids that are numbers of names: their original ids are those numbers."""

    table: Names

    @property
    def names(self):
        return self.table

    def to_original(self, gids, comm):
        return np.asarray(gids).astype(np.int64, copy=False)

    def to_gid(self, originals, comm):
        gids = np.asarray(originals, np.int64)
        return np.where((gids >= 0) & (gids < self.table.starts[-1]), gids, -1)
