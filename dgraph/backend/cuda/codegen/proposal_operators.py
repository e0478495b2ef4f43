"""Proposals as CUDA C++: what an edge gives, how several become one, and how one becomes a vertex's value.

Each function gives the lines of the operator of its name, for the fields that edges propose, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable

from dgraph.backend.codegen.expression_lowering import HIGHEST, Body
from dgraph.backend.cuda.codegen.expressions import TYPES, WIDE, CudaScope


def listed(items: Iterable[str]) -> str:
    return ", ".join(items)


def propose(s: CudaScope) -> list[str]:
    t = s.traced
    at_source = {("u", k): f"s.x{i}" for i, k in enumerate(sorted(t.reads_u))}
    if t.smallest:
        return _propose_id(s, at_source)
    body = Body(s, at_source)
    results = []
    for key, x in t.edge.items():
        kind = s.kind(key)
        value = body.text(x) if kind == "bool" else body.cast(x, kind, key)
        results.append(f"({accumulated(s, key)})({value})")
    return [*body.lines, f"return {{{listed(results)}}};"]


def _propose_id(s: CudaScope, at_source: dict[tuple[str, str], str]) -> list[str]:
    """Where ids are read of sources alone that propose theirs."""
    ((key, x),) = s.traced.edge.items()
    read = f"(i64)env.original[{at_source['u', 'id']}]"
    body = Body(s, at_source | {("u", "id"): read})
    test = body.text(x.args[0])
    return [*body.lines, f"return {{{test} ? {read} : {s.infinity(key)}}};"]


def proposal_at(s: CudaScope) -> list[str]:
    """One that came from another rank, as it lies in its message."""
    t = s.traced
    loaded = (
        f"({accumulated(s, k)})(((const {TYPES[t.fields[k].dtype]}*)env.inbox{i})[i])" for i, k in enumerate(t.proposes)
    )
    return [f"return {{{listed(loaded)}}};"]


def identity(s: CudaScope) -> list[str]:
    return [f"return {{{listed(_identity_of(s, k) for k in s.traced.proposes)}}};"]


def is_identity(s: CudaScope) -> list[str]:
    tests = (f"p.p{i} == {_identity_of(s, k)}" for i, k in enumerate(s.traced.proposes))
    return ["return " + " && ".join(tests) + ";"]


def accumulated(s: CudaScope, field: str) -> str:
    """The type in which proposals for a field are folded."""
    kind = s.kind(field)
    return WIDE["int" if kind == "bool" else kind]


def _identity_of(s: CudaScope, field: str) -> str:
    return f"({accumulated(s, field)})({s.identity(field)})"


def from_lane_xor(s: CudaScope) -> list[str]:
    return [f"return {{{listed(f'shuffle_xor(p.p{i}, mask)' for i in range(len(s.traced.proposes)))}}};"]


def fold(s: CudaScope) -> list[str]:
    """Combine proposals in a register."""
    t = s.traced
    combine = {"min": "smaller(a.p{0}, p.p{0})", "max": "larger(a.p{0}, p.p{0})", "add": "a.p{0} + p.p{0}"}
    combine["or"] = "a.p{0} | p.p{0}"
    names = [t.fields[k].reduce.name for k in t.proposes]  # type: ignore[union-attr]
    return [f"return {{{listed(combine[name].format(i) for i, name in enumerate(names))}}};"]


def improves(s: CudaScope) -> list[str]:
    """Whether it is worth an atomic: read without one, so several can be under way."""
    t = s.traced
    tests = []
    for i, key in enumerate(t.proposes):
        field, read = t.fields[key], f"LOAD(env.f_{key} + v)"
        monoid = field.reduce.name  # type: ignore[union-attr]
        wide = f"({accumulated(s, key)}){read}"
        if t.once:
            tests.append("true" if t.cond is not None else f"{read} == {s.store(field.dtype, s.identity(key))}")
        elif monoid in ("min", "max"):
            tests.append(f"p.p{i} {'<' if monoid == 'min' else '>'} {wide}")
        elif monoid == "or":
            tests.append(f"({wide} | p.p{i}) != {wide}")
        else:
            tests.append("true")
    return [f"return {' || '.join(tests)};"]


def attempt(s: CudaScope) -> list[str]:
    """Combine proposals into v, many threads at once."""
    t = s.traced
    lines = ["Claim c;"]
    for i, key in enumerate(t.proposes):
        field, at = t.fields[key], f"env.f_{key} + v"
        monoid = field.reduce.name  # type: ignore[union-attr]
        if t.once:
            empty = s.store(field.dtype, s.identity(key))
            lines.append(f"c.c{i} = swapped({at}, {empty}, {narrow(s, key, f'p.p{i}')});")
        elif monoid in ("min", "max"):
            lines.append(f"c.c{i} = {'lowered' if monoid == 'min' else 'raised'}({at}, p.p{i});")
        elif monoid == "or":
            lines.append(f"c.c{i} = united({at}, {narrow(s, key, f'p.p{i}')});")
        else:
            lines.append(f"add({at}, ({TYPES[field.dtype]})p.p{i}); c.c{i} = true;")
    return [*lines, "return c;"]


def succeeded(s: CudaScope) -> list[str]:
    """Whether v changed."""
    t = s.traced
    tests = []
    for i, key in enumerate(t.proposes):
        field = t.fields[key]
        if t.once:
            tests.append(f"c.c{i} == {s.store(field.dtype, s.identity(key))}")
        elif _by_value(s, key):
            tests.append(f"p.p{i} {'<' if field.reduce.name == 'min' else '>'} (i64)c.c{i}")  # type: ignore[union-attr]
        else:
            tests.append(f"c.c{i}")
    return [f"return {' || '.join(tests)};"]


def put(s: CudaScope) -> list[str]:
    """The first proposals that v takes, where no other will come."""
    return [f"env.f_{key}[v] = {narrow(s, key, f'p.p{i}')};" for i, key in enumerate(s.traced.proposes)]


def commit(s: CudaScope) -> list[str]:
    """The register into v, which one thread owns; whether v changed."""
    t = s.traced
    lines = ["bool changed = false;"]
    for i, key in enumerate(t.proposes):
        field, at = t.fields[key], f"env.f_{key}[v]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        wide = f"({accumulated(s, key)}){at}"
        if monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines.append(f"if (a.p{i} {sign} {wide}) {{ {at} = {narrow(s, key, f'a.p{i}')}; changed = true; }}")
        elif monoid == "or":
            both = f"({wide} | a.p{i})"
            lines.append(f"if ({both} != {wide}) {{ {at} = {narrow(s, key, both)}; changed = true; }}")
        else:
            lines.append(f"{at} = {narrow(s, key, f'{wide} + a.p{i}')}; changed = true;")
    return [*lines, "return changed;"]


def reset(s: CudaScope) -> list[str]:
    """Accumulators that must not be counted twice go back to their identity."""
    fields = s.traced.fields
    return [f"env.f_{k}[v] = 0;" for k in s.traced.proposes if not fields[k].reduce.idempotent]  # type: ignore[union-attr]


def claimed(s: CudaScope, key: str) -> str:
    return TYPES[s.traced.fields[key].dtype] if _by_value(s, key) else "bool"


def _by_value(s: CudaScope, key: str) -> bool:
    """Whether an atomic on the field gives back what stood there, for ``succeeded`` to look at later."""
    field = s.traced.fields[key]
    return s.traced.once or (field.reduce.name in ("min", "max") and field.dtype in ("int32", "uint32", "int64"))  # type: ignore[union-attr]


def narrow(s: CudaScope, key: str, text: str) -> str:
    dtype = s.traced.fields[key].dtype
    return s.store(dtype, Body(s).clamped(dtype, text) if dtype in HIGHEST else text)
