"""A traced program as CUDA C++: the operators that the kernels' text calls (``expressions.py``: the values)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dgraph.backend.cuda.expressions import TYPES, WIDE, CudaScope
from dgraph.backend.expressions import HIGHEST, Body
from dgraph.backend.paths import LAST_PILE
from dgraph.program import Traced
from dgraph.program.expr import Expr
from dgraph.program.trace import KINDS


def members(t: Traced) -> list[tuple[str, str]]:
    """What of ``env`` depends on the program: (C++ type, name), eight bytes each."""
    fields = [(f"{TYPES[f.dtype]}*", f"f_{name}") for name, f in t.fields.items()]
    return fields + [(_parameter(value), f"p_{name}") for name, value in t.program.parameters.items()]


def _parameter(value) -> str:
    return "double" if isinstance(value, (float, np.floating)) else "i64"


def operators(t: Traced) -> str:
    """The text of every operator of a program."""
    s = CudaScope(t)
    return "\n\n".join(
        [
            *_structs(s),
            _function("Globals load_globals(i64 tick, i64 active)", _globals_in(s)),
            _function("void store_globals(const Globals& G)", _globals_out(s)),
            _function("Source at_source(const Globals& G, u32 u)", _at_source(s)),
            _function("Source from_lane(const Source& s, u32 lane)", _lanes("Source", "shuffle({}, lane)", s)),
            _function("Proposal propose(const Globals& G, const Source& s, weight_t w, u32 v)", _propose(s)),
            _function("Proposal identity()", [f"return {{{_list(_identity_of(s, k) for k in t.proposes)}}};"]),
            _function("Proposal fold(const Proposal& a, const Proposal& p)", _fold(s)),
            _function("Proposal from_lane_xor(const Proposal& p, u32 mask)", _across(s)),
            _function("bool is_identity(const Proposal& p)", [
                "return " + " && ".join(f"p.p{i} == {_identity_of(s, k)}" for i, k in enumerate(t.proposes)) + ";"]),
            _function("Proposal proposal_at(i64 i)", [f"return {{{_list(_loaded(s))}}};"]),
            _function("bool wants(const Globals& G, u32 v)", _value(s, t.cond)),
            _function("bool improves(u32 v, const Proposal& p)", _improves(s)),
            _function("Claim attempt(u32 v, const Proposal& p)", _attempt(s)),
            _function("void put(u32 v, const Proposal& p)", _put(s)),
            _function("bool succeeded(const Proposal& p, const Claim& c)", _succeeded(s)),
            _function("bool commit(u32 v, const Proposal& a)", _commit(s)),
            _function("void reset(u32 v)", _reset(s)),
            _function("bool lives(const Globals& G, u32 v)", _value(s, t.live)),
            _function("i64 pile(u32 v)", _pile(s)),
            _function("i64 pile_of(u32 v, const Proposal& p)", _pile(s, proposed=True)),
            _function("Applied apply(const Globals& G, u32 v)", _apply(s)),
            _function("Applied begin(const Globals& G, u32 v)", _begin(s)),
            _function("Decision step(const Globals& G)", _step(s)),
            _function("void with_sums(Globals& G, const i64* slot)", _with(s, t.integer_sums, "FRESH(slot + {})", 8)),
            _function("void with_floats(Globals& G, const Floats& a)", _with(s, t.float_sums, "a.s[{}]", 1)),
        ]
    ) + "\n"  # fmt: skip


def _structs(s: CudaScope) -> list[str]:
    t = s.traced
    reads = [f"{WIDE[_kind(s, name)]} x{i};" for i, name in enumerate(sorted(t.reads_u))] or ["u32 none;"]
    proposals = [f"{_accumulated(s, k)} p{i};" for i, k in enumerate(t.proposes)]
    named = [f"{TYPES[g.dtype]} g_{name};" for name, g in t.globals.items()]
    return [
        f"struct Source {{ {' '.join(reads)} }};",
        f"struct Proposal {{ {' '.join(proposals)} }};",
        f"struct Claim {{ {' '.join(f'{_claimed(s, k)} c{i};' for i, k in enumerate(t.proposes))} }};",
        f"struct Globals {{ i64 n, m, round, active; {' '.join(named)} }};",
        f"struct Sums {{ i64 s[{max(len(t.integer_sums), 1)}]; }};",
        f"struct Floats {{ double s[{max(len(t.float_sums), 1)}]; }};",
        "struct Applied { bool awake, changed; Sums sums; Floats floats; };",
        "struct Decision { Globals G; bool done, whole; };",
    ]


def _kind(s: CudaScope, name: str) -> str:
    return KINDS[s.traced.fields[name].dtype][0] if name in s.traced.fields else "int"


def _accumulated(s: CudaScope, field: str) -> str:
    """The type in which proposals for a field are folded."""
    kind = s.kind(field)
    return WIDE["int" if kind == "bool" else kind]


def _function(signature: str, lines: list[str]) -> str:
    return "\n".join([f"DEVICE {signature} {{", *(f"    {line}" for line in lines), "}"])


def _list(items: Iterable[str]) -> str:
    return ", ".join(items)


def _identity_of(s: CudaScope, field: str) -> str:
    return f"({_accumulated(s, field)})({s.identity(field)})"


def _at_source(s: CudaScope) -> list[str]:
    names = sorted(s.traced.reads_u)
    return [f"return {{{_list(s.leaf('u', k) for k in names) or '0'}}};"]


def _lanes(struct: str, pattern: str, s: CudaScope) -> list[str]:
    count = len(s.traced.reads_u)
    return [f"return {{{_list(pattern.format(f's.x{i}') for i in range(count)) or '0'}}};"]


def _across(s: CudaScope) -> list[str]:
    return [f"return {{{_list(f'shuffle_xor(p.p{i}, mask)' for i in range(len(s.traced.proposes)))}}};"]


def _propose(s: CudaScope) -> list[str]:
    t = s.traced
    body = Body(s, {("u", k): f"s.x{i}" for i, k in enumerate(sorted(t.reads_u))})
    results = []
    for key, x in t.edge.items():
        kind = s.kind(key)
        value = body.text(x) if kind == "bool" else body.cast(x, kind, key)
        results.append(f"({_accumulated(s, key)})({value})")
    return [*body.lines, f"return {{{_list(results)}}};"]


def _loaded(s: CudaScope) -> list[str]:
    """Proposals that came from another rank, as they lie in its message."""
    t = s.traced
    return [
        f"({_accumulated(s, k)})(((const {TYPES[t.fields[k].dtype]}*)env.inbox{i})[i])"
        for i, k in enumerate(t.proposes)
    ]


def _value(s: CudaScope, x: Expr | None) -> list[str]:
    if x is None:
        return ["return true;"]
    body = Body(s)
    text = body.text(x)
    return [*body.lines, f"return {text};"]


def _narrow(s: CudaScope, key: str, text: str) -> str:
    dtype = s.traced.fields[key].dtype
    return s.store(dtype, Body(s).clamped(dtype, text) if dtype in HIGHEST else text)


def _by_value(s: CudaScope, key: str) -> bool:
    """Whether an atomic on the field gives back what stood there, for ``succeeded`` to look at later."""
    field = s.traced.fields[key]
    return s.traced.once or (field.reduce.name in ("min", "max") and field.dtype in ("int32", "uint32", "int64"))  # type: ignore[union-attr]


def _claimed(s: CudaScope, key: str) -> str:
    return TYPES[s.traced.fields[key].dtype] if _by_value(s, key) else "bool"


def _improves(s: CudaScope) -> list[str]:
    """Whether it is worth an atomic: read without one, so several can be under way."""
    t = s.traced
    tests = []
    for i, key in enumerate(t.proposes):
        field, read = t.fields[key], f"LOAD(env.f_{key} + v)"
        monoid = field.reduce.name  # type: ignore[union-attr]
        wide = f"({_accumulated(s, key)}){read}"
        if t.once:
            tests.append("true" if t.cond is not None else f"{read} == {s.store(field.dtype, s.identity(key))}")
        elif monoid in ("min", "max"):
            tests.append(f"p.p{i} {'<' if monoid == 'min' else '>'} {wide}")
        elif monoid == "or":
            tests.append(f"({wide} | p.p{i}) != {wide}")
        else:
            tests.append("true")
    return [f"return {' || '.join(tests)};"]


def _attempt(s: CudaScope) -> list[str]:
    """Combine proposals into v, many threads at once."""
    t = s.traced
    lines = ["Claim c;"]
    for i, key in enumerate(t.proposes):
        field, at = t.fields[key], f"env.f_{key} + v"
        monoid = field.reduce.name  # type: ignore[union-attr]
        if t.once:
            empty = s.store(field.dtype, s.identity(key))
            lines.append(f"c.c{i} = swapped({at}, {empty}, {_narrow(s, key, f'p.p{i}')});")
        elif monoid in ("min", "max"):
            lines.append(f"c.c{i} = {'lowered' if monoid == 'min' else 'raised'}({at}, p.p{i});")
        elif monoid == "or":
            lines.append(f"c.c{i} = united({at}, {_narrow(s, key, f'p.p{i}')});")
        else:
            lines.append(f"add({at}, ({TYPES[field.dtype]})p.p{i}); c.c{i} = true;")
    return [*lines, "return c;"]


def _succeeded(s: CudaScope) -> list[str]:
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


def _put(s: CudaScope) -> list[str]:
    """The first proposals that v takes, where no other will come."""
    return [f"env.f_{key}[v] = {_narrow(s, key, f'p.p{i}')};" for i, key in enumerate(s.traced.proposes)]


def _fold(s: CudaScope) -> list[str]:
    """Combine proposals in a register."""
    t = s.traced
    combine = {"min": "smaller(a.p{0}, p.p{0})", "max": "larger(a.p{0}, p.p{0})", "add": "a.p{0} + p.p{0}"}
    combine["or"] = "a.p{0} | p.p{0}"
    names = [t.fields[k].reduce.name for k in t.proposes]  # type: ignore[union-attr]
    return [f"return {{{_list(combine[name].format(i) for i, name in enumerate(names))}}};"]


def _commit(s: CudaScope) -> list[str]:
    """The register into v, which one thread owns; whether v changed."""
    t = s.traced
    lines = ["bool changed = false;"]
    for i, key in enumerate(t.proposes):
        field, at = t.fields[key], f"env.f_{key}[v]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        wide = f"({_accumulated(s, key)}){at}"
        if monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines.append(f"if (a.p{i} {sign} {wide}) {{ {at} = {_narrow(s, key, f'a.p{i}')}; changed = true; }}")
        elif monoid == "or":
            both = f"({wide} | a.p{i})"
            lines.append(f"if ({both} != {wide}) {{ {at} = {_narrow(s, key, both)}; changed = true; }}")
        else:
            lines.append(f"{at} = {_narrow(s, key, f'{wide} + a.p{i}')}; changed = true;")
    return [*lines, "return changed;"]


def _reset(s: CudaScope) -> list[str]:
    """Accumulators that must not be counted twice go back to their identity."""
    fields = s.traced.fields
    return [f"env.f_{k}[v] = 0;" for k in s.traced.proposes if not fields[k].reduce.idempotent]  # type: ignore[union-attr]


def _parts(s: CudaScope, body: Body, out: dict[str, Expr]) -> list[str]:
    """Statements that fill ``r.sums`` and ``r.floats``."""
    lines = []
    for member, kind, names in (("sums", "int", s.traced.integer_sums), ("floats", "f64", s.traced.float_sums)):
        for i, name in enumerate(names):
            lines.append(f"r.{member}.s[{i}] = {body.cast(out[name], kind) if name in out else '0'};")
    return lines


def _apply(s: CudaScope) -> list[str]:
    t = s.traced
    if t.apply is None:
        return ["Applied r; r.awake = r.changed = true; return r;"]
    reads = sorted(set().union(*(x.loads("v") for x in t.apply.values())))
    body = Body(s, {("v", name): f"was_{name}" for name in reads})
    body.lines += [f"const {WIDE[_kind(s, name)]} was_{name} = {s.leaf('v', name)};" for name in reads]
    active = body.text(t.apply["active"]) if "active" in t.apply else "true"
    stores, tests = [], []
    for key, x in t.apply.items():
        if key in t.fields:
            body.lines.append(f"const {TYPES[t.fields[key].dtype]} new_{key} = {body.stored(x, key)};")
            if key in t.dirty:
                tests.append(f"LOAD(env.f_{key} + v) != new_{key}")
            stores.append(f"env.f_{key}[v] = new_{key};")
    parts = _parts(s, body, t.apply)
    return [
        *body.lines, "Applied r;", f"r.awake = {active};", f"r.changed = {' || '.join(tests) or 'false'};",
        *parts, *stores, "return r;",
    ]  # fmt: skip


def _begin(s: CudaScope) -> list[str]:
    t = s.traced
    body = Body(s)
    active = body.text(t.init["active"]) if "active" in t.init else "false"
    stores = []
    for key, field in t.fields.items():
        if key in t.init:
            stores.append(f"env.f_{key}[v] = {body.stored(t.init[key], key)};")
        elif not field.given:
            stores.append(f"env.f_{key}[v] = {s.store(field.dtype, s.identity(key))};")
    parts = _parts(s, body, t.init)
    return [*body.lines, "Applied r;", f"r.awake = {active};", "r.changed = false;", *parts, *stores, "return r;"]


def _pile(s: CudaScope, proposed: bool = False) -> list[str]:
    """The pile of v, or the one that it will be in once it has taken a proposal."""
    t = s.traced
    if t.priority is None:
        return ["return 0;"]
    leaves = {("v", k): f"p.p{i}" for i, k in enumerate(t.proposes)} if proposed else {}
    body = Body(s, leaves)
    kind = "int" if t.priority.kind == "int" else "f64"
    text = body.cast(t.priority, kind)
    return [*body.lines, f"return (i64)smaller(({WIDE[kind]})({text}), ({WIDE[kind]})({LAST_PILE}ll));"]


def _step(s: CudaScope) -> list[str]:
    t = s.traced
    quiet = "G.active == 0"
    if t.step is None:
        return [f"return {{G, {quiet}, false}};"]
    body = Body(s)
    values = {
        k: body.cast(x, KINDS[t.globals[k].dtype][0]) if k in t.globals else body.text(x) for k, x in t.step.items()
    }
    lines = [*body.lines, "Globals next = G;"]
    lines += [f"next.g_{k} = ({TYPES[t.globals[k].dtype]})({values[k]});" for k in t.globals if k in values]
    return [*lines, f"return {{next, (bool)({values.get('done', quiet)}), (bool)({values.get('whole', 'false')})}};"]


def _globals_in(s: CudaScope) -> list[str]:
    lines = ["Globals G;", "G.n = env.n; G.m = env.m; G.round = tick; G.active = active;"]
    for i, (name, g) in enumerate(s.traced.globals.items()):
        lines.append(f"G.g_{name} = FRESH(env.{'floats' if g.dtype == 'float64' else 'integers'} + {i});")
    return [*lines, "return G;"]


def _globals_out(s: CudaScope) -> list[str]:
    return [
        f"env.{'floats' if g.dtype == 'float64' else 'integers'}[{i}] = G.g_{name};"
        for i, (name, g) in enumerate(s.traced.globals.items())
    ]


def _with(s: CudaScope, names: list[str], read: str, stride: int) -> list[str]:
    """Put summed globals into G; a kept one goes on from its last value."""
    return [
        f"G.g_{name} {'+=' if s.traced.globals[name].keep else '='} {read.format(stride * i)};"
        for i, name in enumerate(names)
    ]
