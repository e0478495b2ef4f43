"""Columns of a program's fields in messages between GPUs, as C++ functions that pack and unpack them."""

from __future__ import annotations

from dgraph.backend.cuda.codegen.exchange_state import MOST_FIELDS
from dgraph.backend.cuda.codegen.expressions import TYPES, WIDE, CudaScope
from dgraph.backend.cuda.codegen.proposal_operators import to_stored
from dgraph.errors import UsageError
from dgraph.program import Traced


def operators(t: Traced) -> str:
    """Return the C++ functions that pack and unpack a program's columns.

    Raises:
        UsageError: the program has more than MOST_FIELDS fields.
    """
    if len(t.fields) > MOST_FIELDS:
        raise UsageError(
            f"{len(t.fields)} fields in one program, and messages between GPUs hold {MOST_FIELDS}; use fewer"
        )
    scope = CudaScope(t)
    fields = list(enumerate((name, TYPES[field.dtype]) for name, field in t.fields.items()))
    places, widths, members, loads, puts, reads, takes, stores = [], [], [], [], [], [], [], []
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
            proposal = to_stored(scope, name, f"p.p{t.proposes.index(name)}")
            stores.append(f"{asked} (({kind}*)c.at[{i}])[row] = {proposal};")
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
            "// One column a field, of ``stride`` rows each, then one of bytes: 1 if the vertex is active.",
            _function("Columns columns(char* at, i64 fields, i64 stride)", [
                "Columns c;", *places, f"c.at[{len(fields)}] = at;", "return c;"]),
            _function("u8* marks_of(const Columns& c)", [f"return (u8*)c.at[{len(fields)}];"]),
            "// A row in registers: several are loaded before the first is stored, so that loads overlap.",
            f"struct Row {{ {' '.join(members)} }};",
            _function("Row row_of(i64 fields, u32 v)", ["Row r;", *loads, "return r;"]),
            _function("void put_row(const Columns& c, i64 fields, i64 row, const Row& r)", puts),
            _function("Row row_in(const Columns& c, i64 fields, i64 row)", ["Row r;", *reads, "return r;"]),
            _function("void put_proposal(const Columns& c, i64 fields, i64 row, const Proposal& p)", stores),
            _function("void take_row(i64 fields, u32 v, const Row& r)", takes),
            _function("Proposal proposal_in(const Columns& c, i64 row)", [f"return {{{proposed}}};"]),
        ]
    ) + "\n"  # fmt: skip


def _function(signature: str, lines: list[str]) -> str:
    return "\n".join([f"DEVICE {signature} {{", *(f"    {line}" for line in lines), "}"])
