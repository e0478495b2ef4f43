"""StoredGraph: a graph in a store. ``Graph`` is imported from here: only then can it open stores."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dgraph.comm import Comm
from dgraph.comm.rank_threads import rank_threads
from dgraph.errors import UsageError
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.block import EdgeBlock, GraphFacts, LoadFacts, gid_type
from dgraph.graph.build.fingerprint import local_fingerprint
from dgraph.graph.build.local_graph import build
from dgraph.graph.build.rows_of_parts import rows_of, rows_of_arcs
from dgraph.graph.build.weights import check_rule, hashed_weights
from dgraph.graph.handle import Graph, Partitioned
from dgraph.graph.ids import ConsecutiveIds, SparseIds, VertexIds
from dgraph.graph.load import reweigh
from dgraph.graph.load_options import LoadOptions
from dgraph.graph.local import LocalGraph
from dgraph.graph.named_ids import NamedIds
from dgraph.graph.names import Names
from dgraph.graph.stored.files import IDS, NAMES, read_attributes, read_part, reading, weights
from dgraph.graph.stored.repartition import owners, repartitioned, share
from partitioning import Placement
from partitioning.arrays import arcs
from partitioning.store import Store, part_file

CHANGES = ("directed", "weights", "seed", "verify")
"""The options of a load that mean something for a store."""


class StoredGraph(Graph):
    """A graph whose partition lies in a store: nothing is read as text, nothing placed anew under its own policy.

    ``block`` is put together from the parts when something asks for it: another policy, an undirected form, a proof.
    """

    stored = True
    _whole = SharedAttribute()

    def __init__(self, store: Store, comm: Comm, options: LoadOptions | None = None):
        options = options or LoadOptions()
        graph, split = store.manifest["graph"], store.manifest["partition"]
        self.store, self.comm = store, comm
        self.rule, self.seed = options.weights, options.seed
        names = {field.name for field in fields(LoadFacts)}
        facts = LoadFacts(**{name: fact for name, fact in graph["facts"].items() if name in names})
        facts.notes.append(f"opened from {store.path}: {split['parts']} parts by {split['policy']}")
        kind = None if graph["weights"] is None else np.dtype(graph["weights"])
        if self.rule is not None:
            none = np.zeros(0, np.int64)
            kind = None if self.rule == "unit" else hashed_weights(none, none, self.rule, 0, True).dtype
        ids: VertexIds
        if graph.get("named"):
            ids = _named_ids(store, comm)
        else:
            ids = StoredIds(store) if graph["sparse_ids"] else ConsecutiveIds(graph["vertices"], graph["base"])
        size = graph["vertices"], graph["edges"], graph["arcs"]
        graph_facts = GraphFacts(*size, graph["directed"], kind, ids, facts)
        self._begin(graph_facts, graph["fingerprint"] if self.rule is None else None)

    @classmethod
    def from_path(cls, path: str | os.PathLike, comm: Comm, options: LoadOptions) -> Graph:
        """Return the graph of a store, with the weights and the directedness that ``options`` ask for.

        Raises:
            UsageError: options that decide how edges are cleaned: that was decided when the store was written.
            DataError: the folder is not a store, or was changed since it was written.
        """
        for option in fields(LoadOptions):
            if option.name not in CHANGES and getattr(options, option.name) != option.default:
                raise UsageError(
                    f"{path}: {option.name} is for graphs that are read from text or generated, and a store's was when "
                    "it was written; write it again from its source"
                )
        if options.weights is not None:
            check_rule(options.weights)
        threads = rank_threads(comm)
        with comm.together(), reading():
            store = Store.open(Path(path), options.verify, threads)
        if options.directed in (None, store.manifest["graph"]["directed"]):
            return cls(store, comm, options)
        plain = cls(store, comm)
        if options.directed:
            changed: Graph = Owned(replace(plain.block, directed=True, m=plain.arcs), plain)
        else:
            changed = plain.undirected()
        if options.weights is not None:
            reweigh(changed.block, options.weights, options.seed)
        return changed

    def _of_rows(self, block: EdgeBlock) -> Graph:
        return Owned(block, self)

    def _release(self) -> None:
        self._whole = None

    @property
    def block(self) -> EdgeBlock:
        """This rank's rows, assembled from the parts at first use; collective then."""
        if self._whole is None:
            self._whole = self._assembled()
        return self._whole

    @property
    def edge_attributes(self) -> dict[str, np.dtype]:
        """Columns that the store has of the edges: name → dtype, object for text; no row is read."""
        self._check_open()
        with reading():
            return {name: column.kind for name, column in read_attributes(self.store, 0, 0).items()}

    def _assembled(self) -> EdgeBlock:
        split = self.store.manifest["partition"]
        if split["parts"] == self.comm.size == 1 and split["cut"] == "outgoing":
            with self.comm.together(), reading():
                local = read_part(self.store, 0)
            block = rows_of(self._known, local, self.comm)
        else:
            with self.comm.together(), reading():
                src, dst, weight = _arcs(self.store, self.comm)
            block = rows_of_arcs(self._known, src, dst, weight, self.comm)
        first = self.comm.before(block.targets.size)
        with self.comm.together(), reading():
            block.attributes = read_attributes(self.store, first, block.targets.size)
        if self.rule is not None:
            reweigh(block, self.rule, self.seed)
        return block

    def hub(self) -> int | str:
        """Return the vertex with most out-edges, as the manifest has it; collective where vertices have names."""
        number, names = self.store.manifest["graph"]["hub"], self.ids.names
        return number if names is None else names.of(np.array([number]), self.comm)[0]

    def opened(self, policy: str) -> Partitioned | None:
        """Return the store's partition, where ``policy`` is "auto" or the store's own; collective."""
        split = self.store.manifest["partition"]
        if policy not in ("auto", split["policy"]):
            return None
        if self.comm.size == split["parts"]:
            with self.comm.together(), reading():
                local = read_part(self.store, self.comm.rank)
            reason = f"the store's, mapped as it is; {split['reason']}"
        else:
            local = repartitioned(self._known, self.store, self.comm)
            reason = f"the store's {split['parts']} parts, dealt out to {self.comm.size} ranks by chunks"
        if self.rule is not None:
            local.out = replace(local.out, weights=self._weighed(local))
        return Partitioned(split["policy"], reason, "", local)

    def _weighed(self, local: LocalGraph) -> np.ndarray | None:
        """Return the weights of local arcs by the rule that replaces the store's."""
        if self.weight_type is None or self.rule is None:
            return None
        weights = np.empty(len(local.out.neighbours), self.weight_type)
        rows = np.repeat(np.arange(local.size, dtype=np.uint32), np.diff(local.out.offsets))
        for start in range(0, len(weights), arcs.CHUNK):
            piece = slice(start, start + arcs.CHUNK)
            ends = local.gids[rows[piece]], local.gids[local.out.neighbours[piece]]
            weights[piece] = hashed_weights(*ends, self.rule, self.seed, self.directed)
        return weights

    def _hashed(self) -> str:
        """Hash the graph with its present weights; the manifest has the hash with the store's weights only."""
        for policy in ("auto", *self.partitions):
            if policy in self.partitions:
                return local_fingerprint(self.partitions[policy].local, self.comm)
        return super()._hashed()


