"""Minimum spanning forest over GPUs of several ranks (``forest.cuh``).

Each GPU finds the forest of its rank's edges: no other edge is in the forest of the graph (cycle property). The
edges of these forests, at most one for each vertex of each rank, go to the first rank, which joins the trees along
them. The rows of the answer name the trees of Borůvka's rounds, which choose the same edges from any superset of the
forest. The columns return to the owners of the vertices. Entry: :func:`found`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dgraph.algorithms.kernels.forest_search import RowSearch, Search, Weights, bytes_needed
from dgraph.backend.cuda.device_graph.device_graph import DeviceGraph
from dgraph.backend.cuda.device_graph.field_view import FieldView
from dgraph.backend.cuda.device_graph.lazy_result import LazyFields
from dgraph.backend.cuda.gathered import owners as gathered
from dgraph.comm import Comm
from dgraph.graph.local import LocalGraph
from dgraph.result.columns import UNREACHED, FieldColumn, same

NO_END = np.uint32(2**32 - 1)
"""End of no edge, as 32 bits."""

Sent = tuple[Any, Any]
"""Edges on the device: gids of both ends, uint64, see ``forest.cuh``, and weights in their dtype; None: all are 1."""


def found(ctx: Any, backend: Any) -> tuple[dict[str, Any], int | float, int] | None:
    """Return this rank's columns, on its GPU, the sum of the weights, and the number of edges; collective.

    None, on all ranks alike, where a rank has no GPU or too little memory on it.
    """
    local, comm = ctx.local, ctx.comm
    if backend.links is None or not 0 < local.n < 2**32 - 1:
        return None
    with ctx.record("prepare"), comm.watchdog.paused():
        backend.prepare(local, comm)
        with comm.together():
            part = backend.graph_of(local)
            need = bytes_needed(part, part=True) + gathered.owners_bytes(part, comm.size, comm.rank == 0)
        if _lacks(ctx, part, need):
            return None
        owners = gathered.owners_of(part, comm)
    with comm.together(), ctx.record("compute"):
        sent = PartSearch(part, backend.device).lightest(owners.gids)
    weights, edges = _whole(local, comm, len(sent[0]))
    if _lacks(ctx, part, _bytes_to_join(local.n, edges, weights) if comm.rank == 0 else 0):
        return None
    with ctx.record("exchange"):
        ends = owners.collected(np.uint64, sent[0], range(1))
        values = {} if sent[1] is None else owners.collected(weights.kind, sent[1], range(1))
    del sent
    columns: dict[str, Any] = {}
    answer: Any = None
    with comm.together(), ctx.record("compute"):
        if comm.rank == 0:
            join = Join(backend.device, local.n, weights, owners)
            columns, *answer = join.joined([(ends.pop(peer), values.pop(peer, None)) for peer in list(ends)])
            answer.append(owners.ids is None or owners.ids.dtype == np.uint32)
    with ctx.record("exchange"):
        weight, count, narrow = comm.bcast_json(answer)
        returned = _returned(owners, part, columns, weights, narrow)
    return returned, weight, count


def _lacks(ctx: Any, part: DeviceGraph, need: int) -> bool:
    """Return True if some rank's GPU has fewer free bytes than it needs; collective."""
    missing = gathered.lacking(part, ctx.comm, need, ("whole", "oriented"))
    if missing:
        ctx.record.choose("placement", "hosts", f"a GPU lacks {missing:,} bytes of memory for the forests")
    return bool(missing)


def _whole(local: LocalGraph, comm: Comm, edges: int) -> tuple[Weights, int]:
    """Return the weights of all ranks' edges, and the sum over ranks of ``edges``; collective."""
    weights = Weights.of(local.out)
    ranks = comm.allgather_json([edges, *([weights.low, weights.high] if local.out.arcs else [])])
    spans = [each[1:] for each in ranks if each[1:]] or [[0, 0]]
    low, high = min(each[0] for each in spans), max(each[1] for each in spans)
    return Weights(weights.kind, low, high), sum(each[0] for each in ranks)


