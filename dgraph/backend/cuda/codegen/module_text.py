"""Text of a whole module: constants, types, ``env``, a program's operators, and kernels.

Entry: :func:`module`. The operators come from ``operators.py``, the kernels from ``.cuh`` files of the GPU backend and
of registered kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dgraph.backend.compile_flags import constants
from dgraph.backend.cuda.codegen import control_block, exchange_state, message_columns
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.kernel_parts import in_parts
from dgraph.backend.cuda.codegen.operators import members, operators
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.cuda.schedules.register import shared_type
from dgraph.backend.kernel_register import FOLDERS, Kernel, kernel_of
from dgraph.backend.schedule_options import constants as schedule_constants
from dgraph.program import MODE, Traced
from dgraph.program.analysis import (
    falls_below_ceiling,
    order_independent,
    runs_locally,
    sums_source_floats,
    weighs_by_integers,
)

HERE = Path(__file__).parent.parent
FOLDERS_HERE = (
    "round_kernels",
    "filtered_edges",
    "device_graph",
    "gathered",
    "exchange",
    "multi_gpu",
    "transports",
    "certificates",
    "row_folds",
)
OWN = [HERE / name for name in FOLDERS_HERE]

CPU_ONLY = ("COND", "CAN_PULL", "CAN_PUSH", "GATHERS", "WHOLE_PASSES")
"""Constants of a program that only CPU rounds test."""

SHARED = (
    "round_state", "worklists", "reductions", "kcore_peel", "edge_operator", "vertex_operator",
    "round_end",
)  # fmt: skip
"""Files of every module of a program."""

GRAPH = [
    ("i64", "n"), ("i64", "m"), ("i64", "arcs"), ("i64", "masters"), ("i64", "rows"), ("i64", "pulled"),
    ("i64", "leaving"),
    ("const offset_t*", "out_offsets"), ("const u32*", "out_neighbours"), ("const weight_t*", "out_weights"),
    ("const offset_t*", "in_offsets"), ("const u32*", "in_neighbours"), ("const weight_t*", "in_weights"),
    ("const u32*", "in_heads"), ("const u32*", "in_nonempty"), ("const u32*", "in_multiple"),
    ("const u32*", "id_heads"),
    ("i64", "out_edges"), ("i64", "in_edges"), ("const original_t*", "original"), ("const degree_t*", "degree"),
    ("const degree_t*", "degree_bounds"),
    ("const u32*", "long_rows"), ("i64", "long_count"),
    ("const u32*", "chunk_rows"), ("const offset_t*", "chunk_first"), ("i64", "chunk_count"),
    ("i64", "long_mirrors"), ("i64", "chunk_mirrors"),
    ("const u32*", "fold_rows"), ("const offset_t*", "fold_first"), ("i64", "fold_count"),
    ("const u32*", "middle_rows"), ("i64", "middle_count"), ("const u32*", "table_rows"), ("i64", "table_count"),
]  # fmt: skip
"""Members of ``env`` that hold the graph. Every member of ``env`` is eight bytes."""

WORK = [
    ("RoundState*", "control"), ("i64*", "counters"), ("i64*", "integers"), ("double*", "floats"), ("double*", "parts"),
    ("double*", "float_sums"), ("const i64*", "totals"), ("i64*", "ring"), ("u32*", "gate"),
    ("u32*", "queue0"), ("u32*", "queue1"), ("prefix_t*", "sums0"), ("prefix_t*", "sums1"),
    ("u32*", "huge"), ("prefix_t*", "huge_sums"), ("i64*", "scanned"),
    ("u32*", "touched"), ("u32*", "mirrors"), ("u32*", "dirty"), ("u32*", "stamps"), ("u32*", "waiting"),
    ("u32*", "seen"), ("u32*", "hits"),
    ("u32*", "far0"), ("u32*", "far1"), ("u32*", "live0"), ("u32*", "live1"), ("u32*", "bits0"), ("u32*", "bits1"),
    ("Proposal*", "chunk_parts"), ("u64*", "fold_keys"), ("u32*", "fold_counts"), ("i64*", "fold_parts"),
    ("u32*", "fold_stamps"), ("u32*", "fold_votes"), ("u32*", "fold_marks"),
    ("u64*", "fold_support"),
    ("const u32*", "lids"), ("const u32*", "positions"), ("i64*", "record"),
    ("u32*", "scratch0"), ("u32*", "scratch1"), ("u64*", "scratch2"),
    ("const i64*", "peers"), ("i64", "peer_count"), ("i64", "next_peer"), ("i64", "others"), ("i64", "whole_rows"),
    ("ExchangeState*", "post"),
    ("u32*", "marks"), ("u32*", "awake"), ("const u32*", "mirror_slot_offsets"), ("const u32*", "mirror_slots"),
    ("u32*", "parent"), ("i64*", "lowest"), ("i64*", "forest"),
    ("u32*", "marked_edges"), ("prefix_t*", "marked_sums"), ("u32*", "kept"), ("offset_t*", "kept_offsets"),
    ("weight_t*", "kept_weights"),
]  # fmt: skip
"""Members of ``env`` that hold a machine's state and work arrays."""

