"""Kernels compile for every architecture without a GPU; invalid choices of backend and options are refused."""

import itertools
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from battery import EVERYTHING
from core_programs import Cores, Counted
from flat_run import flat_run
from row_models import Weighed

import dgraph
from dgraph.algorithms.bfs_programs import Levels, Parents
from dgraph.algorithms.cc import Labels, UnionFindLabels
from dgraph.algorithms.cdlp import CommunityLabels as Communities
from dgraph.algorithms.color_parts.priorities import ByKey
from dgraph.algorithms.communities.gpu_steps import text as communities
from dgraph.algorithms.delta_stepping import Distances, LimitedDistances
from dgraph.algorithms.kcore_parts.estimates import Estimates
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.kcore_parts.shells import ShellLevels, Shells
from dgraph.algorithms.kernels.common.similar_cuda import text as similar
from dgraph.algorithms.kernels.components.components_cuda import text as components
from dgraph.algorithms.kernels.forest.forest_search import text as forest
from dgraph.algorithms.kernels.single_machine import single_text
from dgraph.algorithms.kernels.strong.strong_cuda import text as strong
from dgraph.algorithms.kernels.wedges.wedges_search import text as wedges
from dgraph.algorithms.many_sources.betweenness.dependencies_cuda import text as path_lanes
from dgraph.algorithms.many_sources.betweenness.dependency_programs import Paths, Shares
from dgraph.algorithms.many_sources.gpu.draw import text as draw
from dgraph.algorithms.many_sources.gpu.rank_lanes_cuda import text as rank_lanes
from dgraph.algorithms.many_sources.gpu.reach_cuda import text as reach_words
from dgraph.algorithms.many_sources.reach_programs import ReachProgram
from dgraph.algorithms.pagerank import PageRank, PersonalizedPageRank, program_of
from dgraph.algorithms.sssp import Overflowed
from dgraph.algorithms.sssp_parts.bellman_ford import PackedWord
from dgraph.algorithms.sssp_parts.sssp_predecessors import NearerParents, PlateauHops, PlateauParents
from dgraph.algorithms.sssp_parts.waiting_buckets import DeltaStepping
from dgraph.backend.cuda.certificates import row_kernels
from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.device_graph.field_stats import text as counting
from dgraph.backend.cuda.device_graph.row_sums import text as row_sums
from dgraph.backend.cuda.gathered.row_assembly import text as place_rows
from dgraph.backend.cuda.graph_build.build_kernels import text as drawing
from dgraph.backend.cuda.graph_build.build_plan import draft
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.backend.cuda.transports import selftest
from dgraph.errors import InternalError, UsageError
from dgraph.graph.load_options import LoadOptions
from dgraph.program import trace

pytestmark = pytest.mark.mpi_skip
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", *["sm_100"] * EVERYTHING)
OPTIMISED = "sm_90"
PROGRAMS = (
    Levels(), Parents(), UnionFindLabels(), Labels(), Peel(), PageRank(), PersonalizedPageRank(), Distances(),
    LimitedDistances(), NearerParents(), PlateauHops(), PlateauParents(), Overflowed(),
    program_of("out_weight", "weight")(), DeltaStepping(), PackedWord(),
    ReachProgram(), Paths(), Shares(), Cores(), Counted(),
)  # fmt: skip
DISTANCES = ("int32", "uint32", "int64", "float32", "float64")
WEIGHTS = (np.int32, np.float64, np.float32, np.int64)
DRAWN = ("rmat:20", "gtgraph:33", "road:9x9", "roadnet:9x9", "smallworld:9")
"""Graphs that a GPU generates: on every architecture each with one kind of certificate, and every kind."""

LONG = ("multi_gpu_rounds", "trees", "persistent_bfs", "round_kernels", "components", "parts")
"""Endings of names of texts that NVRTC optimises for more than a second, up to 15 s."""