def _bytes_to_join(n: int, edges: int, weights: Weights) -> int:
    """Return the most bytes that the first rank needs to join this many edges."""
    vertex, entry = (40, 16) if weights.packed(n) else (56, 24)
    return (vertex + 24) * n + (entry + max(entry, 8 + weights.kind.itemsize)) * edges


class PartSearch(RowSearch):
    """Search of one rank's part of a graph."""

    def __init__(self, graph: DeviceGraph, device: Any):
        super().__init__(graph, device, part=True)

    def lightest(self, gids: Any) -> Sent:
        """Return the edges of the forest, or more edges: no other is in a forest of the whole graph.

        Args:
            gids: of the vertices by position, uint32 on the device.
        """
        xp, kind = self.device.xp, self.graph.local.out.weight_type
        most = min(self.n, self.graph.edges)
        ends, weights = xp.empty(most, np.uint64), None if kind is None else xp.empty(most, kind)
        if not most:
            return ends, weights
        self._launch("begin", 1)
        bound = self.light()
        if bound is not None:
            self.lightest_first(bound)
        elif self._whole_rows():
            self.first_round()
        else:
            self._list("list_arcs", self.graph.edges // 2 + 1)
            self._rounds()
        self._drop_lists()
        self.arrays |= {"gids": gids, "sent_ends": ends, "sent_weights": weights}
        self._launch("write_chosen")
        count = self._counted()[0]
        return ends[:count], None if weights is None else weights[:count]

    def _whole_rows(self) -> bool:
        """Return True if all arcs of the masters are here and no others, as under oec.

        Their first edges then are in the forest of the whole graph.
        """
        graph, masters = self.graph, self.graph.local.masters
        return int(graph.degree[:masters].sum()) == int(graph.out.offsets[masters]) == graph.edges


class Join(Search):
    """Search of listed edges of a whole graph, whose vertices are gids."""

    def __init__(self, device: Any, n: int, weights: Weights, owners: gathered.Owners):
        super().__init__(device, n, weights, owners.ids, owners.id_places)

    def joined(self, sent: list[Sent]) -> tuple[dict[str, Any], int | float, int]:
        """Join the trees along edges; see :meth:`Search.columns`. The list is emptied, to free the edges."""
        self._launch("begin", 1)
        total = sum(len(ends) for ends, _ in sent)
        self._make_list("to", total)
        self.numbers["capacity"] = total
        while sent:
            ends, weights = sent.pop()
            self.arrays |= {"sent_ends": ends, "sent_weights": weights}
            self._launch("list_sent", len(ends))
        self.arrays |= dict.fromkeys(("sent_ends", "sent_weights"))
        self._turn(self._counted()[0])
        self._rounds()
        return self.columns()


def _returned(owners: gathered.Owners, part: DeviceGraph, columns: Any, weights: Weights, narrow: bool) -> Any:
    """Return this rank's rows of the first rank's columns; collective.

    Args:
        owners: owners of the vertices.
        part: this rank's part.
        columns: of :meth:`Search.columns`; elsewhere empty.
        weights: of the edges.
        narrow: all ids are less than ``NO_END``.
    """
    device, convert = part.device, _widened if narrow else same
    ends = {
        name: owners.returned(columns.get(name), np.uint32 if narrow else np.int64) for name in ("source", "target")
    }
    none = device.xp.equal(ends["source"], NO_END if narrow else np.int64(-1))
    weight = device.xp.ones(part.local.masters, np.int64)
    if part.local.out.weight_type is not None:
        weight = owners.returned(columns.get("weight"), weights.kind).astype(np.float64 if weights.real else np.int64)
    weight[none] = np.inf if weights.real else UNREACHED
    views = {name: FieldView(device, values, part.place) for name, values in ({"weight": weight} | ends).items()}
    fields = LazyFields(device, views, part.degree, part.original)
    return {name: FieldColumn(fields, name, same if name == "weight" else convert) for name in views}


def _widened(ends: Any) -> Any:
    """Return ends of 32 bits as int64, -1 for ``NO_END``."""
    return (ends + np.uint32(1)).astype(np.int64) - 1
