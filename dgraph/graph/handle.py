"""Graph: the user's handle to a distributed graph, with the policy that places it and the device that runs it."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from html import escape
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from dgraph._support import arguments
from dgraph.comm import Comm, collective, communicator
from dgraph.comm.rank_threads import at_most
from dgraph.errors import OutOfMemory, UsageError
from dgraph.graph.bases.graph_forms import GraphForms
from dgraph.graph.bases.graph_paths import GraphPaths
from dgraph.graph.bases.shared_attribute import SharedAttribute
from dgraph.graph.block import EdgeBlock, GraphFacts
from dgraph.graph.build.local_graph import build
from dgraph.graph.build.rows_of_parts import rows_of
from dgraph.graph.change_record import Version
from dgraph.graph.changes.change import ChangedPartition
from dgraph.graph.constructors import Constructors
from dgraph.graph.devices import Device, described
from dgraph.graph.inputs.networkx_files import is_networkx_file, read_networkx_file, unread_note
from dgraph.graph.inputs.weight_values import shared_notes
from dgraph.graph.kept_columns import VertexColumns
from dgraph.graph.load import cleaned, describe, edges_about, graph_spec, read
from dgraph.graph.load_options import options_of
from dgraph.graph.local import LocalGraph
from partitioning.placement import Placement
from partitioning.store import is_store


class Partitioned(NamedTuple):
    """This rank's partition of a graph, and the policy that made it: see :class:`partitioning.Placement`."""

    policy: str
    reason: str
    warning: str
    local: LocalGraph


Building = tuple[str, str]
"""Where a generated graph was built, "host" or "device", and why."""


MOST_CHUNKS = 1 << 20
"""Pieces of a store that its index lists."""