def kinds():
    """Yield every kind of module of a program: its name, and the function from the traced program to its text."""
    for fused, wide in ((True, False), (False, True)):
        variant = module_text.ModuleFlags(wide=wide, fused=fused)
        yield "round_kernels", partial(module_text.round_kernels, variant=variant)
        if fused:
            yield "rounds", partial(module_text.persistent_rounds, variant=variant)
        else:
            yield "multi_gpu_rounds", partial(module_text.multi_gpu_rounds, variant=variant)
        for schedule in SCHEDULES:
            yield schedule, partial(module_text.edges, variant=variant, schedule=schedule)
    for schedule in SCHEDULES:
        pulling = module_text.ModuleFlags(pulling=True, record=True)
        yield schedule, partial(module_text.edges, variant=pulling, schedule=schedule)
    for variant in (
        module_text.ModuleFlags(sweep=True),
        module_text.ModuleFlags(cull=3),
        module_text.ModuleFlags(emit_next_edges=True, cull=3),
    ):
        yield "edge", partial(module_text.edges, variant=variant, schedule="edge")


def jobs():
    """Yield (number of program, kind, function, architecture) for a sample of programs × kinds.

    Every architecture gets every schedule and every program. With ``EVERYTHING`` all are compiled, in many minutes.
    """
    if EVERYTHING:
        for i, (kind, how), architecture in itertools.product(range(len(PROGRAMS)), kinds(), ARCHITECTURES):
            yield i, kind, how, architecture
        return
    left, turns = Counter(kind for kind, _ in kinds()), Counter()
    for k, (kind, how) in enumerate(kinds()):
        left[kind] -= 1
        for step in range(max(1, len(ARCHITECTURES) - turns[kind] - left[kind])):
            yield (k + 5 * step) % len(PROGRAMS), kind, how, ARCHITECTURES[turns[kind] % len(ARCHITECTURES)]
            turns[kind] += 1


def test_every_architecture_meets_every_schedule_and_every_program():
    met = {(name, job[3]) for job in jobs() for name in (job[0], job[1])}
    names = [*SCHEDULES, "round_kernels", "rounds", "multi_gpu_rounds", *range(len(PROGRAMS))]
    assert {(name, target) for name in names for target in ARCHITECTURES} <= met


@pytest.mark.takes_all_cores
@pytest.mark.exhaustive
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_compile(architecture, monkeypatch):
    """Compile all texts: a third optimised for one architecture, and one of each kind that takes long on one in turn.

    The others become machine code; on the oldest architecture two thirds of them become PTX. What the assembler alone
    checks, instructions that the architecture lacks, stands in the base of all texts.
    """
    pytest.importorskip("cuda.bindings.nvrtc")
    left = {end for i, end in enumerate(LONG) if ARCHITECTURES[i % len(ARCHITECTURES)] == architecture}
    whole, quick = [], []
    for whole_text in texts(architecture):
        end = next((end for end in LONG if whole_text[1].endswith(end)), None)
        optimised = end in left if end else architecture == OPTIMISED and (len(whole) + len(quick)) % 3 == 0
        (whole if EVERYTHING or optimised else quick).append(whole_text)
        left.discard(end)
    compile_all(whole, architecture)
    monkeypatch.setattr(nvrtc, "OPTIONS", (*nvrtc.OPTIONS, "--Ofast-compile=max"))
    oldest = architecture == ARCHITECTURES[0] and not EVERYTHING
    compile_all(quick[::3] if oldest else quick, architecture)
    if oldest:
        del quick[::3]
        compile_all(quick, architecture.replace("sm", "compute"))


def compile_all(wanted, architecture):
    """Compile two texts at a time: NVRTC releases the interpreter lock."""
    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(nvrtc.compiled, whole, architecture, name) for whole, name in wanted]
        assert all(bool(future.result()) == architecture.startswith("sm") for future in done)  # PTX is not returned


def peeled():
    """Yield modules of programs in which edges drop vertices immediately."""
    alone, several = (module_text.ModuleFlags(fused=fused, kcore_peel=True) for fused in (True, False))
    yield "rounds", partial(module_text.persistent_rounds, variant=alone)
    yield "multi_gpu_rounds", partial(module_text.multi_gpu_rounds, variant=several)
    yield "round_kernels", partial(module_text.round_kernels, variant=several)
    yield "warp_shares", partial(module_text.edges, variant=several, schedule="warp_shares")


