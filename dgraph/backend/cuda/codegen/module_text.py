"""The whole text of a module: constants, types, the environment, a program's operators, kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dgraph.backend.compile_flags import TOP, constants
from dgraph.backend.cuda.codegen import control_block, message_layout
from dgraph.backend.cuda.codegen.expressions import TYPES
from dgraph.backend.cuda.codegen.operators import members, operators
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.cuda.schedules.register import room
from dgraph.backend.kernel_register import FOLDERS, kernel_of
from dgraph.program import Traced
from dgraph.program.analysis import ends_when_quiet, in_any_order, runs_locally, sums_sources

HERE = Path(__file__).parent.parent
OWN = [HERE / name for name in ("round_kernels", "device_graph", "exchange", "multi_gpu", "transports")]

PEELED = ("cores", "shells")
"""What ``Program.kernel`` calls rounds of which ``kcore_peel.cuh`` says more than a program's texts do."""

STAGED_VERTICES, STAGED_VERTICES_LONG = 64, 128
"""Vertices that a warp stages of a list before they get their places; more where lists are all that a kernel makes."""

GRAPH = [
    ("i64", "n"), ("i64", "m"), ("i64", "arcs"), ("i64", "masters"), ("i64", "rows"), ("i64", "pulled"),
    ("i64", "leaving"),
    ("const offset_t*", "out_offsets"), ("const u32*", "out_neighbours"), ("const weight_t*", "out_weights"),
    ("const offset_t*", "in_offsets"), ("const u32*", "in_neighbours"), ("const weight_t*", "in_weights"),
    ("const u32*", "in_heads"), ("const u32*", "in_some"), ("const u32*", "in_many"),
    ("i64", "out_edges"), ("i64", "in_edges"), ("const original_t*", "original"), ("const degree_t*", "degree"),
    ("const u32*", "long_rows"), ("i64", "long_count"),
    ("const u32*", "chunk_rows"), ("const offset_t*", "chunk_first"), ("i64", "chunk_count"),
    ("i64", "long_mirrors"), ("i64", "chunk_mirrors"),
]  # fmt: skip
"""Of ``env``: the graph. Every member is eight bytes."""

WORK = [
    ("i64*", "control"), ("i64*", "counters"), ("i64*", "integers"), ("double*", "floats"), ("double*", "parts"),
    ("double*", "float_sums"), ("const i64*", "totals"), ("i64*", "ring"), ("u32*", "gate"),
    ("u32*", "queue0"), ("u32*", "queue1"), ("prefix_t*", "sums0"), ("prefix_t*", "sums1"),
    ("u32*", "huge"), ("prefix_t*", "huge_sums"), ("i64*", "scanned"),
    ("u32*", "touched"), ("u32*", "mirrors"), ("u32*", "dirty"), ("u32*", "stamps"), ("u32*", "waiting"),
    ("u32*", "seen"), ("u32*", "hits"),
    ("u32*", "far0"), ("u32*", "far1"), ("u32*", "live0"), ("u32*", "live1"), ("u32*", "bits0"), ("u32*", "bits1"),
    ("Proposal*", "chunk_parts"), ("const u32*", "lids"), ("const u32*", "positions"), ("i64*", "record"),
    ("u32*", "scratch0"), ("u32*", "scratch1"), ("u64*", "scratch2"),
    ("const i64*", "peers"), ("i64", "peer_count"), ("i64", "next_peer"), ("i64", "others"), ("i64", "whole_rows"),
    ("i64*", "post"),
    ("u32*", "marks"), ("u32*", "awake"), ("const u32*", "told_offsets"), ("const u32*", "told"),
    ("u32*", "parent"), ("i64*", "lowest"), ("i64*", "forest"),
    ("u32*", "sieve"), ("prefix_t*", "sieve_sums"), ("u32*", "kept"), ("offset_t*", "kept_offsets"),
    ("weight_t*", "kept_weights"),
]  # fmt: skip
"""Of ``env``: what a machine works on."""

TILES = [
    ("const u32*", "tile_sources"), ("const unsigned short*", "tile_targets"), ("const Piece*", "tile_pieces"),
    ("i64", "piece_count"), ("i64", "mirror_pieces"), ("const u32*", "tile_bounds"), ("i64", "master_tiles"),
    ("const u32*", "cut_tiles"), ("i64", "cut_count"), ("u64*", "tile_parts"), ("u32*", "tile_words"),
    ("i64", "neighbours_read"),
]  # fmt: skip
"""Of ``env``: what pulls by tiles need."""