class Graph(Constructors, GraphForms, GraphPaths):
    """A graph spread over the ranks of ``comm``; its methods are collective, but for :meth:`on`.

    ``with graph:`` gives its memory back at the end, as :meth:`close` does.

    Attributes:
        comm: the ranks.
        policy: the partitioning policy, ``NAME[,option=value…]``, see ``partitioning.choose``.
        device: where its rounds run: "auto", "cpu", "cuda", :class:`~dgraph.Cpu`, :class:`~dgraph.Cuda` or
            :class:`~dgraph.Auto`.
    """

    stored = False
    """True if it comes from a store, or was built on GPUs: its partition exists without placing and building."""
    built_on: Any = None
    """This rank's GPU, where the graph was built on GPUs: no other GPU can run on it."""
    building: Building | None = None
    """Where it was built and why; None where there was no choice."""
    opener: ClassVar[Callable[..., Graph]]
    """Opens a store; ``stored_graph.py``, which the public name of this class imports, sets it."""
    builder: ClassVar[Callable[..., tuple[Graph | None, Building | None]]] = staticmethod(lambda *_: (None, None))
    """Builds on GPUs or leaves it to the host; ``dgraph/backend/build.py``, which that name imports first, sets it."""
    builder_of_listed: ClassVar[Callable[..., tuple[Any, Any]]] = staticmethod(lambda *_: (None, None))
    """Reads edges and builds their graph on a GPU, or leaves it to the host; set as ``builder`` is."""
    policy = "auto"
    device: Device = "auto"

    kept_backend = SharedAttribute()
    """The backend that holds the graph on this rank's GPU since an earlier run; None: no backend does."""
    version = SharedAttribute()
    """:class:`Version`, the record of changes."""
    _rows = SharedAttribute()
    partitions = SharedAttribute()
    """Policy → :class:`Partitioned` of this rank, once a run has needed it."""

    def __init__(self, block: EdgeBlock | None = None, comm: Comm | None = None, **options: Any):
        if block is None or comm is None or options:
            raise UsageError(
                "Graph(…) makes no graph; there are Graph.load(path), Graph.from_pandas(frame, source, target), "
                "Graph.from_edges(sources, targets), Graph.from_networkx(G), each with directed=False for undirected"
            )
        self.comm = comm
        self._begin(block, None)
        self._rows = block

    def _begin(self, size: EdgeBlock | GraphFacts, fingerprint: str | None) -> None:
        self._known = size
        self._shared: dict[str, Any] = {
            "partitions": {},
            "_undirected": {},
            "_simple": {},
            "_weighted": {},
            "_fingerprint": fingerprint,
            "version": Version(),
        }

    def on(self, policy: str | None = None, device: Device | None = None) -> Graph:
        """Return a handle of the same edges with another policy or device; partitions are made when a run needs them.

        Args:
            policy: as of :meth:`load`; None: this handle's.
            device: as of :meth:`load`; None: this handle's.

        Raises:
            UsageError: not a device.
        """
        other = copy.copy(self)
        if policy is not None:
            other.policy = arguments.text("policy", policy)
        if device is not None:
            described(device)
            other.device = device
        return other

    def fit_for(self, gpu: bool) -> Graph:
        """Return a graph that runs on this rank's device: one that was built on GPUs comes to the host for CPU ranks.

        Args:
            gpu: ranks run on GPUs.
        """
        return self if gpu or self.built_on is None else self.on_host()

    def close(self) -> None:
        """Give back the memory of the graph on this rank and its GPU. Handles of the same edges are closed, too."""
        if "closed" in self._shared:
            return
        backend = self.kept_backend
        for form in (*self._undirected.values(), *self._simple.values(), *self._weighted.values()):
            form.close()
        self.partitions.clear()
        self._columns = VertexColumns({})
        self._shared["closed"] = True
        self._release()
        if backend is not None:
            backend.release()

    def _release(self) -> None:
        """Drop the rows of this handle."""
        self._shared.pop("_rows", None)
        self._shared.pop("_pair_search", None)
        self._shared.pop("_undirected_from", None)

    def __enter__(self) -> Graph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    @collective
    def load(
        cls, spec: str | os.PathLike, *, policy: str = "auto", device: Device = "auto", comm=None, build: str = "auto",
        **options,
    ) -> Graph:  # fmt: skip
        """Load the graph of a file, a store, or a generator ``NAME:SIZE``.

        Args:
            spec: path of a file or of a store's folder, or a generator.
            policy: how the graph is spread over the ranks: ``NAME[,option=value…]``; "auto" chooses and says why.
            device: where its rounds run: "auto" (a GPU where there is one), "cpu", "cuda", :class:`~dgraph.Cpu` or
                :class:`~dgraph.Cuda`.
            comm: None (all ranks), a :class:`Comm` or an mpi4py communicator.
            build: where a generated graph is built: "host", "device" (on the ranks' GPUs), or "auto": on the GPUs if
                the graph is large and they can. Rows on GPUs are copied to the host when a method reads them there.
            options: the fields of :class:`~dgraph.graph.load_options.LoadOptions`, such as ``directed=False``; for
                .graphml and .gexf, which NetworkX reads on rank 0, those of :meth:`from_networkx`.

        Raises:
            UsageError: an option that is unknown or does not fit the input.
            DataError: the file is not of its format; the text names file and line.
        """
        comm, spec = communicator(comm), graph_spec(spec, "spec")
        arguments.text("build", build)
        if build != "device" and comm.bcast_json(is_store(spec)):
            return cls.open(spec, policy=policy, device=device, comm=comm, **options)
        described(device)
        if comm.bcast_json(is_networkx_file(spec)):
            with comm.together():
                listed = read_networkx_file(spec) if comm.rank == 0 else None
            read_whole = cls.from_networkx(listed, policy=policy, device=device, comm=comm, **options)
            read_whole.facts.name = os.path.basename(spec)
            read_whole.facts.notes += shared_notes("" if listed is None else unread_note(listed, options), comm)
            return read_whole
        keywords = options_of(options)
        graph, building = (None, None) if keywords.keep else cls.builder(spec, comm, policy, device, keywords, build)
        if graph is None:
            try:
                with at_most(getattr(described(device), "threads", None)):
                    about = edges_about(spec)
                    graph, raw = None, None
                    if not keywords.keep:  # GPUs build graphs without attributes
                        graph, raw = cls.builder_of_listed(
                            lambda: read(spec, comm, keywords), about, comm, policy, device, keywords, build
                        )
                    if graph is None:
                        graph = cls(cleaned([raw or read(spec, comm, keywords)], comm, keywords), comm)
            except OutOfMemory as lacking:
                raise OutOfMemory(f"{lacking}; {building[1]}" if building else str(lacking)) from None
        graph.building = graph.building or building
        return graph.on(policy, device)

    @classmethod
    @collective
    def open(
        cls, path: str | os.PathLike, *, policy: str = "auto", device: Device = "auto", comm=None, **options
    ) -> Graph:
        """Open a store (:meth:`save_store`) on any number of ranks: see ``docs/guide/data.md``.

        Args:
            path: the store's folder.
            policy: as of :meth:`load`; "auto": the store's.
            device: as of :meth:`load`.
            comm: as of :meth:`load`.
            options: as of :meth:`load`; ``verify=False`` leaves checksums unchecked.

        Raises:
            DataError: the folder is not a store, or not as it was written: the text names the file and the block.
        """
        described(device)
        return Graph.opener(arguments.path("path", path), communicator(comm), options_of(options)).on(policy, device)

    @collective
    def save_store(
        self,
        path: str | os.PathLike,
        *,
        policy: str | None = None,
        parts: int | None = None,
        chunks: int | None = None,
        overwrite: bool = False,
    ) -> dict:
        """Partition the graph and write the parts to a folder, which :meth:`open` and :meth:`load` open.

        Without ``policy`` and ``parts``, runs of this process use the partition that was written.

        Args:
            path: the folder to write; it must not exist, unless ``overwrite`` is True.
            policy: ``NAME[,option=value…]``; None: the graph's.
            parts: number of parts; None: one a rank.
            chunks: least number of pieces that may go to different ranks; None: four a part.
            overwrite: replace a store of that name.

        Returns:
            The figures of :func:`partitioning.quality`.

        Raises:
            UsageError: the policy cannot place the graph, or ``path`` exists.
            OutputError: the system refused on some rank; then nothing is left.
        """
        import partitioning
        from dgraph.graph.stored.write import write

        folder = arguments.path("path", path)
        if policy is not None:
            arguments.text("policy", policy, more=", or None")
        for name, count in (("parts", parts), ("chunks", chunks)):
            if count is not None:
                arguments.integer(name, count, 1, more=", or None")
                if count > MOST_CHUNKS:
                    raise UsageError(f"{name} = {count} files are too many; give at most {MOST_CHUNKS:,}")
        arguments.flag("overwrite", overwrite)
        placement = self.planned(policy or self.policy, parts or self.comm.size)
        figures = partitioning.quality(self.block, placement, self.comm)
        written = write(
            Path(folder), self.block, placement, self.comm,
            fingerprint=self.fingerprint(), quality=figures, chunks=chunks, overwrite=overwrite,
        )  # fmt: skip
        if policy is None and parts is None:
            partition = Partitioned(placement.policy, placement.reason, placement.warning, written[0])
            self.partitions.setdefault(self.policy, partition)
        return figures

    @property
    def block(self) -> EdgeBlock:
        """This rank's rows; those of a changed graph are assembled from the partition at first use, collective then."""
        if self._rows is None:
            self._rows = rows_of(self._known, next(iter(self.partitions.values())).local, self.comm)
        return self._rows

    def _check_open(self) -> None:
        if "closed" in self._shared:
            raise UsageError(f"the graph {self.facts.name} was closed; load it again")

    def _made(self, block: EdgeBlock) -> Graph:
        other = Graph(block, self.comm)
        other.policy, other.device = self.policy, self.device
        return other

    def partition(
        self, step: Callable[[str, str], AbstractContextManager] = lambda name, policy: nullcontext()
    ) -> Partitioned:
        """Return this rank's partition under the graph's policy, which is opened or made at first use; collective.

        Args:
            step: entered around each step of the first use with its name, "open", "partition" or "build", and the
                policy.

        Raises:
            UsageError: the policy cannot place the graph.
        """
        if self.policy not in self.partitions:
            partition = None
            if self.stored:
                with step("open", self.policy):
                    partition = self.opened(self.policy)
            if partition is None:
                with step("partition", self.policy):
                    placement = self.planned(self.policy, self.comm.size)
                with step("build", placement.policy):
                    local = build(self.block, placement, self.comm)
                partition = Partitioned(placement.policy, placement.reason, placement.warning, local)
            self.partitions[self.policy] = partition
        return self.partitions[self.policy]

    def keep_backend(self, backend: Any) -> None:
        """Keep the backend that holds the graph on this rank's GPU; later runs use it, and :meth:`close` releases it.

        Args:
            backend: the backend; None: the graph leaves the one that it was kept by.
        """
        self.kept_backend = backend

    def keep_building(self, building: Building) -> Graph:
        """Keep what built the graph, and why, for reports; return the graph."""
        self.building = building
        return self

    def planned(self, policy: str, parts: int) -> Placement:
        """Return the placement of a policy; collective. Raises a :class:`UsageError` if it cannot place the graph."""
        import partitioning

        try:
            return partitioning.plan(policy, self.block, parts, self.comm)
        except partitioning.PolicyError as refused:
            raise UsageError(f"policy: {refused}") from refused

    def _changed(self, changed: ChangedPartition, version: Version, arc_sum: int | None) -> Graph:
        """Return the graph of a changed partition, with this handle's policy and device."""
        other = Graph.__new__(Graph)
        other.comm = self.comm
        other._begin(changed.facts, None)
        other.version, other._arc_sum = version, arc_sum
        other.partitions[self.policy] = self.partitions[self.policy]._replace(local=changed.local)
        return other.on(self.policy, self.device)

    @property
    def evidence(self) -> Any:
        """Input of certificates (``dgraph.validate``): the rows as they were loaded."""
        return self.block

    def opened(self, policy: str) -> Partitioned | None:
        """Return a store's partition, where the graph comes from one and ``policy`` allows; else None; collective."""
        return None

    def _of_rows(self, block: EdgeBlock) -> Graph:
        """Return the graph of other edges between the same vertices."""
        return Graph(block, self.comm)

    def __repr__(self) -> str:
        return f"<Graph {describe(self)}>"

    def _repr_html_(self) -> str:
        name, *parts = describe(self).replace(": ", " · ", 1).split(" · ")
        return f"<div><p>Graph {escape(name)}</p><ul>{''.join(f'<li>{escape(part)}</li>' for part in parts)}</ul></div>"
