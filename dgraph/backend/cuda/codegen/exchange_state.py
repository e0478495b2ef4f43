"""State of the exchange between GPUs, its signals and arguments, and limits of rounds without the host.

Python and kernels share these constants; :func:`constants` gives their text. The messages' layout is left to
:mod:`dgraph.backend.wire`, a program's columns to :mod:`message_columns`.
"""

from __future__ import annotations

from dgraph.backend import wire
from dgraph.backend.cuda.codegen.control_block import MOST_SUMS
from dgraph.backend.cuda.codegen.state_struct import record, slots, struct

TOTAL_ACTIVES, TOTAL_DEGREES, TOTAL_STOPS, TOTAL_WAITING, TOTAL_LOWEST, TOTAL_LIVES, TOTAL_SUMS = range(7)
"""Totals of a round over all ranks.

In order: active vertices; their edges; ranks that want to return to their host; ranks with vertices in far buckets;
the lowest bucket; vertices of the next round over all live ones; sums.
"""
TOTAL_LIGHT, STAMP_BITS = 4, 16
"""Number of leading totals that most agreements need; bits of an agreement's stamp."""

POST_NUMBER, POST_STALLED, POST_PATIENCE, POST_PACKING, POST_WAITING, POST_UNPACKING = range(6)
"""Words of ``env.post``, the state of the exchange (struct ``ExchangeState``).

POST_NUMBER: exchanges so far. POST_STALLED: 2 (1 + rank that did not answer), plus 1 if that rank gave up by itself.
POST_PATIENCE: nanoseconds to wait for a rank. The others: nanoseconds that the first block spent on each step.
"""

POST_RELEASES, POST_STAMP, POST_REDUCE, POST_BROADCAST, POST_OFFSET_LIMIT, POST_SMALL_LIMIT, POST_MIRRORS = range(6, 13)
"""Words for rounds without the host.

In order: how often the first block released the others; agreements so far; the arguments of reduce and broadcast in a
round; the longest list sent as offsets without counting; the largest frontier, in vertices and edges, of a small
round; mirrors that got proposals in local rounds.
"""

POST_TOTALS = 13
"""First of the last totals, with their sums 8 words apart behind them."""
POST_BFS = POST_TOTALS + TOTAL_SUMS + 8 * MOST_SUMS
"""First of four words of the persistent search: arguments of reduce and broadcast, by direction."""
POST_SEEN = POST_BFS + 4
"""Round up to which bitmaps of reached vertices are kept."""
POST_PULLED = POST_SEEN + 1
"""First of two words of pulls in two parts: times at which rows of mirrors and of masters were pulled."""
POST_BESIDE = POST_PULLED + 2
"""Nanoseconds of messages that the second part of pulls has hidden so far."""
POST_SUMMARY = POST_BESIDE + 1
"""First of three words of the program's :attr:`~dgraph.program.program.Program.end_figure`."""

_WORDS = slots(globals(), set(), "POST_")
POST_PEERS, POST_PEER = POST_SUMMARY + 3, 8
"""First word of the peers' words in ``env.post``, and words of each."""
EXCHANGE_STATE = record(_WORDS, POST_PEERS)
"""The state of the exchange as one record, without the peers' words."""

_BEFORE = {*globals()}
COUNTED, RESERVED, BYTES, SENT, SENT_MESSAGES, LINKED, SPARE = range(7)
"""Words of a peer in ``env.post`` (struct ``PeerState``).

Positions of the message; values that were assigned a place; bytes of the message; bytes and messages so far; 1 if an
edge joins its largest tree to this rank's.
"""
_PEER_WORDS = slots(globals(), _BEFORE | {"_BEFORE"})
PEER_STATE = record(_PEER_WORDS, POST_PEER)
"""A peer's words as one record."""

HOST_CHECK_TIME = 200_000_000
"""Nanoseconds of rounds after which a rank returns to its host, for signals and progress."""

WHOLE_MULTI_GPU = 1 << 22
"""Mean vertices a rank up to which a round over all live vertices runs in the persistent multi-GPU kernel."""

SMALL_IN_A_ROW, LISTED_SHARE = 8, 16
"""Limits of the persistent search.

Small rounds that it runs in a row at most; a list is sent if it has at most one in LISTED_SHARE of all masters.
"""

SIGNAL_NUMBER, SIGNAL_ABORT, SIGNAL_TOTALS, TOTALS_WORDS = 0, 2, 8, 28
"""Words that a rank writes in another's memory, by parity of the exchange where there are two.

The number of a message that is ready; 1 if the rank gave up, or 2 + the rank because of which it did; the totals of an
agreement.
"""

WAKE_STEP = 128
"""Bytes between the addresses that a wake-up of links touches."""

COUNT_BITS = 24
"""Bits of a message's count in its signal, behind its number."""
COUNT_IN_HEAD = (1 << COUNT_BITS) - 1
"""Count of a signal that says: read the count in the message's header."""

ROLE_NONE, ROLE_ROW, ROLE_COLUMN, ROLE_ANY = range(4)
"""Roles of mirrors in the CSR block of a rank: neither, source (row), target (column), or any."""
ROLES = {"none": ROLE_NONE, "row": ROLE_ROW, "column": ROLE_COLUMN, "any": ROLE_ANY}

ARG_ROLE, ARG_REDUCES, ARG_DENSE, ARG_WHOLE, ARG_MARKED, ARG_JOINS, ARG_FAILED, ARG_DIRECT = (
    40, 42, 43, 44, 45, 46, 47, 48
)  # fmt: skip
"""Bits of the argument of ``pack`` and ``unpack``; below them, the set of fields that are sent."""

MOST_LOCAL, MOST_LOCAL_IN_BUCKET = 128, 24
"""Most local rounds of a rank before it exchanges, in all and while in one bucket.

Other ranks may wait for its proposals, longest for those that open the next bucket.
"""

FEW_ROWS = 128
"""Most rows of all messages of an exchange that the first block handles alone, without a grid barrier."""

MAILED = 1 << 17
"""Most frontier edges of a rank whose proposals to mirrors are written into messages one by one."""

MOST_FIELDS = ARG_ROLE
"""Most fields of a program: bits below ARG_ROLE."""


def constants() -> str:
    """Return these names and the layout of messages as C++ macros, but words of the exchange's state as structs."""
    ints = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    ints = {name: value for name, value in ints.items() if not (name.startswith("POST_") or name in ("MOST_SUMS",))}
    macros = "".join(f"#define {name} {value}\n" for name, value in ints.items() if name.lower() not in _PEER_WORDS)
    return wire.macros() + macros + struct("ExchangeState", EXCHANGE_STATE) + struct("PeerState", PEER_STATE)


def bound(total: int, widths: list[int], most: int) -> int:
    """Return the largest size of a message over ``total`` positions, in bytes.

    Args:
        total: positions of both ranks' common list.
        widths: bytes of each column.
        most: most positions that may be sent as offsets without being counted; MAILED proposals are allowed too, and
            may name a position more than once.
    """
    return wire.GPU.bound(total, widths, max(min(total, most), MAILED))
