"""States of int64 words have one definition: the host's record and the kernels' struct agree on every offset."""

import subprocess

import numpy as np
import pytest
from emulated import COMPILER, needs_compiler

from dgraph.backend.cuda.codegen import control_block, exchange_state
from dgraph.backend.cuda.codegen.state_struct import struct

pytestmark = [pytest.mark.mpi_skip, pytest.mark.quick]
STATES = [
    ("RoundState", control_block.ROUND_STATE, control_block, ""),
    ("ExchangeState", exchange_state.EXCHANGE_STATE, exchange_state, "POST_"),
    ("PeerState", exchange_state.PEER_STATE, exchange_state, ""),
]


@needs_compiler
@pytest.mark.parametrize(("name", "state"), [state[:2] for state in STATES])
def test_offsets_in_cpp_are_those_of_the_record(name, state, tmp_path):
    lines = "".join(f'    std::printf("%zu ", offsetof({name}, {member}));\n' for member in state.names)
    size = f'    std::printf("%zu", sizeof({name}));\n'
    source = tmp_path / "offsets.cpp"
    source.write_text(
        "#include <cstddef>\n#include <cstdio>\ntypedef long long i64;\n"
        f"{struct(name, state)}\nint main() {{\n{lines}{size}}}\n"
    )
    subprocess.run([COMPILER, "-o", tmp_path / "offsets", source], check=True)
    offsets = subprocess.run([tmp_path / "offsets"], capture_output=True, text=True, check=True).stdout.split()
    assert [*map(int, offsets)] == [*(state.fields[member][1] for member in state.names), state.itemsize]


@pytest.mark.parametrize(("state", "layout", "prefix"), [state[1:] for state in STATES])
def test_positions_in_host_arrays_name_the_members(state, layout, prefix):
    words = np.arange(state.itemsize // 8, dtype=np.int64)
    values = words.view(state)[0]
    for member in state.names:
        if member != "spare":
            assert np.ravel(values[member])[0] == words[getattr(layout, prefix + member.upper())]
        assert f"#define {prefix}{member.upper()} " not in layout.constants()


def test_sums_and_totals_have_their_words():
    assert control_block.ROUND_STATE["sums"].shape == (control_block.MOST_SUMS,)
    totals = exchange_state.TOTAL_SUMS + 8 * control_block.MOST_SUMS
    assert exchange_state.EXCHANGE_STATE["totals"].shape == (totals,)
