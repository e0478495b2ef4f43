"""Operators of a traced program as CUDA C++ functions, which the kernels call.

``proposal_operators.py`` has those on proposals, ``expressions.py`` renders values.
"""

from __future__ import annotations

import numpy as np

from dgraph.backend.codegen.expression_lowering import Body
from dgraph.backend.compile_flags import LAST_BUCKET, kept_by
from dgraph.backend.cuda.codegen import proposal_operators as proposals
from dgraph.backend.cuda.codegen.expressions import TYPES, WIDE, CudaScope
from dgraph.program import Traced, trace
from dgraph.program.analysis import weighs_by_integers
from dgraph.program.expression_tree import Expr
from dgraph.program.traced import KINDS


def members(t: Traced) -> list[tuple[str, str]]:
    """Return the members of ``env`` that depend on the program as (C++ type, name), eight bytes each."""
    fields = [(f"{TYPES[f.dtype]}*", f"f_{name}") for name, f in t.fields.items()]
    return fields + [(_parameter(value), f"p_{name}") for name, value in t.program.parameters.items()]


def _parameter(value) -> str:
    return "double" if isinstance(value, (float, np.floating)) else "i64"


def operators(t: Traced) -> str:
    """Return the structs and all operators of a program as text."""
    s = CudaScope(t)
    return "\n\n".join(
        [
            *_structs(s),
            _function("Globals load_globals(i64 tick, i64 active)", _globals_in(s)),
            _function("void store_globals(const Globals& G)", _globals_out(s)),
            _function("Source at_source(const Globals& G, u32 u)", _at_source(s)),
            _function("Source from_lane(const Source& s, u32 lane)", _lanes("shuffle({}, lane)", s)),
            _function("Proposal propose(const Globals& G, const Source& s, weight_t w, u32 v)", proposals.propose(s)),
            *([_propose_byte(t)] if weighs_by_integers(t) else []),
            _function("Proposal identity()", proposals.identity(s)),
            _function("Proposal fold(const Proposal& a, const Proposal& p)", proposals.fold(s)),
            _function("Proposal from_lane_xor(const Proposal& p, u32 mask)", proposals.from_lane_xor(s)),
            _function("bool is_identity(const Proposal& p)", proposals.is_identity(s)),
            _function("Proposal proposal_at(i64 i)", proposals.proposal_at(s)),
            _function("bool wants(const Globals& G, u32 v)", _value(s, t.cond)),
            _function("bool improves(u32 v, const Proposal& p)", proposals.improves(s)),
            _function("Claim attempt(u32 v, const Proposal& p)", proposals.attempt(s)),
            _function("void put(u32 v, const Proposal& p)", proposals.put(s)),
            _function("bool succeeded(const Proposal& p, const Claim& c)", proposals.succeeded(s)),
            _function("i64 fold_ceiling(u32 v)", proposals.fold_ceiling(s)),
            _function("void put_ceiling(u32 v, i64 value)", proposals.put_ceiling(s)),
            *([_function("void put_sum(u32 v, i64 sum)", proposals.put_sum(s))] if _sums(t) else []),
            _function("bool commit(u32 v, const Proposal& a)", proposals.commit(s)),
            _function("void reset(u32 v)", proposals.reset(s)),
            _function("bool is_set(u32 v)", proposals.is_set(s)),
            _function("bool lives(const Globals& G, u32 v)", _value(s, t.live)),
            _function("i64 bucket(u32 v)", _bucket(s)),
            _function("i64 bucket_of(u32 v, const Proposal& p)", _bucket(s, proposed=True)),
            _function("Applied apply(const Globals& G, u32 v)", _apply(s)),
            _function("Applied begin(const Globals& G, u32 v)", _begin(s)),
            _function("void set_identities(u32 v)", [_identity(s, name) for name in t.fields]),
            _function("Decision step(const Globals& G)", _step(s)),
            _function("void with_sums(Globals& G, const i64* slot)", _with(s, t.integer_sums, "FRESH(slot + {})", 8)),
            _function("void with_floats(Globals& G, const Floats& a)", _with(s, t.float_sums, "a.s[{}]", 1)),
        ]
    ) + "\n"  # fmt: skip


def _propose_byte(t: Traced) -> str:
    """Return ``propose`` at an edge whose weight has 8 bits, which multiplies floats in their own precision.

    A product in double precision is exact there, and is rounded once, as this one is: the bits are the same.
    """
    (term,) = t.edge.values()
    in_floats = any(x.kind in ("f32", "f64") for x in term.args)
    s = CudaScope(trace(t.program, np.dtype(np.float32)) if in_floats else t)
    return _function("Proposal propose_byte(const Globals& G, const Source& s, float w, u32 v)", proposals.propose(s))


def _sums(t: Traced) -> bool:
    return t.row_reducer is not None and t.row_reducer.sums


def _structs(s: CudaScope) -> list[str]:
    t = s.traced
    reads = [f"{WIDE[_kind_of_field(s, name)]} x{i};" for i, name in enumerate(sorted(t.reads_u))] or ["u32 none;"]
    proposed = [f"{proposals.accumulated(s, k)} p{i};" for i, k in enumerate(t.proposes)]
    named = [f"{TYPES[g.dtype]} g_{name};" for name, g in t.globals.items()]
    return [
        f"struct Source {{ {' '.join(reads)} }};",
        f"struct Proposal {{ {' '.join(proposed)} }};",
        f"struct Claim {{ {' '.join(f'{proposals.claimed(s, k)} c{i};' for i, k in enumerate(t.proposes))} }};",
        f"struct Globals {{ i64 n, m, round, active, bucket; {' '.join(named)} }};",
        f"struct Sums {{ i64 s[{max(len(t.integer_sums), 1)}]; }};",
        f"struct Floats {{ double s[{max(len(t.float_sums), 1)}]; }};",
        "struct Applied { bool awake, changed; Sums sums; Floats floats; };",
        "struct Decision { Globals G; bool done, whole; };",
    ]


