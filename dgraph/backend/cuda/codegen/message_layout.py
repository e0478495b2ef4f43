"""Messages between GPUs: where their words lie, and a program's fields as columns of them, as CUDA C++."""

from __future__ import annotations

from dgraph.backend.cuda.codegen.control_block import MOST_SUMS
from dgraph.backend.cuda.codegen.expressions import TYPES, WIDE, CudaScope
from dgraph.backend.cuda.codegen.proposal_operators import narrow
from dgraph.errors import UsageError
from dgraph.program import Traced

NOTHING, EVERYTHING, BITSET, OFFSETS = range(4)
"""Encodings of positions in a message, as in ``engine/sync/encodings.py``, except that the values of a bitset lie
chunk by chunk in the order in which warps finished; each chunk's base says where."""

CHUNK_BITS = 10
"""A warp's share of a list: 1,024 positions, a word of bits a lane."""

HEADER = 64
HEADER_NUMBER, HEADER_KIND, HEADER_COUNT, HEADER_STRIDE = range(4)
"""Words of a header: the exchange's number, what is said, of how many positions, rows that a column has room for."""

POST_NUMBER, POST_LATE, POST_PATIENCE, POST_PACKING, POST_WAITING, POST_UNPACKING = range(6)
"""Words of ``env.post``: exchanges so far; twice (1 + the rank that did not answer), and 1 more if that rank gave up by
itself; nanoseconds to wait for one; nanoseconds spent by the first block so far."""

POST_GO, POST_STAMP, POST_REDUCE, POST_TELL, POST_FEW, POST_MOST, POST_MIRRORS = range(6, 13)
"""Of rounds without the host: how often the first block let the others go on, agreements so far, what the exchanges of
a round are asked for, the longest list that is sent uncounted, the most vertices and edges of a frontier, mirrors that
got proposals in rounds of this rank alone."""

POST_TOTALS, POST_SUMS = 13, 19
TOTAL_ACTIVES, TOTAL_DEGREES, TOTAL_STOPS, TOTAL_WAITING, TOTAL_LOWEST, TOTAL_LIVES, TOTAL_SUMS = range(7)
TOTAL_LIGHT, STAMP_BITS = 4, 16
"""What all ranks found in a round: active vertices, their edges, ranks that want to see the host, ranks where vertices
wait, the lowest bucket, vertices that a round over all looks at, and sums. The first TOTAL_LIGHT are all that most
agreements need."""

LOOK_AROUND = 200_000_000
"""Nanoseconds of rounds before a rank wants to see the host, for signals and for what it tells the user."""

WHOLE_ACROSS = 1 << 22
"""Vertices of each rank, on average, up to which a round over all that live runs in the kernel of many."""

POST_WALKED, POST_BEFORE, POST_HIDDEN = range(POST_SUMS + 8 * MOST_SUMS, POST_SUMS + 8 * MOST_SUMS + 3)
"""Of pushes in two parts: when the interior of the last was walked, and what exchanges had taken before it; how much of
their time was hidden behind edges so far. Nanoseconds."""

POST_REACH = POST_HIDDEN + 1
POST_SEEN = POST_REACH + 4
SMALL_IN_A_ROW, LISTED_SHARE = 8, 16
"""Of a search in one kernel: what reduce and broadcast are asked for in a round that pushes, and in one that pulls; the
round up to which the bits of who is reached are kept; small rounds in a row that it runs at most; masters of which one
is listed, or more, where peers are told by a look at every position."""

POST_PULLED = POST_SEEN + 1
POST_BESIDE = POST_PULLED + 2
"""Of a pull in two parts: when rows of mirrors, and those of masters, had been pulled; nanoseconds of messages that the
second part has hidden so far."""

POST_PEERS, POST_PEER = POST_BESIDE + 1, 8
COUNTED, RESERVED, BYTES, SENT, SENT_MESSAGES, LINKED = range(6)
"""Behind them, POST_PEER words a peer: positions of the message, values that found their place, bytes of the message;
bytes and messages so far; whether an edge lies between its largest tree and this rank's."""

SIGNAL_NUMBER, SIGNAL_ABORT, SIGNAL_TOTALS, TOTALS_WORDS = 0, 2, 8, 28
"""Words that a rank writes in another's memory: in turn, the number of a message that lies ready; that it gave up; in
turn, the totals of an agreement."""

WAKE_STEP = 128
"""Bytes between places where links are woken."""

COUNT_BITS = 24
COUNT_IN_HEAD = (1 << COUNT_BITS) - 1
"""Behind a message's number: its count, or that it has a head that tells."""

ROLE_NONE, ROLE_ROW, ROLE_COLUMN, ROLE_ANY = range(4)
ROLES = {"none": ROLE_NONE, "row": ROLE_ROW, "column": ROLE_COLUMN, "any": ROLE_ANY}

