"""Sizes of what Numba compiles: by module, the functions and their lines of optimised LLVM code.

``python tests/support/compile_sizes.py`` writes the record that ``tests/cpu/test_compile_sizes.py`` compares with.
Sizes stand for the time that a first run waits, and do not depend on the load of the machine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

RECORD = Path(__file__).with_suffix(".json")
KERNELS = (
    "apsp", "bc", "closeness", "color", "edge_bc", "ktruss", "lcc", "leiden", "mst", "scc", "similarity", "triangles",
)  # fmt: skip
RUNS: dict[str, dict] = {"bfs": {"source": 0}, "pagerank": {}} | {name: {} for name in KERNELS}
"""Algorithm → parameters of the run that compiles its programs and kernels, after the reader of text."""


def measured() -> dict[str, list[int]]:
    """Return module → number of functions, and their lines, of runs in a process of its own with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        cache = {"DGRAPH_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder, "DGRAPH_COMPILE": "always"}
        env = os.environ | cache | {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
        argv = [sys.executable, __file__, folder]
        return json.loads(subprocess.run(argv, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _measure(folder: Path) -> dict[str, list[int]]:
    from numba.core import dispatcher

    import dgraph
    from dgraph.comm import SerialComm

    sizes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    usual = dispatcher._FunctionCompiler.compile

    def compiled(compiler, *types):
        overload = usual(compiler, *types)
        size = sizes[re.sub(r"_[0-9a-f]{16}$", "", compiler.py_func.__module__)]
        size[0] += 1
        size[1] += overload.library.get_llvm_str().count("\n")
        return overload

    dispatcher._FunctionCompiler.compile = compiled
    path = folder / "graph.wel"
    path.write_text("0 1 2\n1 2 3\n")
    for name, parameters in RUNS.items():
        graph = dgraph.Graph.load(str(path), comm=SerialComm(), device="cpu")
        dgraph.run(name, graph, **parameters)
    return {name: size for name, size in sorted(sizes.items()) if name.startswith(("dgraph", "partitioning"))}


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(_measure(Path(sys.argv[1]))))
    else:
        rows = [f"  {json.dumps(name)}: {json.dumps(size)}" for name, size in measured().items()]
        RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
