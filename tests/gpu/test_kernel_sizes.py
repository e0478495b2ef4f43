"""A first run on GPUs waits for no more kernels than on record: 10 % above it fails."""

import json

import pytest
from kernel_sizes import RECORD, measured

from dgraph.backend.cuda.device import nvrtc

pytestmark = [pytest.mark.exhaustive, pytest.mark.mpi_skip]


def test_no_module_compiles_to_a_tenth_more_than_on_record():
    pytest.importorskip("cuda.bindings.nvrtc")
    record = json.loads(RECORD.read_text())
    if record.pop("NVRTC") != nvrtc.version():
        pytest.skip("the record is of another version of NVRTC")
    sizes = {name: size for name, size, _ in measured()}
    assert sizes.keys() == record.keys()
    larger = {name: (size, record[name]) for name, size in sizes.items() if size > 1.1 * record[name]}
    assert not larger, "make less compile, or write the record: python tests/support/kernel_sizes.py"
