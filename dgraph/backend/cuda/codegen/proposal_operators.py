"""Proposals as CUDA C++: create one at an edge, fold several, and combine one into a vertex's field.

Each function returns the body of the operator of its name, for the fields that edges propose, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable

from dgraph.backend.codegen.expression_lowering import HIGHEST, Body
from dgraph.backend.compile_flags import TOP
from dgraph.backend.cuda.codegen.expressions import TYPES, WIDE, CudaScope


def listed(items: Iterable[str]) -> str:
    """Return items separated by commas."""
    return ", ".join(items)


def propose(s: CudaScope) -> list[str]:
    """Return the body that computes an edge's proposal from its source, weight and target."""
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
    """Return ``propose`` for a program that proposes source ids: an id is read only if it is proposed."""
    ((key, x),) = s.traced.edge.items()
    read = f"(i64)env.original[{at_source['u', 'id']}]"
    body = Body(s, at_source | {("u", "id"): read})
    test = body.text(x.args[0])
    return [*body.lines, f"return {{{test} ? {read} : {s.infinity(key)}}};"]


def proposal_at(s: CudaScope) -> list[str]:
    """Return the body that loads a proposal of a message that came through host memory."""
    t = s.traced
    loaded = (
        f"({accumulated(s, k)})(((const {TYPES[t.fields[k].dtype]}*)env.inbox{i})[i])" for i, k in enumerate(t.proposes)
    )
    return [f"return {{{listed(loaded)}}};"]


def identity(s: CudaScope) -> list[str]:
    """Return the body that makes a proposal which changes nothing."""
    return [f"return {{{listed(_identity_of(s, k) for k in s.traced.proposes)}}};"]


def is_identity(s: CudaScope) -> list[str]:
    """Return the test for a proposal which changes nothing."""
    tests = (f"p.p{i} == {_identity_of(s, k)}" for i, k in enumerate(s.traced.proposes))
    return ["return " + " && ".join(tests) + ";"]


def accumulated(s: CudaScope, field: str) -> str:
    """Return the C++ type in which proposals for a field are folded."""
    kind = s.kind(field)
    return WIDE["int" if kind == "bool" else kind]


def _identity_of(s: CudaScope, field: str) -> str:
    return f"({accumulated(s, field)})({s.identity(field)})"


def from_lane_xor(s: CudaScope) -> list[str]:
    """Return the body that fetches the proposal of the lane whose number differs by a mask."""
    return [f"return {{{listed(f'shuffle_xor(p.p{i}, mask)' for i in range(len(s.traced.proposes)))}}};"]


def fold(s: CudaScope) -> list[str]:
    """Return the body that combines two proposals in registers."""
    t = s.traced
    if t.row_reducer:  # rows are folded elsewhere
        return ["return p;"]
    combine = {"min": "smaller(a.p{0}, p.p{0})", "max": "larger(a.p{0}, p.p{0})", "add": "a.p{0} + p.p{0}"}
    combine["or"] = "a.p{0} | p.p{0}"
    names = [t.fields[k].reduce.name for k in t.proposes]  # type: ignore[union-attr]
    return [f"return {{{listed(combine[name].format(i) for i, name in enumerate(names))}}};"]


def improves(s: CudaScope) -> list[str]:
    """Return a test, without an atomic, whether an atomic may change v; several loads can be in flight."""
    t = s.traced
    if t.row_reducer:
        return ["return false;"]
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
    """Return the body that combines a proposal into v by atomics; many threads may do so at once."""
    t = s.traced
    if t.row_reducer:  # nothing is pushed
        return ["return {false};"]
    lines = ["Claim c;"]
    for i, key in enumerate(t.proposes):
        field, address = t.fields[key], f"env.f_{key} + v"
        monoid = field.reduce.name  # type: ignore[union-attr]
        if t.once:
            empty = s.store(field.dtype, s.identity(key))
            lines.append(f"c.c{i} = swapped({address}, {empty}, {to_stored(s, key, f'p.p{i}')});")
        elif monoid in ("min", "max"):
            atomic = f"c.c{i} = {'lowered' if monoid == 'min' else 'raised'}({address}, p.p{i});"
            lines.append(_exclusive(s, key, i) + atomic)
        elif monoid == "or":
            lines.append(f"c.c{i} = united({address}, {to_stored(s, key, f'p.p{i}')});")
        else:
            lines.append(f"add({address}, ({TYPES[field.dtype]})p.p{i}); c.c{i} = true;")
    return [*lines, "return c;"]