TILES = [
    ("const u32*", "tile_sources"), ("const unsigned short*", "tile_targets"), ("const Piece*", "tile_pieces"),
    ("i64", "piece_count"), ("i64", "mirror_pieces"), ("const u32*", "tile_bounds"), ("i64", "master_tiles"),
    ("const u32*", "cut_tiles"), ("i64", "cut_count"), ("u64*", "tile_parts"), ("u32*", "tile_words"),
    ("i64", "neighbours_read"), ("const void*", "tile_weights"), ("i64", "tile_heaviest"),
    ("i64", "tile_bytes"),
]  # fmt: skip
"""Members of ``env`` for pulls along binned edges."""

SETTINGS = [("i64", "blocked"), ("i64", "ends_on_empty")]
"""Members of ``env`` that choose between variants of a kernel; ``Launcher`` sets them.

``blocked``: ``lb`` gives each thread a run of edges, not every n-th. ``ends_on_empty``: the program ends as soon as no
vertex is active, so that rounds of several GPUs may run ahead of their totals.
"""


@dataclass(frozen=True)
class ModuleFlags:
    """Flags that a module is compiled for, beside its program.

    Attributes:
        wide: the graph has 2**31 edges or more on this rank: offsets and prefix sums are 64-bit.
        degrees, ids: dtypes of the arrays of degrees and of original ids.
        fused: no vertex has a mirror.
        linked: GPUs pack and unpack messages; else the host does.
        pulls: rounds may pull.
        pulling: the schedule walks in-edges.
        record: count the edges that each thread visits.
        sweep: a push visits every vertex and tests its bit in the frontier.
        emit_next_edges: a vertex that joins the frontier appends its edges to the next edge list at once.
        cull: culling of duplicate proposals: sum of CULL_WARP and CULL_HASH.
        local: a rank runs several rounds before it exchanges, where the program can.
        persistent_bfs: blocks a multiprocessor of the kernel that runs whole searches.
        kcore_peel: the program's kernel peels vertices while it visits edges, and nothing pulls.
        union_find: labels spread over trees of a union-find forest.
        knobs: constants of schedules' texts: macro and number; defaults where there are none.
        by_id: the program asks for the smallest id, and neighbours are in ascending order of it or the first will do.
    """

    wide: bool = False
    degrees: str = "uint32"
    ids: str = "uint32"
    fused: bool = True
    linked: bool = False
    pulls: bool = True
    pulling: bool = False
    record: bool = False
    sweep: bool = False
    emit_next_edges: bool = False
    cull: int = 0
    local: bool = False
    persistent_bfs: int = 4
    kcore_peel: bool = False
    union_find: bool = False
    knobs: tuple[tuple[str, int], ...] = ()
    by_id: bool = False


def environment(t: Traced) -> list[tuple[str, str]]:
    """Return the members of ``env`` as (C++ type, name)."""
    return [
        *GRAPH,
        *WORK,
        *(("const void*", f"inbox{i}") for i in range(len(t.proposes))),
        *members(t),
        *(arrays.members(t) if (arrays := own_arrays(t)) else []),
        *TILES,
        *SETTINGS,
    ]


