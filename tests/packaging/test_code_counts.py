"""Counts of ``python -m benchmarks code`` on small texts."""

import pytest

from benchmarks import code

pytestmark = [pytest.mark.mpi_skip, pytest.mark.quick]

PYTHON = '''"""Module."""

# a comment
def f():
    """Docstring,
    of two lines."""
    x = """a value
    of two lines"""
    return x
'''
KERNELS = """// a comment
#define DERIVED (FLAG && OTHER)
#define TWICE (DERIVED + 1)
KERNEL rounds(i64 limit) { // opens
    if (TWICE) {
        c[ROUND] = 1; /* and
        closes */
        step(next);
    }
}
DEVICE int one() { return 1; }
"""
GENERATOR = 'def _head():\n    known = {"FLAG": 1}\n    return f"#define OTHER {1}#define SCHEDULE twc"\n'


def test_docstrings_comments_and_blank_lines_are_no_code():
    assert code.code_lines("a.py", PYTHON) == 4
    assert code.code_lines("a.cuh", KERNELS) == 9


def test_figures_of_a_small_backend():
    folder = "dgraph/backend/cuda"
    files = {f"{folder}/codegen/module_text.py": GENERATOR, f"{folder}/a.cuh": KERNELS, "partitioning/b.py": PYTHON}
    found = code.count(files)
    assert code.flags(files) == {"FLAG", "OTHER"}
    assert found["flags of the CUDA text"] == 2
    assert found["macros derived from flags"] == 2
    assert found["code lines of the backend"] + 4 == found["code lines of the whole"]
    assert found["files that end a round on GPUs"] == 1
    assert found["uses of the round's state by position"] == 1
    assert found["longest function in CUDA"] == f"6 ({folder}/a.cuh:rounds)"
    assert found["longest function in Python"] == "4 (partitioning/b.py:f)"
    assert found["files above 400 lines"] == 0
