"""Wire layout of mirror messages, for ranks on CPUs and on GPUs: kinds, headers, sizes and the choice of a kind.

A message holds changed positions of a list that both ranks know, and their values. It is empty, or a header, the set of
positions, and a column for each field of ``stride`` rows, then one of uint8 if the message is marked. Every part is
padded to 8 bytes. The set of positions is

* ``EVERYTHING``: nothing; row i is position i of the span;
* ``OFFSETS``: room for ``stride`` uint32; row i is position ``offsets[i]``;
* ``BITSET``: a base for each chunk (uint32) where the layout has bases, then the bits of the span's chunks, lowest bit
  first. Rows follow the set bits; those of a chunk begin at its base.

The kind's word holds one more bit for each column: bit ``KIND_BITS`` + i is set if column i is one value for all rows.

CPUs and GPUs share all of it but what :class:`WireLayout` names, widths and places of words: that is simpler than one
format. Warps end in any order, so a GPU needs bases and a stride that is fixed before the rows are counted, and a
header that fills two sectors of memory; a rank on a CPU writes rows in order, and small messages of its many rounds
should not grow by ``GPU.header - CPU.header`` bytes. No file has the format, and ranks of one run are all on CPUs or
all on GPUs.

``engine/sync/encodings.py`` writes and reads messages of CPU ranks. On GPUs ``finish`` in ``messages.cuh`` writes a
header and ``incoming`` reads it; messages whose count is in the signal (``few`` in ``device_signals.cuh``) and messages
of bits (``frontier_messages.cuh``) leave it unwritten. ``tests/gpu/test_wire.py`` reads messages of both backends.
A message is refused where it arrives, in ``messages_came`` for kernels that the host launches and inside
``gate.around`` of ``Exchanger::exchange`` for persistent ones, never in ``incoming``: all blocks must see the same
``stalled``.

The module lies in ``backend``, since the GPU's text is made here and ``engine`` imports ``backend``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dgraph.errors import InternalError

NOTHING, EVERYTHING, BITSET, OFFSETS = range(4)
"""Kinds of a message, by its set of positions."""

KIND_BITS = 8
"""Bits of the kind's word that hold the kind."""

OFFSET = 4
"""Bytes of an offset and of a base."""


class UnreadableMessage(InternalError):
    """A message of a CPU rank that has arrived, with all others of its exchange, and is not in the format."""


class WireLayout(NamedTuple):
    """Widths of the messages of one backend.

    Attributes:
        header: bytes of the header, a multiple of 8.
        kind_word: word of the header with the kind, as the others int64.
        count_word: word with the number of positions.
        stride_word: word with the capacity of a column in rows.
        chunk_bits: log2 of the positions of a chunk.
        bases: True if the bits have bases, and chunks are those of the whole list, so that a span may begin inside one;
            False: the first chunk begins where the span does.
    """

    header: int
    kind_word: int
    count_word: int
    stride_word: int
    chunk_bits: int
    bases: bool

    def chunks(self, low: int, high: int) -> int:
        """Return the number of chunks that the positions ``low .. high`` touch."""
        if low >= high:
            return 0
        if not self.bases:
            low, high = 0, high - low
        return ((high - 1) >> self.chunk_bits) + 1 - (low >> self.chunk_bits)

    def bitset(self, chunks: int) -> int:
        """Return the bytes of a set of positions as bits."""
        return (padded(OFFSET * chunks) if self.bases else 0) + (chunks << self.chunk_bits >> 3)

    def choose(self, count: int, low: int, high: int, width: int, whole: bool) -> int:
        """Return the kind of the fewest bytes; each is one message, so fewer bytes also mean less time.

        The GPU's ``chosen`` in ``messages.cuh`` is the same function.

        Args:
            count: positions that changed.
            low: first position of the span.
            high: end of the span.
            width: bytes of values per position.
            whole: True if unchanged positions may be sent too.
        """
        if count == 0:
            return NOTHING
        total = high - low
        if count == total:
            return EVERYTHING
        bitset, offsets = self.bitset(self.chunks(low, high)), padded(OFFSET * count)
        best, size = (BITSET, bitset) if bitset < offsets else (OFFSETS, offsets)
        return EVERYTHING if whole and total * width <= size + count * width else best

    def bound(self, total: int, widths: Sequence[int], offsets: int = 0) -> int:
        """Return the maximum bytes of a message over any ``total`` positions, of the kind that :meth:`choose` returns.

        Args:
            total: positions in the span.
            widths: bytes of each column.
            offsets: most rows that may be sent as offsets although another kind is smaller.
        """
        if total == 0:
            return self.header if self.bases else 0
        chunks = (total >> self.chunk_bits) + 2 if self.bases else self.chunks(0, total)
        size = self.bitset(chunks) + _columns(total, widths)
        if offsets:
            size = max(size, padded(OFFSET * offsets) + _columns(offsets, widths))
        return self.header + size


HEADER_NUMBER = 0
"""Word of a GPU's header with the number of the exchange: of reduces and broadcasts over all runs, not of the round."""

CPU = WireLayout(header=16, kind_word=0, count_word=1, stride_word=1, chunk_bits=6, bases=False)
GPU = WireLayout(header=64, kind_word=1, count_word=2, stride_word=3, chunk_bits=10, bases=True)
"""A chunk is a warp's share of a list: 1,024 positions, a 32-bit word of the bits a lane."""


def padded(size: int) -> int:
    """Return a size in bytes rounded up to 8."""
    return (size + 7) & ~7


def _columns(rows: int, widths: Sequence[int]) -> int:
    return sum([rows * width + 7 & ~7 for width in widths])


def macros() -> str:
    """Return the kinds and the GPU's layout as C++ macros."""
    values = {
        "NOTHING": NOTHING, "EVERYTHING": EVERYTHING, "BITSET": BITSET, "OFFSETS": OFFSETS,
        "CHUNK_BITS": GPU.chunk_bits, "HEADER": GPU.header, "HEADER_NUMBER": HEADER_NUMBER,
        "HEADER_KIND": GPU.kind_word, "HEADER_COUNT": GPU.count_word, "HEADER_STRIDE": GPU.stride_word,
    }  # fmt: skip
    return "".join(f"#define {name} {value}\n" for name, value in values.items())