PARTS = [("const offset_t*", "middles"), ("prefix_t*", "boundary_sums")]
"""Of ``env``: what pushes in two parts need."""


@dataclass(frozen=True)
class Variant:
    """What a module is compiled for, beside its program.

    Attributes:
        wide: the graph has 2**31 edges or more on this rank: offsets and prefix sums are 64-bit.
        degrees, ids: dtypes of the arrays of degrees and of original ids.
        fused: no vertex has a mirror.
        pulling: edges are walked backwards, by the schedule.
        record: count the edges that each thread visits.
        blocked: ``lb`` gives each thread a run of edges, and not every n-th.
        sweep: a push looks at every vertex and asks its bit whether it is active.
        pour: a vertex that joins the frontier hands its edges to the next list of edges at once.
        cull: how proposals to one vertex are thinned out: sum of CULL_WARP and CULL_HASH.
        local: a rank runs rounds of its own until nothing is left to do, before it exchanges.
        reach: blocks a multiprocessor of the kernel of whole searches.
        peels: the program's ``kernel`` is one of ``PEELED``, and nothing pulls.
        trees: labels spread by trees.
        by_id: the smallest id is asked for, and neighbours stand in that order.
    """

    wide: bool = False
    degrees: str = "uint32"
    ids: str = "uint32"
    fused: bool = True
    pulling: bool = False
    record: bool = False
    blocked: bool = False
    sweep: bool = False
    pour: bool = False
    cull: int = 0
    local: bool = False
    reach: int = 4
    peels: bool = False
    trees: bool = False
    by_id: bool = False


def environment(t: Traced) -> list[tuple[str, str]]:
    """The members of ``env``: (C++ type, name)."""
    return [
        *GRAPH,
        *WORK,
        *(("const void*", f"inbox{i}") for i in range(len(t.proposes))),
        *members(t),
        *(arrays.members(t) if (arrays := own_arrays(t)) else []),
        *PARTS,
        *TILES,
    ]


def own_arrays(t: Traced) -> Any:
    """What says which arrays a program's hand-written kernel needs; None: it needs none."""
    load = kernel_of(t.program.kernel).arrays
    return load() if load else None


def module(t: Traced, variant: Variant, name: str) -> str:
    """The text of a module: "phases", "rounds", "across", "reach", "estimates", "sieve", or of the schedule of this
    name."""
    kinds = {
        "phases": phases, "rounds": rounds, "across": across, "reach": reach, "estimates": estimates, "sieve": sieve
    }  # fmt: skip
    return kinds[name](t, variant) if name in kinds else edges(t, variant, name)


def phases(t: Traced, variant: Variant) -> str:
    """The kernels of single phases, and those of an exchange where vertices have mirrors."""
    head = _head(t, variant, persistent=False, held=STAGED_VERTICES_LONG)
    files = [common(name) for name in ("pull", "round_kernels", *["propagation_blocking"] * sums_sources(t), "scan")]
    if not variant.fused:
        files += [*_between(t), *map(common, ("device_signals", "exchange_kernels", "push_overlap", "end_round"))]
        files += [common("dma_send")] * t.all
        if t.program.kernel == "components":
            files += map(common, ("in_kernel_exchange", "frontier_messages", "cc_multi", "cc_multi_round"))
    return head + "\n".join(files)


def rounds(t: Traced, variant: Variant) -> str:
    """The kernel of many small rounds."""
    return _head(t, variant, persistent=True) + "\n".join(
        [*map(_schedule, ("vertex", "warp_search", "twc")), common("persistent_rounds")]
    )


def edges(t: Traced, variant: Variant, schedule: str) -> str:
    """The kernels of one schedule."""
    row = SCHEDULES[schedule]
    named = f"#define SCHEDULE {row.name}\n#define ROOM {row.room}\n"
    if row.huge:
        named += f"#define HUGE_SCHEDULE {row.huge}\n#define HUGE_ROOM {room(row.huge)}\n"
    files = [_schedule(name) for name in dict.fromkeys((*row.needs, row.name))]
    shared = [common("scan"), common("work_partition")]
    return _head(t, variant, persistent=False) + "\n".join([*shared, *files, named, common("edges")])


