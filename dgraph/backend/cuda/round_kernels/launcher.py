"""Launches of one machine's kernels: the module of each, the values of ``env``, and the size of its grid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dgraph._support.compile_clock import compiling
from dgraph.backend.cuda.codegen import control_block as control
from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.memory.memory_plan import uses_row_heads
from dgraph.backend.cuda.memory.work_arrays import GpuWorkArrays
from dgraph.backend.cuda.round_kernels.module_set import ModuleSet, Name
from dgraph.backend.cuda.round_kernels.profiling import LaunchRecord
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.kernel_register import kernel_of
from dgraph.backend.schedule_options import CHOICES
from dgraph.program import HINDEX, MODE
from dgraph.program.analysis import ends_on_empty_frontier, falls_below_ceiling, hands_on_edges

ONE_BLOCK = ("end_phase", "apply_totals", "end_round", "abort_peers", "count_visited", "count_hidden")
"""Kernels of one block."""

COOPERATIVE = ("rounds", "multi_gpu_rounds", "persistent_bfs", "pack", "combine_messages", "take_messages")
"""Kernels with grid barriers, which need all blocks to be resident at once; algorithms register further ones."""

HUGE_LEAST = 8 * control.BLOCK
"""Least degree of a vertex for a launch of its own; below it a block walks the edges."""

MOST_RESIDENT = 4
"""Blocks a multiprocessor of cooperative kernels that move much data and rarely pass barriers."""


class Launcher:
    """Compiled kernels of one machine, loaded at their first launch.

    Attributes:
        sources: texts of the modules.
        compiling: seconds spent in compiling or loading modules.
        loaded: True once :meth:`ready` was called.
        prepared: module whose schedule has prepared this run, see ``Schedule.once``.
        edges_emitted: True if this round's kernel also makes the edge list of the next one.
        record: record of launches; None where none was asked for.
    """

    def __init__(self, sources: ModuleSet, arrays: GpuWorkArrays):
        self.sources, self.arrays = sources, arrays
        self.traced, self.graph = sources.traced, sources.graph
        self.device, self.options = device, options = sources.device, sources.options
        self.loaded = self.edges_emitted = False
        self.prepared = ""
        self.record = LaunchRecord(device, options, arrays.record) if options.record or options.timed else None
        self._cooperative = {*COOPERATIVE, *kernel_of(self.traced.program.kernel).cooperative}
        self._members = {name: (i, kind) for i, (kind, name) in enumerate(module_text.environment(self.traced))}
        self._values = self._environment()
        self._modules: dict[Name, Any] = {}
        self._launched: dict[tuple[str, str, bool], tuple[Any, bool, int]] = {}
        self._sent: tuple = ()
        self._token = object()
        self._words: np.ndarray | None = None

    def ready(self, names: Sequence[Name]) -> None:
        """Compile or load modules."""
        self.sources.compile(names)
        for name in names:
            self._module(*name)
        self.loaded = True

    def set_environments(self, names: Sequence[Name]) -> None:
        """Set ``env`` of modules before rounds start."""
        for name in names:
            self._bind(self._module(*name))

    def launch(self, module: str, kernel: str, argument: int = 0, *, fused: bool, blocks: int | None = None) -> None:
        """Start a kernel.

        Args:
            module: key of ``module_text.module``, or ``schedule:direction``.
            kernel: name of the kernel.
            argument: its int64 argument.
            fused: True for the module of graphs without mirrors.
            blocks: size of the grid; None: as :meth:`blocks` has it.
        """
        key = module, kernel, fused
        if key not in self._launched:
            compiled = self._module(module, fused)
            self._launched[key] = compiled, *self._grid(compiled, module, kernel)
        compiled, cooperative, grid = self._launched[key]
        self._bind(compiled)
        blocks = grid if blocks is None else blocks
        if self.record is None:
            compiled.launch(kernel, blocks, argument, cooperative)
        else:
            self.record.launch(compiled, module, kernel, blocks, argument, cooperative)

    def _grid(self, compiled, module: str, kernel: str) -> tuple[bool, int]:
        """Return True if a kernel has grid barriers, and how many blocks of it are started."""
        if kernel in ONE_BLOCK:
            return kernel in self._cooperative, 1
        schedule = SCHEDULES.get(module.partition(":")[0])
        if schedule and schedule.grid and self.options.grid:
            return False, self.options.grid
        return kernel in self._cooperative, self.blocks(
            compiled, "edges" if schedule and kernel in schedule.once + schedule.before else kernel
        )

    def blocks(self, module, kernel: str) -> int:
        """Return how many blocks of a kernel run at once.

        The persistent kernels take one a multiprocessor: a grid barrier of fewer blocks is faster.
        """
        if self.options.blocks is not None:
            return min(self.options.blocks, self.device.blocks) if kernel in self._cooperative else self.options.blocks
        if kernel == "rounds" and self.options.one_block:
            return 1
        if kernel in ("rounds", "multi_gpu_rounds"):
            return self.device.blocks
        resident = module.resident(kernel)
        most = self.options.persistent_bfs_blocks(self.graph.extent) if kernel == "persistent_bfs" else MOST_RESIDENT
        return self.device.blocks * (min(resident, most) if kernel in self._cooperative else resident)

    def grid(self, module: str, kernel: str = "edges", *, fused: bool) -> int:
        """Return the grid of a module's kernel; by default of the one that walks edges by a schedule."""
        return self._grid(self._module(module, fused), module, kernel)[1]

    @property
    def pull_kernel(self) -> str:
        """Kernel of pulls without a schedule."""
        if self.arrays.tiled:
            return "pull_tiles"
        small = len(self.traced.reads_u) == 1  # a hub's cached values fit
        small &= self.traced.row_reducer is None
        hubs = self.traced.all and small and self.graph.place is not None and not self.options.record
        return "pull_hubs" if hubs else "pull"

    def pull_launches(self, of: int = control.OF_ALL) -> list[tuple]:
        """Return the launches of a pull over all vertices without a schedule, or over a part of the rows.

        Partial results of long rows are combined by :attr:`join_launches`.
        """
        before = [("round_kernels", "find_largest_term")] if self.arrays.tiled and of != control.OF_MASTERS else []
        if self.arrays.heads_by_id:
            before = [("round_kernels", "pull_id_heads")]
        return [*before, ("round_kernels", self.pull_kernel, of)]

    @property
    def join_launches(self) -> list[tuple]:
        """Launches that combine partial results after :meth:`pull_launches` of all rows."""
        if self.arrays.tiled:
            return [("round_kernels", "join_tiles")]
        return [("round_kernels", "join_rows")] * (len(self.graph.chunks[0]) > 0)

    def fold_launches(self, marked: bool, distinct: bool, listed: bool) -> list[tuple]:
        """Return the launches that fold rows.

        Args:
            marked: fold only rows that ``mark_rows`` finds.
            distinct: the keys of a row all differ, so that MODE takes the smallest.
            listed: ``mark_rows`` makes a list of those rows, and ``lower`` applies their values.
        """
        reducer = self.traced.row_reducer
        assert reducer is not None
        how = marked + 2 * distinct
        by_block = (
            {"pull_middle": self.graph.middle_rows, "pull_long": self.graph.table_rows} if reducer is MODE else {}
        )
        tables = ["open_rows"] * (not distinct)
        long = ["vote"] * (reducer in (MODE, HINDEX) and not distinct) + [*tables, "fold_long", "join_rows"]
        scan = [("round_kernels", name, control.TAIL) for name in ("scan_parts", "scan_fill")] * self.graph.wide
        pull = "pull" + "_listed" * listed + "_short" * (self.graph.longest(True) <= control.FOLD_ALONE)
        return [
            *[*scan, ("round_kernels", "mark_rows")] * marked,
            ("round_kernels", pull, how),
            *[("round_kernels", name, how) for name, rows in by_block.items() if len(rows)],
            *[("round_kernels", name, how) for name in long if len(self.graph.fold_chunks(reducer)[0])],
        ]

    def edges(self, schedule: str, pulling: bool, *, fused: bool, words: np.ndarray) -> list[tuple]:
        """Return the launches that walk a round's edges by a schedule."""
        row, traversal = (
            SCHEDULES[schedule],
            self._direction_of(schedule, pulling, fused, int(words[control.LOCAL_EDGES])),
        )
        name, whole = f"{schedule}:{traversal}", pulling or self.traced.all or self.options.sweeps
        calls: list[tuple] = []
        if self.graph.wide and row.sums and not whole:
            calls += [(name, "scan_parts", control.TAIL), (name, "scan_fill", control.TAIL)]
        edges = self.graph.edges if whole else int(words[control.LOCAL_EDGES])
        number = self._option_value(row.option, edges, self._module(name, fused))
        largest = self.graph.longest(pulling) if whole else max(int(words[control.LARGEST]), control.LOW_DEGREE)
        aside = bool(row.huge) and (whole or largest >= number)
        if row.plain and not aside and self.record is None:
            return [(f"{row.plain}:{traversal}", "edges", 0)]
        if self.prepared != name:
            calls += [(name, kernel, number) for kernel in row.launched(row.once, self.options.values)]
            self.prepared = name
        repeated = traversal == "emit" and self.options["edge_emit"] == "fused"
        if repeated:
            number = int(self.edges_emitted)
        if repeated or not (traversal == "emit" and self.edges_emitted):
            calls += [(name, kernel, number) for kernel in row.launched(row.before, self.options.values)]
        self.edges_emitted = traversal == "emit"
        if row.sweeps:
            few = int(self.options["few"]) * self.device.threads
            sweeps = min(-(-largest // number), edges // (few * number) + 2)
            calls += [(name, "edges", number + (sweep << control.SWEEP_BIT)) for sweep in range(max(sweeps, 1))]
        else:
            calls.append((name, "edges", number))
        if aside:
            if self.graph.wide:
                calls += [(name, "scan_parts", control.HUGE_TAIL), (name, "scan_fill", control.HUGE_TAIL)]
            calls.append((name, "edges_huge"))
        return calls

    def _direction_of(self, schedule: str, pulling: bool, fused: bool, edges: int) -> str:
        """Return "pull", "push", or "emit" for a push that also makes the edge list of the next round."""
        if pulling:
            return "pull"
        emits = schedule == "edge" and fused and edges < self.options.emit_limit and hands_on_edges(self.traced)
        return "emit" if emits and not self.options.sweeps else "push"

    def _option_value(self, option: str, edges: int, module) -> int:
        """Return the number of a schedule's option in a round of ``edges`` edges."""
        if not option:
            return 0
        value = self.options[option]
        if isinstance(value, int):
            return value
        if option == "mdt":
            return self.split_degree
        if option != "alb_threshold":
            return CHOICES[option].number(value)
        blocks = self.blocks(module, "edges")
        threads = blocks * self.device.threads
        return max(HUGE_LEAST, min(edges // blocks, threads)) if value == "auto" else threads

    @cached_property
    def split_degree(self) -> int:
        """Most edges of a vertex for one thread, under ``split`` and ``hierarchical``."""
        mdt = self.options["mdt"]
        return mdt if isinstance(mdt, int) else self.graph.split_degree(int(self.options["mdt_bins"]))

    def set_members(self, **values: int) -> None:
        """Set members of ``env``; they reach each module before its next launch."""
        self._values.update(values)
        self._token = object()
        if self._words is not None:
            for name in values:
                self._pack(self._words, name)

    def renew(self) -> None:
        """Set the members that differ between runs of one program: fields and parameters."""
        address, arrays = self.device.address, self.arrays
        fields = {f"f_{name}": address(array) for name, array in arrays.fields.items()}
        self.set_members(**fields, **{f"p_{name}": value for name, value in self.traced.program.parameters.items()})
        for name, module in self._modules.items():
            if not module.optimised:
                self._modules[name] = self.device.module(*self.sources.text(*name))
                self._launched.clear()  # it may fit a multiprocessor more often

    def send(self, lids, positions=None, values=()) -> None:
        """Upload a message's arrays for kernels ``combine`` and ``join``."""
        parts = [lids, *([] if positions is None else [positions]), *values]
        self._sent = tuple(self.device.put(np.ascontiguousarray(part)) for part in parts)
        names = ["lids", *([] if positions is None else ["positions"]), *(f"inbox{i}" for i in range(len(values)))]
        self.set_members(**{k: self.device.address(a) for k, a in zip(names, self._sent, strict=True)})

    def _bind(self, compiled: Any) -> None:
        """Have the ``env`` of a module hold this machine's values."""
        if compiled.owner is not self._token:
            compiled.set_environment(self._packed())
            compiled.owner = self._token

    def _module(self, name: str, fused: bool):
        if (name, fused) not in self._modules:
            with compiling():
                self._modules[name, fused] = self.device.module(*self.sources.text(name, fused))
        return self._modules[name, fused]

    def _environment(self) -> dict[str, int | float]:
        graph, local, arrays, address = self.graph, self.graph.local, self.arrays, self.device.address
        outward = graph.out
        pulls = arrays.pulls and not arrays.tiled
        back = graph.incoming if pulls else outward
        environment: dict[str, int | float] = {
            "n": local.n, "m": local.m, "arcs": local.arcs, "masters": local.masters, "rows": local.size,
            "pulled": graph.rows_pulled if pulls else 0, "leaving": graph.masters_with_edges if arrays.pulls else 0,
            "out_offsets": address(outward.offsets), "out_neighbours": address(outward.neighbours),
            "in_offsets": address(back.offsets), "in_neighbours": address(back.neighbours),
            "out_edges": graph.edges, "in_edges": graph.edges,
            "original": address(graph.original), "degree": address(graph.degree),
            "control": address(arrays.words), "float_sums": address(arrays.words) + 8 * control.CONTROLS,
            "integers": address(arrays.words) + 8 * arrays.integers_at,
            "floats": address(arrays.words) + 8 * arrays.floats_at,
            "gate": address(arrays.words) + 8 * arrays.gate_at,
            "blocked": self.options["alb_distribution"] == "blocked",
            "ends_on_empty": ends_on_empty_frontier(self.traced) and not self.sources.kcore_peel,
        }  # fmt: skip
        if self.traced.weighted:
            environment |= {"out_weights": address(outward.weights), "in_weights": address(back.weights)}
        if uses_row_heads(self.traced, arrays.pulls) and graph.incoming_heads is not None:
            environment |= {"in_heads": address(graph.incoming_heads), "in_multiple": address(graph.incoming_many)}
        if arrays.heads_by_id:
            environment["id_heads"] = address(graph.id_heads)
        if pulls and local.directed:
            environment["in_nonempty"] = address(graph.incoming_some)
        if arrays.tiled:
            tiles = arrays.tiles
            heaviest = np.float64(tiles.heaviest).view(np.int64).item()
            if tiles.weights is not None:
                environment |= {"tile_weights": address(tiles.weights), "tile_heaviest": heaviest}
                environment["tile_bytes"] = tiles.weights.itemsize == 1
            environment |= {
                "tile_sources": address(tiles.sources), "tile_targets": address(tiles.targets),
                "tile_pieces": address(tiles.pieces), "piece_count": len(tiles.pieces),
                "mirror_pieces": tiles.mirrored, "tile_bounds": address(tiles.bounds), "master_tiles": tiles.masters,
                "cut_tiles": address(tiles.cut), "cut_count": len(tiles.cut), "neighbours_read": not local.directed,
            }  # fmt: skip
        elif self.traced.row_reducer:
            rows, first = graph.fold_chunks(self.traced.row_reducer)
            environment |= {"fold_rows": address(rows), "fold_first": address(first), "fold_count": len(rows)}
            if falls_below_ceiling(self.traced) and graph.degree_bounds[0] is not None:
                environment["degree_bounds"] = address(graph.degree_bounds[0])
            if self.traced.row_reducer is MODE:
                middle, long = graph.middle_rows, graph.table_rows
                environment |= {"middle_rows": address(middle), "middle_count": len(middle)}
                environment |= {"table_rows": address(long), "table_count": len(long)}
        elif pulls and self.traced.all:
            rows, first = graph.chunks
            long_mirrors, chunk_mirrors = graph.mirrors_at
            environment |= {
                "long_rows": address(graph.long_rows), "long_count": len(graph.long_rows),
                "chunk_rows": address(rows), "chunk_first": address(first), "chunk_count": len(rows),
                "long_mirrors": long_mirrors, "chunk_mirrors": chunk_mirrors,
            }  # fmt: skip
        for name, value in self.traced.program.parameters.items():
            environment[f"p_{name}"] = value
        return environment

    def _packed(self) -> np.ndarray:
        """Return ``env`` as 64-bit words, the same for every module."""
        if self._words is not None:
            return self._words
        words = np.zeros(len(self._members), np.int64)
        for name in self._members:
            self._pack(words, name)
        self._words = words
        return words

    def _pack(self, words: np.ndarray, name: str) -> None:
        """Write one member into ``words``."""
        if name not in self._members:
            return
        i, kind = self._members[name]
        if name in self._values:
            value = self._values[name]
        else:
            value = self.device.address(self.arrays.all[name]) if name in self.arrays.all else 0
        if kind == "double":
            words.view(np.float64)[i] = value
        else:
            words.view(np.uint64)[i] = int(value) & (2**64 - 1)
