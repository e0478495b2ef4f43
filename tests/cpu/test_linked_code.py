"""Functions that only compiled code calls are linked into their callers, and have no machine code of their own."""

import gc
import subprocess
import sys

import pytest
from children import environment

from dgraph._support import compiled
from dgraph.backend.cpu.threads.atomics import INLINE, INNER, OPTIONS
from partitioning.arrays import lazy_numba

KERNEL = """
import sys
import numpy as np
from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import INNER, OPTIONS

@njit(**INNER)
def doubled(x, i):
    if x[i] < 0:
        raise ValueError("negative")
    return 2 * x[i]

@njit(no_cpython_wrapper=True)
def copied(x):
    return np.empty(x.size, x.dtype)

@njit(**OPTIONS)
def total(x):
    sum = 0
    for i in range(x.size):
        sum += doubled(x, i)
    return sum

@njit(cache=True)
def filled(x):
    y = copied(x)
    for i in range(y.size):
        y[i] = doubled(x, i)
    return y

x = np.arange(5)
print(total(x), filled(x).tolist(), sum(total.stats.cache_hits.values()), doubled.stats.cache_path)
try:
    filled(-x)
except ValueError as error:
    print(error)
engine = doubled.targetctx.codegen()._engine
print([engine.is_symbol_defined(f.overloads[s].fndesc.llvm_func_name) for f in (doubled, total) for s in f.overloads])
"""


@pytest.mark.starts_children
def test_linked_functions_run_and_raise_in_their_callers_from_the_cache_too(tmp_path):
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "code").mkdir(mode=0o700)
    env = environment({"DGRAPH_CACHE_DIR": str(tmp_path / "code"), "NUMBA_CACHE_DIR": str(tmp_path / "kept")})
    for hits, symbols in ((0, "[False, True]"), (1, "[True]")):
        argv = [sys.executable, "kernel.py"]
        said = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout
        assert said.splitlines() == [f"20 [0, 2, 4, 6, 8] {hits} None", "negative", symbols]


def test_linked_functions_have_no_cache_files():
    assert OPTIONS["cache"]
    assert not INNER["cache"]
    assert not INLINE["cache"]


def test_functions_have_no_wrapper_for_c():
    function = lazy_numba.njit(_one).numba()
    assert function(1) == 1
    assert "cfunc" not in next(iter(function.inspect_llvm().values()))


def test_a_compilation_searches_for_cycles_less_often_and_leaves_the_process_as_it_was(monkeypatch):
    before, thresholds = gc.get_threshold(), []
    function = compiled.njit(_one).numba()
    seen = lambda *_: thresholds.append(gc.get_threshold()) or _one  # noqa: E731
    monkeypatch.setattr(function._compiler, "_get_implementation", seen)
    assert function(1) == 1
    assert thresholds[0][0] == compiled.YOUNG
    assert gc.get_threshold() == before


def _one(x):
    return x