def own_arrays(t: Traced) -> Any:
    """Return the further arrays of a program's hand-written kernel; None: it needs none."""
    return kernel_of(t.program.kernel).load("arrays")


def module(t: Traced, variant: ModuleFlags, name: str) -> str:
    """Return the text of a module.

    Args:
        t: the program.
        variant: flags of the module.
        name: "round_kernels", "persistent_rounds", "multi_gpu_rounds", "persistent_bfs", "edge_filter", or a schedule.
    """
    kinds = {
        "round_kernels": round_kernels, "persistent_rounds": persistent_rounds, "multi_gpu_rounds": multi_gpu_rounds,
        "persistent_bfs": persistent_bfs, "edge_filter": edge_filter,
    }  # fmt: skip
    return kinds[name](t, variant) if name in kinds else edges(t, variant, name)


def round_kernels(t: Traced, variant: ModuleFlags) -> str:
    """Return the kernels of single phases and, where the host starts them or mirrors exchange, those it needs."""
    head = _head(t, variant, persistent=False, walks=False)
    binned = ["propagation_blocking"] * sums_source_floats(t)
    folds = ["fold_parts", f"fold_{t.row_reducer.name}", "row_folds", "mark_rows"] if t.row_reducer else []
    folds += ["mode_tables"] * (t.row_reducer is MODE)
    walks = [common("work_partition"), _schedule("warp_shares")] if t.row_reducer else []
    pulls = ["pull_kernels"] * variant.pulls
    files = [*walks, *(common(name) for name in ("pull", *folds, "round_kernels", *pulls, *binned, "scan"))]
    if not variant.fused or t.sorts_applied:  # the host opens the first bucket
        files += [common("host_phases")]
    if not variant.fused:
        files += [common("host_messages")] * (not variant.linked)
        files += [*_exchange_text(t), *map(common, ("device_signals", "exchange_kernels", "end_round"))]
        files += [common(name) for name in ("dma_send", *["dma_send_tiles"] * len(binned))] * t.all
        files += map(common, kernel_of(t.program.kernel).phase_files)
    large = 8 if t.row_reducer is MODE else 5 if not variant.fused else 3 if binned else 1
    return in_parts(head + "\n".join(files), large)


def persistent_rounds(t: Traced, variant: ModuleFlags) -> str:
    """Return the kernel that runs many small rounds in one launch."""
    return _head(t, variant, persistent=True) + "\n".join(
        [*map(_schedule, ("vertex", "warp_shares", "twc")), common("persistent_rounds")]
    )


def edges(t: Traced, variant: ModuleFlags, schedule: str) -> str:
    """Return the kernels of one schedule."""
    row = SCHEDULES[schedule]
    named = f"#define SCHEDULE {row.name}\n#define SHARED_TYPE {row.shared_type}\n"
    if row.huge:
        named += f"#define HUGE_SCHEDULE {row.huge}\n#define HUGE_SHARED_TYPE {shared_type(row.huge)}\n"
    files = [_schedule(name) for name in dict.fromkeys((*row.needs, row.name))]
    shared = [common("scan"), common("work_partition")]
    return _head(t, variant, persistent=False) + "\n".join([*shared, *files, named, common("edges")])


def multi_gpu_rounds(t: Traced, variant: ModuleFlags) -> str:
    """Return the kernel of rounds that several GPUs run together."""
    schedules = map(_schedule, ("vertex", "warp_shares", "twc"))
    own = kernel_of(t.program.kernel) if variant.union_find else Kernel("")
    names = ("device_signals", "in_kernel_exchange", *own.multi_gpu_files, "multi_gpu_rank", own.multi_gpu_walk)
    files = map(common, (*names, "multi_gpu_rounds"))
    return _head(t, variant, persistent=True) + "\n".join([*schedules, *_exchange_text(t), *files])


def persistent_bfs(t: Traced, variant: ModuleFlags) -> str:
    """Return the kernel of a search that several GPUs run as a whole."""
    schedules = map(_schedule, ("warp_shares", "twc"))
    return _head(t, variant, persistent=True, reach=True) + "\n".join(
        [
            *schedules,
            *_exchange_text(t),
            *map(common, ("device_signals", "pull", "frontier_messages", "persistent_bfs_rank", "persistent_bfs")),
        ]
    )