def _kind_of_field(s: CudaScope, name: str) -> str:
    return KINDS[s.traced.fields[name].dtype][0] if name in s.traced.fields else "int"


def _function(signature: str, lines: list[str]) -> str:
    return "\n".join([f"DEVICE {signature} {{", *(f"    {line}" for line in lines), "}"])


def _at_source(s: CudaScope) -> list[str]:
    late = {"id": "u"} if s.traced.smallest else {}
    names = sorted(s.traced.reads_u)
    return [f"return {{{proposals.listed(late.get(k) or s.leaf('u', k) for k in names) or '0'}}};"]


def _lanes(pattern: str, s: CudaScope) -> list[str]:
    count = len(s.traced.reads_u)
    return [f"return {{{proposals.listed(pattern.format(f's.x{i}') for i in range(count)) or '0'}}};"]


def _value(s: CudaScope, x: Expr | None) -> list[str]:
    if x is None:
        return ["return true;"]
    body = Body(s)
    text = body.text(x)
    return [*body.lines, f"return {text};"]


def _parts(s: CudaScope, body: Body, proposals: dict[str, Expr]) -> list[str]:
    """Return statements that fill ``r.sums`` and ``r.floats``."""
    lines = []
    for member, kind, names in (("sums", "int", s.traced.integer_sums), ("floats", "f64", s.traced.float_sums)):
        for i, name in enumerate(names):
            value = body.cast(proposals[name], kind, name) if name in proposals else "0"
            value = f"{value} ^ {_mask(s, name)}" if name in proposals and name in s.traced.minima else value
            lines.append(f"r.{member}.s[{i}] = {value};")
    return lines


def _apply(s: CudaScope) -> list[str]:
    t = s.traced
    if t.apply is None:
        return ["Applied r; r.awake = r.changed = true; return r;"]
    reads = sorted(set().union(*(x.loads("v") for x in t.apply.values())))
    body = Body(s, {("v", name): f"was_{name}" for name in reads})
    body.lines += [f"const {WIDE[_kind_of_field(s, name)]} was_{name} = {s.leaf('v', name)};" for name in reads]
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
            stores.append(_identity(s, key))
    parts = _parts(s, body, t.init)
    return [*body.lines, "Applied r;", f"r.awake = {active};", "r.changed = false;", *parts, *stores, "return r;"]


def _identity(s: CudaScope, name: str) -> str:
    """Return the statement that sets a field of v to its identity."""
    return f"env.f_{name}[v] = {s.store(s.traced.fields[name].dtype, s.identity(name))};"


def _bucket(s: CudaScope, proposed: bool = False) -> list[str]:
    """Return the body that computes the bucket of v, or its bucket after a proposal."""
    t = s.traced
    if t.priority is None:
        return ["return 0;"]
    leaves = {("v", k): f"p.p{i}" for i, k in enumerate(t.proposes)} if proposed else {}
    body = Body(s, leaves)
    kind = "int" if t.priority.kind == "int" else "f64"
    text = body.cast(t.priority, kind)
    return [*body.lines, f"return (i64)smaller(({WIDE[kind]})({text}), ({WIDE[kind]})({LAST_BUCKET}ll));"]


def _step(s: CudaScope) -> list[str]:
    t = s.traced
    quiet = "G.active == 0"
    if t.step is None:
        return [f"return {{G, {quiet}, false}};"]
    body = Body(s)
    values = {
        k: body.cast(x, KINDS[t.globals[k].dtype][0], k) if k in t.globals else body.text(x) for k, x in t.step.items()
    }
    lines = [*body.lines, "Globals next = G;"]
    lines += [f"next.g_{k} = ({TYPES[t.globals[k].dtype]})({values[k]});" for k in t.globals if k in values]
    return [*lines, f"return {{next, (bool)({values.get('done', quiet)}), (bool)({values.get('whole', 'false')})}};"]


def _globals_in(s: CudaScope) -> list[str]:
    lines = ["Globals G;", "G.n = env.n; G.m = env.m; G.round = tick; G.active = active;"]
    lines.append("G.bucket = PRIORITY ? KNOWN(&env.control->bucket) : 0;")
    for i, (name, g) in enumerate(s.traced.globals.items()):
        lines.append(f"G.g_{name} = KNOWN(env.{'floats' if g.dtype == 'float64' else 'integers'} + {i});")
    return [*lines, "return G;"]


def _globals_out(s: CudaScope) -> list[str]:
    return [
        f"env.{'floats' if g.dtype == 'float64' else 'integers'}[{i}] = G.g_{name};"
        for i, (name, g) in enumerate(s.traced.globals.items())
    ]


def _with(s: CudaScope, names: list[str], read: str, stride: int) -> list[str]:
    """Return statements that put reduced sums into G; a kept global adds them to its last value."""
    return [
        f"G.g_{name} {'+=' if s.traced.globals[name].keep else '='} {read.format(stride * i)}"
        f"{f' ^ {_mask(s, name)}' * (name in s.traced.minima)};"
        for i, name in enumerate(names)
    ]


def _mask(s: CudaScope, name: str) -> str:
    """Return the mask of an extreme in counters as a literal."""
    return s.number(kept_by(s.traced, name))