def texts(architecture):
    """Yield the texts to compile for one architecture, with names."""
    for i, kind, how, target in jobs():
        if target == architecture:
            yield how(trace(PROGRAMS[i], np.dtype(WEIGHTS[i % 4]))), f"{type(PROGRAMS[i]).__name__} {kind}"
    yield module_text.round_kernels(trace(ByKey(), None), module_text.ModuleFlags(fused=False)), "ByKey phases"
    turn = ARCHITECTURES.index(architecture)
    for i, (wide, resident) in enumerate(((False, 2), (True, 8))):
        if EVERYTHING or (i + turn) % 2 == 0:
            for several in (False, True):
                yield components(wide, several=several), f"components, {several=}"
            yield (
                module_text.persistent_bfs(
                    trace(Levels(), None), module_text.ModuleFlags(wide=wide, fused=False, persistent_bfs=resident)
                ),
                "persistent_bfs",
            )
    for names in (("independent", "independent_shares"), ("greedy_single",)):
        ids = ("uint32", "int64")[turn % 2]
        yield single_text(names, turn % 2 == 1, "uint32", ids, "#define PIECE 1024"), names[0]
    yield path_lanes(turn % 2 == 1, 1 << turn % 4), "path_lanes"
    yield reach_words(turn % 2 == 1, 1 << turn % 5), "reach_words"
    yield (
        rank_lanes(
            ("uint32", "int64")[turn % 2],
            ("int64", "uint32", "float64")[turn % 3],
            (None, "float32", "int64")[turn % 3],
        ),
        "rank_lanes",
    )
    yield draw(("uint32", "int64")[turn % 2]), "draw"
    yield wedges(turn % 2 == 1), "wedges"
    yield similar(13), "similar"
    yield communities(turn % 2 == 1, 256 << turn % 2), "communities"
    yield place_rows(), "place_rows"
    yield strong(turn % 2 == 1, ("uint32", "int64")[turn % 2]), "strong"
    weight, ids = np.dtype(WEIGHTS[turn % 4]).name, ("uint32", "int64")[turn % 2]
    yield forest(turn % 2 == 1, weight, ids, turn == 0, turn != 1), "forest"
    trees = module_text.ModuleFlags(wide=turn % 2 == 0, fused=False, union_find=True)
    for how in (module_text.round_kernels, module_text.multi_gpu_rounds):
        yield how(trace(UnionFindLabels(), None), trees), "UnionFindLabels by trees"
    pagerank = trace(PageRank().retype(rank="float32", share="float32", inflow="float32"), None)
    yield module_text.round_kernels(pagerank, module_text.ModuleFlags(fused=False)), "pulls in two parts"
    for i, program in enumerate((Peel(), Shells(), ShellLevels())):
        for j, (kind, how) in enumerate(peeled()):
            if EVERYTHING or (i + j + turn) % 3 == 0:
                yield how(trace(program, None)), f"{type(program).__name__} {kind}"
    wide = module_text.ModuleFlags(wide=turn % 2 == 1)
    yield module_text.edge_filter(trace(ShellLevels(), None), wide), "edge_filter"
    for folds in (Communities(), Weighed()):
        yield module_text.round_kernels(trace(folds, np.dtype(np.int64)), wide), f"row folds, {type(folds).__name__}"
    alone = module_text.ModuleFlags(wide=turn % 2 == 1, fused=turn % 2 == 0)
    yield module_text.round_kernels(trace(Estimates().retype(core="int32"), None), alone), "estimates"
    yield selftest.text(), "probe"
    for i, dtype in enumerate(DISTANCES):
        if EVERYTHING or (i + turn) % 2 == 0:
            yield counting(dtype, ("uint32", "int64")[i % 2]), f"figures {dtype}"
    yield row_sums(("uint32", "int64")[turn % 2], np.dtype(WEIGHTS[turn % 4]).name), "row sums"
    for i, family in enumerate(row_kernels.NUMBERS):
        for j, (offsets, weight) in enumerate(itertools.product(("uint32", "int64"), (None, *WEIGHTS))):
            if EVERYTHING or ((i + turn) % 2 == 0 and j == (3 * i + turn) % 8):
                name = weight and np.dtype(weight).name
                distance = name if weight in (np.float32, np.float64) else "int64"
                yield row_kernels.text(family, offsets, name, distance), f"certify_{family}"
    for i, spec in enumerate(DRAWN):
        for j, proof in enumerate((None, "i64", "double")):
            if EVERYTHING or (i + j + turn) % 3 == 0:
                yield drawing(draft(spec, LoadOptions()), proof), spec