def _exclusive(s: CudaScope, key: str, i: int) -> str:
    """Return the store without an atomic for vertices of ``Program.exclusive``, up to the else; "" without any."""
    flag = s.traced.program.exclusive
    if flag is None or not _by_value(s, key):
        return ""
    sign = "<" if s.traced.fields[key].reduce.name == "min" else ">"  # type: ignore[union-attr]
    store = f"if (p.p{i} {sign} (i64)c.c{i}) env.f_{key}[v] = {to_stored(s, key, f'p.p{i}')};"
    return f"if ({s.leaf('v', flag)}) {{ c.c{i} = LOAD(env.f_{key} + v); {store} }} else "


def succeeded(s: CudaScope) -> list[str]:
    """Return the test on results of ``attempt``: v changed."""
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
    """Return the body that stores a proposal into v, where only one ever arrives."""
    return [f"env.f_{key}[v] = {to_stored(s, key, f'p.p{i}')};" for i, key in enumerate(s.traced.proposes)]


def commit(s: CudaScope) -> list[str]:
    """Return the body that combines a folded proposal into v, which one thread owns; true if v changed."""
    t = s.traced
    if t.row_reducer:
        value = "smaller(a.p0, fold_ceiling(v))" if t.program.ceiling else "a.p0"
        return [f"env.f_{t.proposes[0]}[v] = {value};", "return true;"]
    lines = ["bool changed = false;"]
    for i, key in enumerate(t.proposes):
        field, element = t.fields[key], f"env.f_{key}[v]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        wide = f"({accumulated(s, key)}){element}"
        if monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines.append(f"if (a.p{i} {sign} {wide}) {{ {element} = {to_stored(s, key, f'a.p{i}')}; changed = true; }}")
        elif monoid == "or":
            both = f"({wide} | a.p{i})"
            lines.append(f"if ({both} != {wide}) {{ {element} = {to_stored(s, key, both)}; changed = true; }}")
        else:
            lines.append(f"{element} = {to_stored(s, key, f'{wide} + a.p{i}')}; changed = true;")
    return [*lines, "return changed;"]


def fold_ceiling(s: CudaScope) -> list[str]:
    """Return the body that reads the largest value that a row reducer may find for v."""
    ceiling = s.traced.program.ceiling
    return [f"return {s.leaf('v', ceiling) if ceiling else f'{TOP}ll'};"]


def put_ceiling(s: CudaScope) -> list[str]:
    """Return the body that stores a folded value as the ceiling of v, as ``apply`` does where results only fall."""
    ceiling = s.traced.program.ceiling
    return [f"env.f_{ceiling}[v] = {to_stored(s, ceiling, 'value')};"] if ceiling else []


def put_sum(s: CudaScope) -> list[str]:
    """Return the body that stores the sum of the key that a row reducer chose; ``commit`` stores the key."""
    return [f"env.f_{s.traced.proposes[1]}[v] = sum;"]


def is_set(s: CudaScope) -> list[str]:
    """Return the test whether v has a value that an edge proposed."""
    tests = (f"env.f_{k}[v] != {s.store(s.traced.fields[k].dtype, s.identity(k))}" for k in s.traced.proposes)
    return ["return " + " || ".join(tests) + ";"]


def reset(s: CudaScope) -> list[str]:
    """Return the body that sets proposals that are not idempotent back to their identity, so that none counts twice."""
    fields = {k: s.traced.fields[k] for k in s.traced.proposes if not s.traced.fields[k].reduce.idempotent}  # type: ignore[union-attr]
    return [f"env.f_{k}[v] = {s.store(field.dtype, s.identity(k))};" for k, field in fields.items()]


def claimed(s: CudaScope, key: str) -> str:
    """Return the C++ type of ``attempt``'s result for a field."""
    return TYPES[s.traced.fields[key].dtype] if _by_value(s, key) else "bool"


def _by_value(s: CudaScope, key: str) -> bool:
    """Return True if the field's atomic returns the old value, which ``succeeded`` compares later."""
    field = s.traced.fields[key]
    return s.traced.once or (field.reduce.name in ("min", "max") and field.dtype in ("int32", "uint32", "int64"))  # type: ignore[union-attr]


def to_stored(s: CudaScope, key: str, text: str) -> str:
    """Return text cast to the field's stored type, clamped to its range."""
    dtype = s.traced.fields[key].dtype
    return s.store(dtype, Body(s).clamped(dtype, text) if dtype in HIGHEST else text)
