"""``NamedIds``: original ids of named vertices, each the position of a name in the sorted table of all names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgraph.comm.owner_directed import swap
from dgraph.graph.ids import VertexIds, inserted
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

    def grown(self, fresh, comm):
        """Return the ids with the names ``fresh`` in their places: all later numbers rise; collective."""
        here, starts = self.table.here, self.table.starts
        width = max(here.itemsize, fresh.itemsize)
        here, fresh = here.astype(f"S{width}", copy=False), fresh.astype(f"S{width}", copy=False)
        firsts = swap(comm, [here[:1]] * comm.size)
        holders = np.array([rank for rank, first in enumerate(firsts) if first.size], np.int64)
        places = np.maximum(np.searchsorted(np.concatenate(firsts), fresh, side="right") - 1, 0)
        here, starts, below = inserted(here, starts, fresh, holders[places] == comm.rank, comm)
        return NamedIds(Names(here, starts)), below
