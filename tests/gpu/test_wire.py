"""Wire layout: one reader, written from the text of ``wire.py``, reads messages of CPU ranks and of GPUs."""

import ctypes

import numpy as np
import pytest
import simulated
from emulated import needs_compiler
from gpu_ranks import run
from hypothesis import given, settings
from hypothesis import strategies as st

from dgraph.algorithms.cc import Labels
from dgraph.algorithms.pagerank import PageRank
from dgraph.backend.cuda.codegen import exchange_state
from dgraph.backend.cuda.exchange.exchange import Exchange
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.wire import BITSET, CPU, EVERYTHING, GPU, KIND_BITS, NOTHING, OFFSETS, padded
from dgraph.engine.sync.encodings import decode, encode
from dgraph.errors import InternalError

pytestmark = pytest.mark.mpi_skip
DTYPES = [np.dtype("float64"), np.dtype("int32"), np.dtype("uint8")]


def read(message, layout, low, high, dtypes):
    """Return kind, positions and columns of a message over the positions ``low .. high`` of a list; columns by row."""
    words = message[: layout.header].view(np.int64)
    kind, uniform = words[layout.kind_word] & 255, words[layout.kind_word] >> KIND_BITS
    count, stride, place = int(words[layout.count_word]), int(words[layout.stride_word]), layout.header
    rows = np.arange(count)
    if kind == EVERYTHING:
        positions = np.arange(low, high)
    elif kind == OFFSETS:
        positions = message[place : place + 4 * count].view(np.uint32).astype(np.int64)
        place += (4 * stride + 7) // 8 * 8
    else:
        size = 1 << layout.chunk_bits
        first = low // size * size if layout.bases else 0
        chunks = -(-(high - first) // size) if layout.bases else -(-(high - low) // size)
        bases = message[place : place + 4 * chunks].view(np.uint32)
        place += (4 * chunks + 7) // 8 * 8 if layout.bases else 0
        bits = np.unpackbits(message[place : place + chunks * size // 8], bitorder="little")
        (positions,) = np.nonzero(bits)
        if layout.bases:
            chunk = positions // size
            rows = bases[chunk] + (np.arange(count) - np.searchsorted(chunk, chunk))
            positions = positions + first
        place += chunks * size // 8
    columns = []
    for i, dtype in enumerate(dtypes):
        values = message[place : place + dtype.itemsize * stride].view(dtype)
        if uniform >> i & 1:
            columns.append(np.full(count, values[0]))
            place += padded(dtype.itemsize)
        else:
            columns.append(values[rows])
            place += padded(dtype.itemsize * stride)
    assert place == len(message)
    return int(kind), positions, columns


@settings(max_examples=100, deadline=None)
@given(data=st.data(), total=st.integers(1, 300), same=st.booleans())
def test_the_reader_reads_messages_of_cpu_ranks(data, total, same):
    positions = np.array(list(data.draw(st.sets(st.integers(0, total - 1), min_size=1))), np.uint32)
    draw = np.random.default_rng(total)
    columns = [np.full(total, 7, dtype) if same else draw.integers(0, 100, total).astype(dtype) for dtype in DTYPES]
    kind = CPU.choose(len(positions), 0, total, 13, whole=False)
    room = np.empty(CPU.bound(total, [8, 4, 1]), np.uint8)
    message = encode(room, kind, total, positions, columns).copy()
    seen, places, values = read(message, CPU, 0, total, DTYPES)
    assert (seen, sorted(places)) == (kind, sorted(positions))
    for column, value in zip(columns, values, strict=True):
        np.testing.assert_array_equal(value, column[places])
    again, _ = decode(message, total, DTYPES)
    np.testing.assert_array_equal(np.sort(again), np.sort(positions))


@needs_compiler
@pytest.mark.parametrize(("program", "kinds"), [(Labels(), {EVERYTHING, BITSET, OFFSETS}), (PageRank(), {EVERYTHING})])
def test_the_reader_reads_messages_of_gpus(program, kinds, monkeypatch):
    """Values of broadcasts are those of the masters at the positions; proposals are reset as they are sent."""
    launch, met = Exchange._launch, set()

    def looked(self, name, asked):
        if name == "pack":
            before = {k: array.copy() for k, array in self.machine.arrays.fields.items()}
        launch(self, name, asked)
        if name != "pack":
            return
        flag = lambda bit: asked >> bit & 1  # noqa: E731
        role = {number: role for role, number in exchange_state.ROLES.items()}[asked >> exchange_state.ARG_ROLE & 3]
        reduces, local = flag(exchange_state.ARG_REDUCES), self.graph.local
        fields = [k for k, bit in self._bit.items() if asked & bit]
        dtypes = [before[k].dtype for k in fields] + [np.dtype(np.uint8)] * flag(exchange_state.ARG_MARKED)
        for peer in self.peers:
            side = (local.own_mirrors if reduces else local.peer_mirrors).get(peer)
            address = self.post.boxes.outbox(peer, self.post.number & 1)
            words = (ctypes.c_int64 * (GPU.header // 8)).from_address(address)
            if words[GPU.kind_word] == NOTHING or side is None:
                continue
            low, high = side.span(role)
            size = message_size(words, low, high, dtypes)
            message = np.frombuffer((ctypes.c_uint8 * size).from_address(address), np.uint8).copy()
            kind, positions, columns = read(message, GPU, low, high, dtypes)
            met.add(kind)
            assert kind == GPU.choose(
                len(positions), low, high, sum(t.itemsize for t in dtypes), flag(exchange_state.ARG_WHOLE)
            )
            assert size <= GPU.bound(side.count, [t.itemsize for t in dtypes])
            assert len(set(positions)) == len(positions)
            assert positions.min() >= low
            assert positions.max() < high
            vertices = side.first + positions if reduces else self.graph.lids[peer][positions]
            for k, column in zip(fields, columns, strict=False):
                np.testing.assert_array_equal(column, before[k][vertices])

    monkeypatch.setattr(Exchange, "_launch", looked)
    graph = simulated.skewed(4000, 9000, directed=False)
    run(2, graph, [program], policy="hash", options=GpuPlan(small=-1, host_rounds=True))
    assert met == kinds


def message_size(words, low, high, dtypes):
    """Return the bytes of a GPU's message, from its header."""
    kind, stride = words[GPU.kind_word], words[GPU.stride_word]
    chunks = (high - 1) // 1024 - low // 1024 + 1
    positions = {OFFSETS: padded(4 * stride), BITSET: padded(4 * chunks) + 128 * chunks}.get(kind, 0)
    return GPU.header + positions + sum(padded(dtype.itemsize * stride) for dtype in dtypes)


def messages():
    """Yield a message of each kind over 200 positions with a column of int32, and its number of positions."""
    values = np.arange(200, dtype=np.int32)
    for kind, count in ((OFFSETS, 5), (BITSET, 90), (EVERYTHING, 200)):
        positions = np.linspace(0, 199, count).astype(np.uint32)
        yield encode(np.empty(2000, np.uint8), kind, 200, positions, [values]).copy(), count


def edited(message, word, value):
    changed = message.copy()
    changed[8 * word : 8 * word + 8].view(np.int64)[0] = value
    return changed


def faults():
    kinds, counts, body = CPU.kind_word, CPU.count_word, CPU.header // 8
    for message, count in messages():
        words = message[: len(message) & ~7].view(np.int64)
        kind = int(words[kinds])
        yield "shorter than its header", message[:9]
        yield "bytes", message[:-8]
        yield "bytes", np.concatenate([message, message])
        yield "its kind is 7", edited(message, kinds, 7)
        yield "its kind is 0", edited(message, kinds, 0)
        yield "one value", edited(message, kinds, kind | 2 << KIND_BITS)
        yield "has -1 positions", edited(message, counts, -1)
        yield "has 201 positions", edited(message, counts, 201)
        if kind == OFFSETS:
            yield "names position 200", edited(message, body, 200)
        if kind == BITSET:
            first, last = int(words[body]), int(words[body + 3])
            yield "bits or more", edited(message, body, -1)
            yield f"has {count} positions and {count - 1} bits", edited(message, body, first & -2)
            yield "names position 201", edited(edited(message, body, first & -2), body + 3, last | 1 << 9)


@pytest.mark.quick
@pytest.mark.parametrize(("reason", "message"), [*faults()])
def test_a_malformed_message_is_refused(reason, message):
    with pytest.raises(InternalError, match=reason) as refusal:
        decode(message, 200, [np.dtype(np.int32)])
    assert str(refusal.value).startswith(
        f"a message of {len(message)} bytes about 200 positions of mirrors cannot be read"
    )