def across(t: Traced, variant: Variant) -> str:
    """The kernel of rounds that several GPUs run together."""
    ahead = f"#define AHEAD {int(variant.peels or ends_when_quiet(t))}"
    schedules = map(_schedule, ("vertex", "warp_search", "twc"))
    trees = ("frontier_messages", "cc_multi") if variant.trees else ()
    files = map(common, ("device_signals", "in_kernel_exchange", *trees, "multi_gpu_rank", "multi_gpu_rounds"))
    return _head(t, variant, persistent=True) + "\n".join([ahead, *schedules, *_between(t), *files])


def reach(t: Traced, variant: Variant) -> str:
    """The kernel of a search that several GPUs run as a whole."""
    schedules = map(_schedule, ("warp_search", "twc"))
    return _head(t, variant, persistent=True, reach=True) + "\n".join(
        [
            *schedules,
            *_between(t),
            *map(common, ("device_signals", "pull", "frontier_messages", "persistent_bfs_rank", "persistent_bfs")),
        ]
    )


def estimates(t: Traced, variant: Variant) -> str:
    """The kernels of core numbers as estimates."""
    files = [own_arrays(t).constants(), _schedule("warp_search"), *map(common, ("hindex", "hindex_rows"))]
    if variant.fused:
        return _head(t, variant, persistent=True) + "\n".join([message_layout.constants(), *files])
    across = [common("device_signals"), *files, common("hindex_multi")]
    return _head(t, variant, persistent=True) + "\n".join([*_between(t), *across])


def sieve(t: Traced, variant: Variant) -> str:
    """The kernels that sift edges."""
    return _head(t, variant, persistent=False) + "\n".join([_schedule("warp_search"), common("edge_filter")])


def _between(t: Traced) -> list[str]:
    return [message_layout.constants(), message_layout.operators(t), common("messages"), common("pack")]


def _head(t: Traced, variant: Variant, persistent: bool, reach: bool = False, held: int = STAGED_VERTICES) -> str:
    local = variant.local and persistent and runs_locally(t)
    mails = persistent and not (variant.fused or reach or local or variant.trees) and in_any_order(t)
    known = {
        **{name: int(value) for name, value in constants(t).items()},
        "TOP": f"{TOP}ll",
        "CAN_PUSH": int("push" in t.program.directions),
        "WIDE": int(variant.wide),
        "FUSED": int(variant.fused),
        "PULLING": int(variant.pulling),
        "RECORD": int(variant.record),
        "BLOCKED": int(variant.blocked),
        "SWEEP": int(variant.sweep and not persistent),
        "EMIT_NEXT_EDGES": int(variant.pour),
        "CULL": 0 if persistent else variant.cull,
        "PERSISTENT": int(persistent),
        "STAGED_VERTICES": held,
        "PERSISTENT_BFS": variant.reach * reach,
        "KCORE_PEEL": int(variant.peels),
        "KCORE_LEVELS": int(variant.peels and "start" in t.fields),
        "KCORE_BOUNDED": int(variant.peels and "top" in t.fields),
        "UNION_FIND": int(variant.trees),
        "MAIL_PROPOSALS": int(mails),
        "NOT_IDEMPOTENT": int(not all(t.fields[k].reduce.idempotent for k in t.proposes)),  # type: ignore[union-attr]
        "LOCAL_ROUNDS": int(local),
        "PROPAGATION_BLOCKING": int(sums_sources(t)),
        "BY_ID": int(variant.by_id),
    }
    flags = "".join(f"#define {name} {value}\n" for name, value in known.items())
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
            "struct Piece;",
            f"struct Env {{\n{inside}\n}};\nCONSTANT Env env;\n", "DEVICE" + functions,
            *map(common, ("worklists", "reductions", "kcore_peel", "edge_operator", "vertex_operator", "direction")),
        ]
    )  # fmt: skip


@cache
def common(name: str) -> str:
    """Read a file of kernels that all programs share, or one that an algorithm registered."""
    (path,) = (found for folder in (*OWN, *FOLDERS) if (found := folder / f"{name}.cuh").exists())
    return path.read_text()


@cache
def _schedule(name: str) -> str:
    return (HERE / "schedules" / f"{name}.cuh").read_text()
