"""Sizes of what NVRTC compiles for a GPU of compute capability 9.0: by module, bytes of quickly compiled code.

``python tests/support/kernel_sizes.py`` writes the record that ``tests/gpu/test_kernel_sizes.py`` compares with, and
prints the seconds of a processor that each took. Sizes stand for these, and do not depend on the load of the machine.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dgraph.algorithms.bfs_programs import Levels, Parents
from dgraph.algorithms.communities import gpu_steps
from dgraph.algorithms.delta_stepping import Distances
from dgraph.algorithms.kcore_parts.peel import Peel
from dgraph.algorithms.kernels.components.components_cuda import text as components
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.codegen.kernel_parts import parts
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.device_graph.field_stats import text as figures
from dgraph.backend.cuda.graph_build.build_kernels import text as building
from dgraph.backend.cuda.graph_build.build_plan import draft
from dgraph.graph.load_options import LoadOptions
from dgraph.program import trace

RECORD = Path(__file__).with_suffix(".json")
ALONE, SEVERAL = module_text.ModuleFlags(), module_text.ModuleFlags(fused=False, linked=True)
PROGRAMS = (Levels(), Parents(), Distances(), PageRank(), Peel())


def texts() -> Iterator[tuple[str, str]]:
    """Yield names and texts of the modules of first runs: of one GPU, then of several."""
    yield "build_rmat", building(draft("rmat:20", LoadOptions()))
    yield "figures", figures("int32", "uint32")
    yield "components", components(False, "uint32")
    yield "communities, largest part", parts(gpu_steps.text(True, gpu_steps.WARP_SLOTS[True]), 8)[0]
    for program in PROGRAMS:
        traced, name = trace(program, np.dtype(np.int32)), type(program).__name__
        yield f"{name} round_kernels", module_text.round_kernels(traced, ALONE)
        yield f"{name} persistent_rounds", module_text.persistent_rounds(traced, ALONE)
    levels = trace(Levels(), None)
    yield "Levels alb", module_text.edges(levels, ALONE, "alb")
    yield "Levels round_kernels with mirrors", module_text.round_kernels(levels, SEVERAL)
    yield "Levels multi_gpu_rounds", module_text.multi_gpu_rounds(levels, SEVERAL)
    yield "Levels persistent_bfs", module_text.persistent_bfs(levels, SEVERAL)


def measured() -> Iterator[tuple[str, int, float]]:
    """Yield name, bytes and seconds of a processor of every module, quickly compiled."""
    for name, text in texts():
        began = time.thread_time()
        size = len(nvrtc.compiled(text, "sm_90", name.replace(" ", "_"), quick=True))
        yield name, size, time.thread_time() - began


def write() -> None:
    """Write the record."""
    rows = [f'  "NVRTC": {json.dumps(nvrtc.version())}']
    for name, size, seconds in measured():
        rows.append(f"  {json.dumps(name)}: {size}")
        print(f"{name}: {size:,} bytes, {seconds:.2f} s", flush=True)
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    write()