def test_a_text_follows_from_the_wording_alone():
    """Check that equal signatures mean equal texts, since runs share texts by signature.

    Values of parameters are not in the signature; constants, their types, dtypes, weights and flags are.
    """

    def like(constant, **flags):
        class Small(Levels):
            def edge(self, u, e, v):
                return {"level": u.level + constant}

            def step(self, g):
                return {"done": g.active == 0}

        for name, value in flags.items():
            setattr(Small, name, value)
        return Small()

    text_of, texts = {}, set()
    programs = [*PROGRAMS, Peel().retype(core="int64"), like(1), like(2), like(True), like(1, monotone=True)]
    for program, weight in itertools.product(programs, (None, *map(np.dtype, WEIGHTS))):
        traced = trace(program, weight)
        whole = module_text.module(traced, module_text.ModuleFlags(), "persistent_rounds")
        assert text_of.setdefault(traced.signature, whole) == whole
        texts.add(whole)
    assert len(text_of) > len(texts) > len(programs)  # a flag changes only some texts
    assert trace(Levels(source=1), None).signature == trace(Levels(source=2), None).signature


def test_quick_code_does_the_same_arithmetic(monkeypatch):
    """Check that multiply-add stays unfused, and that a compiler without the option optimises."""
    pytest.importorskip("cuda.bindings.nvrtc")
    text = 'extern "C" __global__ void f(double* x) { x[0] = x[0] * x[1] + x[2]; }'
    optimised, quick = (nvrtc.compiled(text, "sm_90", "f", quick) for quick in (False, True))
    monkeypatch.setattr(nvrtc, "OPTIONS", ("--std=c++17", "--fmad=true"))
    assert nvrtc.compiled(text, "sm_90", "f", quick=True) != quick
    monkeypatch.undo()
    monkeypatch.setattr(nvrtc, "QUICK", "--no-such-option")
    assert nvrtc.compiled(text, "sm_90", "f", quick=True) == optimised


def test_an_error_names_what_did_not_compile():
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(InternalError, match=r"kernels of mine does not compile for sm_90: .*undefined"):
        nvrtc.compiled("__global__ void f() { undefined(); }", "sm_90", "kernels of mine")


def run(**choices):
    return flat_run("cc", dgraph.Graph.from_edges(np.array([0]), np.array([1]), n=2), **choices)


def test_without_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(UsageError, match=r"the GPU backend needs CuPy.*pip install 'dgraph-analytics\[cuda13\]'"):
        run(backend="cuda")


def test_options_of_the_gpu_without_one(monkeypatch):
    monkeypatch.setattr("dgraph.backend.has_gpu", lambda: False)
    with pytest.raises(UsageError, match=r"schedule='virtual_warp,warp_size=4' is about GPUs"):
        run(schedule="virtual_warp", warp_size=4)
    with pytest.raises(UsageError, match=r"schedule='alb' is about GPUs, and this run has none"):
        run(schedule="alb")
    assert {"what": "backend", "taken": "cpu"}.items() <= run().report["choices"][0].items()


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"schedule": "abl"}, "unknown schedule 'abl': did you mean 'alb'"),
        ({"schedule": "alb", "alb_threshold": "many"}, r"schedule='alb,threshold=many' is none of auto\|threads\|N"),
        ({"schedule": "alb", "alb_distribution": "cycle"}, "schedule='(alb|lb),distribution=cycle' is none of"),
        (
            {"schedule": "virtual_warp", "warp_size": 12},
            "schedule='virtual_warp,warp_size=12' is none of 2…32, a power of two",
        ),
        ({"schedule": "split", "mdt": 0}, "schedule='split,mdt=0' is none of"),
        (
            {"schedule": "vertex", "mdt": 9},
            "the schedule vertex has no options; leave 'mdt=9' out",
        ),
        ({"edge_chunk": False}, "the schedule auto has no options; leave 'chunk=off' out"),
        ({"backend": "gpu"}, "unknown backend 'gpu'"),
    ],
)
def test_wrong_choices(choices, told):
    with pytest.raises(UsageError, match=told):
        run(**({"backend": "cuda"} | choices))