ASKED_ROLE, ASKED_REDUCES, ASKED_DENSE, ASKED_WHOLE, ASKED_MARKED, ASKED_JOINS, ASKED_FAILED, ASKED_DIRECT = (
    40, 42, 43, 44, 45, 46, 47, 48
)  # fmt: skip
"""Bits of the argument of ``pack`` and ``unpack``; below them, the fields that travel."""

MOST_LOCAL, MOST_LOCAL_IN_BUCKET = 128, 24
"""Rounds that a rank runs by itself, at most, before it exchanges: others may wait for what it found, longest for what
opens the next bucket."""

FEW_ROWS = 128
"""Rows of all messages of an exchange that the first block takes by itself, so that no block waits for another one."""

MAILED = 1 << 17
"""Edges of a rank's frontier up to which proposals to mirrors go into messages one by one, as edges find them."""

MOST_FIELDS = ASKED_ROLE


def constants() -> str:
    """These names as C++ constants."""
    known = {name: value for name, value in globals().items() if name.isupper() and isinstance(value, int)}
    return "".join(f"#define {name} {value}\n" for name, value in known.items() if name != "MOST_SUMS")


def padded(size: int) -> int:
    """Bytes of a part of a message."""
    return (size + 7) & ~7


def bound(total: int, widths: list[int], most: int) -> int:
    """The most bytes of a message over ``total`` positions. Up to ``most`` may come as offsets unasked; or MAILED,
    one of them more than once."""
    if total == 0:
        return HEADER
    chunks = (total >> CHUNK_BITS) + 2
    bits = padded(4 * chunks) + (chunks << CHUNK_BITS) // 8 + sum(padded(total * width) for width in widths)
    few = max(min(total, most), MAILED)
    return HEADER + max(bits, padded(4 * few) + sum(padded(few * width) for width in widths))


def operators(t: Traced) -> str:
    """What kernels do with a program's columns."""
    if len(t.fields) > MOST_FIELDS:
        raise UsageError(f"{len(t.fields)} fields in one program; {MOST_FIELDS} is the most between GPUs")
    scope = CudaScope(t)
    fields = list(enumerate((name, TYPES[field.dtype]) for name, field in t.fields.items()))
    places, widths, members, loads, puts, reads, takes, given = [], [], [], [], [], [], [], []
    for i, (name, kind) in fields:
        asked = f"if (fields >> {i} & 1)"
        places.append(f"{asked} c.at[{i}] = at, at += padded(stride * (i64)sizeof({kind}));")
        widths.append(f"{asked} width += sizeof({kind});")
        members.append(f"{kind} f{i};")
        loads.append(f"{asked} r.f{i} = LOAD(env.f_{name} + v);")
        puts.append(f"{asked} (({kind}*)c.at[{i}])[row] = r.f{i};")
        reads.append(f"{asked} r.f{i} = FRESH(({kind}*)c.at[{i}] + row);")
        takes.append(f"{asked} env.f_{name}[v] = r.f{i};")
        if name in t.proposes:
            given.append(f"{asked} (({kind}*)c.at[{i}])[row] = {narrow(scope, name, f'p.p{t.proposes.index(name)}')};")
    number = {name: (i, kind) for i, (name, kind) in fields}
    proposed = ", ".join(
        f"({WIDE['int' if kind not in ('float', 'double') else 'f32' if kind == 'float' else 'f64']})"
        f"FRESH(({kind}*)c.at[{i}] + row)"
        for i, kind in (number[name] for name in t.proposes)
    )
    return "\n\n".join(
        [
            f"struct Columns {{ char* at[{len(fields) + 1}]; }};",
            _function("i64 padded(i64 size)", ["return (size + 7) & ~7ll;"]),
            _function("i64 width_of(i64 fields, bool marked)", ["i64 width = marked;", *widths, "return width;"]),
            "// One column a field, each of ``stride`` rows; the last one is of bytes: whether the vertex is active.",
            _function("Columns columns(char* at, i64 fields, i64 stride)", [
                "Columns c;", *places, f"c.at[{len(fields)}] = at;", "return c;"]),
            _function("u8* marks_of(const Columns& c)", [f"return (u8*)c.at[{len(fields)}];"]),
            "// A row on its way: whoever moves several reads them all before it writes one.",
            f"struct Row {{ {' '.join(members)} }};",
            _function("Row row_of(i64 fields, u32 v)", ["Row r;", *loads, "return r;"]),
            _function("void put_row(const Columns& c, i64 fields, i64 row, const Row& r)", puts),
            _function("Row row_in(const Columns& c, i64 fields, i64 row)", ["Row r;", *reads, "return r;"]),
            _function("void put_proposal(const Columns& c, i64 fields, i64 row, const Proposal& p)", given),
            _function("void take_row(i64 fields, u32 v, const Row& r)", takes),
            _function("Proposal proposal_in(const Columns& c, i64 row)", [f"return {{{proposed}}};"]),
        ]
    ) + "\n"  # fmt: skip


def _function(signature: str, lines: list[str]) -> str:
    return "\n".join([f"DEVICE {signature} {{", *(f"    {line}" for line in lines), "}"])
