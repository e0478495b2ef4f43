"""``NamedIds``: original ids of named vertices, each the position of a name in the sorted table of all names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.graph.ids import VertexIds
from dgraph.graph.names import Names


@dataclass(frozen=True)
class NamedIds(VertexIds):
    """Ids of named vertices: gids and original ids are both numbers of names."""

    table: Names

    @property
    def names(self):
        """Table of all names."""
        return self.table

    def to_original(self, gids, comm):
        """Return the numbers of names (int64), equal to the gids; no communication."""
        return np.asarray(gids).astype(np.int64, copy=False)

    def to_gid(self, originals, comm):
        """Return the gids (int64) of numbers of names, -1 for numbers out of range; no communication."""
        gids = np.asarray(originals, np.int64)
        return np.where((gids >= 0) & (gids < self.table.starts[-1]), gids, -1)