class Owned(Graph):
    """A graph made from a store's, with other arcs: its vertices keep their owners, so nothing is placed anew."""

    stored = True
    store: Store

    def __init__(self, block: EdgeBlock, source: StoredGraph | Owned):
        super().__init__(block, source.comm)
        self.store = source.store

    def _of_rows(self, block: EdgeBlock) -> Graph:
        return Owned(block, self)

    def opened(self, policy: str) -> Partitioned | None:
        """Return a partition with the store's owners, built from this graph's arcs; collective."""
        split = self.store.manifest["partition"]
        if policy not in ("auto", split["policy"]):
            return None
        owner = owners(self.n, self.store, self.comm)
        reason = "the store's owners; the arcs are not the store's, each lies at its source's owner"
        placement = Placement(split["policy"], "outgoing", self.comm.size, owner, reason=reason)
        return Partitioned(split["policy"], reason, "", build(self.block, placement, self.comm))


@dataclass(frozen=True)
class StoredIds(VertexIds):
    """Sparse original ids, ascending, on the pages of a store's file: any rank looks up any, without communication."""

    store: Store

    @cached_property
    def _table(self) -> np.ndarray:
        return self.store.array(IDS, "values", [])

    def to_original(self, gids, comm):
        """Return the original ids of ``gids``."""
        self._check(comm)
        return self._table[np.asarray(gids).astype(np.int64)]

    def to_gid(self, originals, comm):
        """Return the gids of ``originals``, int64; -1 where an id does not occur."""
        self._check(comm)
        originals = np.asarray(originals, np.int64)
        if not self._table.size:
            return np.full(originals.shape, -1, np.int64)
        positions = np.minimum(np.searchsorted(self._table, originals), self._table.size - 1)
        return np.where(self._table[positions] == originals, positions, -1)

    def grown(self, fresh, comm):
        """Return the ids in memory, with ``fresh`` in their places; collective."""
        self._check(comm)
        starts = self._table.size * np.arange(comm.size + 1, dtype=np.int64) // comm.size
        here = np.array(self._table[starts[comm.rank] : starts[comm.rank + 1]])
        lowest = np.append(self._table, np.iinfo(np.int64).max)[starts[:-1]]
        lowest[0] = 0
        return SparseIds(here, starts, lowest).grown(fresh, comm)

    def _check(self, comm: Comm) -> None:
        """Before the first look-up every rank checks its share of the file."""
        if "_checked" not in self.__dict__:
            with comm.together(), reading():
                self.store.array(IDS, "values", share(self.store, IDS, comm))
            self.__dict__["_checked"] = True


def _named_ids(store: Store, comm: Comm) -> NamedIds:
    """Map this rank's even share of the names; collective.

    Raises:
        DataError: on all ranks, if the store is not as it was written.
    """
    starts = store.length(NAMES, "values") * np.arange(comm.size + 1, dtype=np.int64) // comm.size
    first, stop = starts[comm.rank : comm.rank + 2].tolist()
    with comm.together(), reading():
        words = store.array(NAMES, "values", store.blocks(NAMES, "values", first, stop))[first:stop]
    return NamedIds(Names(words, starts))


def _arcs(store: Store, comm: Comm) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return all arcs of this rank's share of the parts, by gid."""
    parts = store.manifest["partition"]["parts"]
    first, stop = (parts * rank // comm.size for rank in (comm.rank, comm.rank + 1))
    kind = store.manifest["graph"]["weights"]
    gid = gid_type(store.manifest["graph"]["vertices"])
    src, dst, weight = [np.zeros(0, gid)], [np.zeros(0, gid)], [np.zeros(0, kind or np.int32)]
    for part in range(first, stop):
        file = part_file(part)
        gids = store.array(file, "gids").astype(gid)
        src.append(np.repeat(gids, np.diff(store.array(file, "offsets"))))
        dst.append(gids[store.array(file, "neighbours")])
        part_weights = weights(store, part)
        if part_weights is not None:
            weight.append(part_weights)
    return np.concatenate(src), np.concatenate(dst), None if kind is None else np.concatenate(weight)


Graph.opener = StoredGraph.from_path