def edge_filter(t: Traced, variant: ModuleFlags) -> str:
    """Return the kernels that mark edges and copy them into rows of their own."""
    return _head(t, variant, persistent=False) + "\n".join([_schedule("warp_shares"), common("edge_filter")])


def _exchange_text(t: Traced) -> list[str]:
    return [exchange_state.constants(), message_columns.operators(t), common("messages"), common("pack")]


def _head(t: Traced, variant: ModuleFlags, persistent: bool, reach: bool = False, walks: bool = True) -> str:
    macros = schedule_constants({}) | dict(variant.knobs)
    macros |= {name: int(value) for name, value in constants(t).items() if name not in CPU_ONLY} | {
        "SMALLEST": t.smallest + variant.by_id,
        "WIDE": int(variant.wide),
        "FUSED": int(variant.fused),
        "WALK": _walk(variant, persistent) if walks else control_block.NO_WALK,
        "RECORD": int(variant.record),
        "EMIT_NEXT_EDGES": int(variant.emit_next_edges),
        "CULL": 0 if persistent else variant.cull,
        "PERSISTENT": int(persistent),
        "PERSISTENT_BFS": variant.persistent_bfs * reach,
        "KCORE_PEEL": _peels(t) if variant.kcore_peel else 0,
        "FALLS": int(falls_below_ceiling(t)),
        "UNION_FIND": int(variant.union_find),
        "MIRROR_PROPOSALS": _mirror_proposals(t, variant, persistent and not reach),
        "BYTE_WEIGHTS": int(weighs_by_integers(t)),
    }
    flags = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    types = (
        f"typedef {'i64' if variant.wide else 'u32'} offset_t;\n"
        f"typedef {'u64' if variant.wide else 'u32'} prefix_t;\n"
        f"typedef {TYPES[variant.degrees]} degree_t;\n"
        f"typedef {TYPES[variant.ids]} original_t;\n"
        f"typedef {TYPES[t.weight] if t.weighted and t.weight else 'int'} weight_t;\n"
    )
    inside = "\n".join(f"    {kind} {name};" for kind, name in environment(t))
    text = operators(t)
    structs, functions = text.split("DEVICE", 1)
    return "\n".join(
        [
            flags, control_block.constants(), common("base"), types, structs,
            "struct Piece;", "struct ExchangeState;", control_block.round_state(),
            f"struct Env {{\n{inside}\n}};\nCONSTANT Env env;\n", "DEVICE" + functions,
            *map(common, SHARED),
        ]
    )  # fmt: skip


def _walk(variant: ModuleFlags, persistent: bool) -> int:
    """Return the value of flag WALK of a module with a schedule."""
    if variant.pulling:
        return control_block.WALK_IN_ROWS
    return control_block.WALK_ROWS if variant.sweep and not persistent else control_block.WALK_LIST


def _peels(t: Traced) -> int:
    """Return the value of flag KCORE_PEEL of a program that peels."""
    levels, bounded = control_block.PEEL_LEVELS, control_block.PEEL_BOUNDED
    return control_block.PEELS + levels * ("start" in t.fields) + bounded * ("top" in t.fields)


def _mirror_proposals(t: Traced, variant: ModuleFlags, persistent: bool) -> int:
    """Return the value of flag MIRROR_PROPOSALS."""
    if variant.local and persistent and runs_locally(t):
        return control_block.PROPOSALS_KEPT
    if not persistent or variant.fused or variant.union_find or not order_independent(t):
        return control_block.PROPOSALS_LISTED
    idempotent = all(t.fields[k].reduce.idempotent for k in t.proposes)  # type: ignore[union-attr]
    return control_block.PROPOSALS_MAILED if idempotent else control_block.PROPOSALS_ALL_MAILED


@cache
def common(name: str) -> str:
    """Read a file of kernels that all programs share, or one that an algorithm registered."""
    (path,) = (candidate for folder in (*OWN, *FOLDERS) if (candidate := folder / f"{name}.cuh").exists())
    return path.read_text()


@cache
def _schedule(name: str) -> str:
    return (HERE / "schedules" / f"{name}.cuh").read_text()
