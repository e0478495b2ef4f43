"""Operators of a traced program as Numba functions, which ``round/`` calls; ``expressions.py`` renders the values."""

from __future__ import annotations

from collections.abc import Iterable

from dgraph.backend.codegen.expression_lowering import HIGHEST, LOWEST, Body
from dgraph.backend.compile_flags import LAST_BUCKET, TOP, kept_by
from dgraph.backend.cpu.codegen.expressions import NUMPY, WIDE, NumbaScope, widened
from dgraph.program import ADD, MAX, Traced
from dgraph.program.expression_tree import Expr
from dgraph.program.traced import KINDS


def operators(t: Traced, scope: type[NumbaScope] = NumbaScope) -> str:
    """Return the source of all operators of a program; ``scope`` spells their expressions.

    Those called per edge or vertex: ``at_source`` (values that edges read at u; ``at_numbered``: where its id is u),
    ``propose`` (``edge``), ``wants`` (``cond``), ``offer`` (atomic combine, for push), ``improves`` (whether an offer
    would change v), ``fold`` and ``commit`` (combine in registers and store, for pull; ``fold_in_order`` keeps the
    order of floats), ``apply``, ``begin`` (``init``), ``lives`` (``live``), ``bucket`` (``priority``). Per round:
    ``step`` and conversions between globals, slots and sums.
    """
    s = scope(t)
    parts = [
        _function("at_source", "F, P, G, u", *_at_source(s)),
        _function("at_numbered", "F, P, G, u", [], _at_source(s)[1].replace(s.leaf("u", "id"), "u")),
        _function("propose", "F, P, G, s, w, v", *_propose(s)),
        _function("wants", "F, P, G, v", *_value(s, t.cond)),
        _function("offer", "F, v, p, alone", _offer(s), "changed"),
        _function("improves", "F, v, p", [], _improves(s)),
        _function("identity", "", [], _tuple(_identity_of(s, k) for k in t.proposes)),
        _function("narrow_identity", "", [], _tuple(_identity_of(s, k, narrow=True) for k in t.proposes)),
        _function("fold", "a, p", *_fold(s), fast=True),
        _function("fold_in_order", "a, p", *_fold(s)),
        _function("commit", "F, v, a", _commit(s), "changed"),
        _function("reset", "F, v", *_reset(s)),
        _function("apply", "F, new, P, G, v", *_apply(s)),
        _function("swapped", "F", [], _swapped(s)),
        _function("begin", "F, P, G, v", *_begin(s)),
        _function("lives", "F, P, G, v", *_value(s, t.live)),
        _function("bucket", "F, P, G, v", *_bucket(s)),
        _function("step", "P, G", *_step(s)),
        _function("load_globals", "integers, floats, n, m, tick, active, bucket", [], _globals_in(s)),
        _function("store_globals", "G, integers, floats", _globals_out(s), "0"),
        _function("values_at", "values, i", [], _tuple(
            f"{'np.int64' if t.fields[k].dtype[0] != 'f' else 'np.' + t.fields[k].dtype}(load(values[{i}], i))"
            for i, k in enumerate(t.proposes))),
        _function("is_identity", "p", [], " and ".join(
            f"p[{i}] == {_identity_of(s, k)}" for i, k in enumerate(t.proposes))),
        _function("no_sums", "", [], _tuple(_no_sums(t))),
        _function("no_float_sums", "", [], _tuple(["np.float64(0)"] * len(t.float_sums) or ["np.float64(0)"])),
        _function("add_sums", "a, b", [], _tuple(
            f"min(a[{i}], b[{i}])" if name in t.minima else f"a[{i}] + b[{i}]"
            for i, name in enumerate(t.integer_sums or [""]))),
        _function(
            "add_floats", "a, b", [], _tuple(f"a[{i}] + b[{i}]" for i in range(max(len(t.float_sums), 1))), fast=True),
        _function("flush_sums", "shared, at, a", [
            f"fetch_umax(shared, at + {8 * i}, a[{i}] ^ {TOP})" if name in t.minima
            else f"fetch_add(shared, at + {8 * i}, a[{i}])" for i, name in enumerate(t.integer_sums)], "0"),
        _function("flush_floats", "parts, at, a", [f"store(parts, at + {i}, a[{i}])" for i in
                  range(len(t.float_sums))], "0"),
        _function("part_at", "parts, at", [], _tuple(
            [f"load(parts, at + {i})" for i in range(len(t.float_sums))] or ["np.float64(0)"])),
        _function("store_floats", "out, a", [f"store(out, {i}, a[{i}])" for i in range(len(t.float_sums))], "0"),
        _function("with_sums", "G, shared, at", [], _with(s, t.integer_sums, "load_acquire(shared, at + {})", 8)),
        _function("with_floats", "G, a", [], _with(s, t.float_sums, "a[{}]", 1)),
        _function("in_bucket", "G, bucket", [], _tuple(
            "np.int64(bucket)" if k == "bucket" else f"G[{i}]" for k, i in s.G.items())),
        _function("next_round", "G, active", [], _tuple(
            "G[2] + 1" if k == "round" else "active" if k == "active" else f"G[{i}]" for k, i in s.G.items())),
    ]  # fmt: skip
    return "\n\n\n".join(parts) + "\n"


def _function(name: str, arguments: str, lines: list[str], result: str, fast: bool = False) -> str:
    body = "\n".join(f"    {line}" for line in [*lines, f"return {result}"])
    decorator = "@njit(fastmath={'reassoc', 'contract'}, **INLINE)" if fast else "@njit(**INLINE)"
    return f"{decorator}\ndef {name}({arguments}):\n{body}"


def _tuple(items: Iterable[str]) -> str:
    items = list(items)
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _identity_of(s: NumbaScope, key: str, narrow: bool = False) -> str:
    """Return the start value of a pull, which sums floats in 64 bits; or of a ``narrow`` piece of it."""
    field = s.traced.fields[key]
    wide = "int64" if field.dtype[0] != "f" else "float64" if field.reduce is ADD and not narrow else field.dtype
    return f"np.{wide}({s.identity(key)})"


def _at_source(s: NumbaScope) -> tuple[list[str], str]:
    names = sorted(s.traced.reads_u)
    return [], _tuple([s.leaf("u", k) for k in names] or ["np.int64(0)"])


def _propose(s: NumbaScope) -> tuple[list[str], str]:
    t = s.traced
    body = Body(s, {("u", k): f"s[{i}]" for i, k in enumerate(sorted(t.reads_u))})
    results = []
    for key, x in t.edge.items():
        dtype = t.fields[key].dtype
        kind = KINDS[dtype][0]
        if kind == "bool":
            results.append(f"np.int64({body.text(x)})")
        elif kind == "int":
            results.append(f"np.int64({body.cast(x, 'int', key)})")
        else:
            results.append(f"np.{dtype}({body.cast(x, kind, key)})")
    return body.lines, _tuple(results)


def _value(s: NumbaScope, x: Expr | None) -> tuple[list[str], str]:
    if x is None:
        return [], "True"
    body = Body(s)
    return body.lines, body.text(x)


def _saturated(s: NumbaScope, key: str, text: str) -> str:
    """Return a value converted to the field's dtype; integers saturate at its ends."""
    dtype = s.traced.fields[key].dtype
    if dtype in HIGHEST:
        return f"np.{dtype}(max(min({text}, {HIGHEST[dtype]}), {LOWEST[dtype]}))"
    return f"np.{NUMPY.get(dtype, dtype)}({text})"


def _offer(s: NumbaScope) -> list[str]:
    """Return the body of ``offer``: combine proposals into v atomically, or without atomics if ``alone``."""
    t = s.traced
    lines = ["changed = False"]
    if t.row_reducer:  # nothing is pushed
        return lines
    if t.program.exclusive is not None:
        lines.append(f"alone = alone or {s.leaf('v', t.program.exclusive)}")
    for i, key in enumerate(t.proposes):
        field, array = t.fields[key], f"F[{s.F[key]}]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        read = widened(field.dtype if field.dtype != "bool" else "uint8", f"load({array}, v)")
        if t.levelled and i == 0:
            lines += [
                f"if {read} == {s.identity(key)} and replace_if_equal("
                f"{array}, v, np.{field.dtype}({s.identity(key)}), {_saturated(s, key, f'p[{i}]')}, alone):",
                "    changed = True",
            ]
        elif t.first_wins:
            lines += ["if changed:", f"    store({array}, v, {_saturated(s, key, f'p[{i}]')})"]
        elif monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines += [
                f"old = load({array}, v)",
                f"while p[{i}] {sign} {widened(field.dtype, 'old') if field.dtype != 'bool' else 'np.int64(old)'}:",
                f"    if replace_if_equal({array}, v, old, {_saturated(s, key, f'p[{i}]')}, alone):",
                *(["        changed = True"] if not t.levelled else []),
                "        break",
                f"    old = load({array}, v)",
            ]
        elif monoid == "or":
            dtype = NUMPY.get(field.dtype, field.dtype)
            lines += [
                f"bits = np.{dtype}(p[{i}])",
                f"if (load({array}, v) | bits) != load({array}, v):",
                f"    before = or_into({array}, v, bits, alone)",
                "    if (before | bits) != before:",
                "        changed = True",
            ]
        else:
            lines += [f"add_into({array}, v, {_saturated(s, key, f'p[{i}]')}, alone)", "changed = True"]
    return lines


def _improves(s: NumbaScope) -> str:
    """Return the result of ``improves``; also True where the field's monoid cannot decide it."""
    t = s.traced
    if t.row_reducer:  # nothing is pushed
        return "False"
    tests = []
    for i, key in enumerate(t.proposes):
        dtype, monoid = t.fields[key].dtype, t.fields[key].reduce.name  # type: ignore[union-attr]
        old = widened(dtype if dtype != "bool" else "uint8", f"load(F[{s.F[key]}], v)")
        tests.append({"min": f"p[{i}] < {old}", "max": f"p[{i}] > {old}"}.get(monoid, "True"))
    return " or ".join(tests)


def _fold(s: NumbaScope) -> tuple[list[str], str]:
    """Return the result of ``fold``: two proposals combined in registers."""
    t = s.traced
    combine = {"min": "min(a[{0}], p[{0}])", "max": "max(a[{0}], p[{0}])", "add": "a[{0}] + p[{0}]"}
    combine["or"] = "a[{0}] | p[{0}]"
    if t.row_reducer:
        return [], "p"
    names = [t.fields[k].reduce.name for k in t.proposes]  # type: ignore[union-attr]
    return [], _tuple(combine[name].format(i) for i, name in enumerate(names))


def _commit(s: NumbaScope) -> list[str]:
    """Return the body of ``commit``: combine a pulled value into v, which one thread owns."""
    t = s.traced
    if t.row_reducer:
        ceiling = t.program.ceiling
        value = f"min(a[0], {s.leaf('v', ceiling)})" if ceiling else "a[0]"
        sums = [f"store(F[{s.F[key]}], v, a[1])" for key in t.proposes[1:]]
        return [f"store(F[{s.F[t.proposes[0]]}], v, {value})", *sums, "changed = True"]
    lines = ["changed = False"]
    for i, key in enumerate(t.proposes):
        field, array = t.fields[key], f"F[{s.F[key]}]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        read = f"load({array}, v)" if field.dtype[0] == "f" else f"np.int64(load({array}, v))"
        if monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines += [
                f"if a[{i}] {sign} {read}:",
                f"    store({array}, v, {_saturated(s, key, f'a[{i}]')})",
                "    changed = True",
            ]
        elif monoid == "or":
            lines += [
                f"if ({read} | a[{i}]) != {read}:",
                f"    store({array}, v, {_saturated(s, key, f'{read} | a[{i}]')})",
                "    changed = True",
            ]
        else:
            lines += [f"store({array}, v, {_saturated(s, key, f'{read} + a[{i}]')})", "changed = True"]
    return lines


def _reset(s: NumbaScope) -> tuple[list[str], str]:
    """Return the body of ``reset``: set accumulators that are not idempotent back to their identity."""
    t = s.traced
    lines = []
    for key in t.proposes:
        if not t.fields[key].reduce.idempotent:  # type: ignore[union-attr]
            dtype = t.fields[key].dtype
            lines.append(f"store(F[{s.F[key]}], v, np.{dtype}({s.identity(key)}))")
    return lines, "0"


def _swapped(s: NumbaScope) -> str:
    """Return the result of ``swapped``: the fields, of which two have swapped arrays where a program allows it."""
    pair = s.traced.swaps
    places = dict(zip(pair, reversed(pair), strict=True))
    return _tuple(f"F[{s.F[places.get(key, key)]}]" for key in s.F)


def _no_sums(t: Traced) -> list[str]:
    return [f"np.int64({TOP if name in t.minima else 0})" for name in t.integer_sums or [""]]


def _sums(body: Body, t: Traced, exprs: dict[str, Expr]) -> list[str]:
    """Return a vertex's terms of the integer globals, or their identities; of a maximum, the complement."""
    nothing = zip(t.integer_sums or [""], _no_sums(t), strict=True)
    terms = {name: body.cast(exprs[name], "int", name) for name in t.integer_sums if name in exprs}
    terms |= {name: f"({terms[name]}) ^ -1" for name in terms if t.globals[name].reduce is MAX}
    return [terms.get(name, none) for name, none in nothing]


def _apply(s: NumbaScope) -> tuple[list[str], str]:
    t = s.traced
    if t.apply is None:
        return [], "(True, True, no_sums(), no_float_sums())"
    body = Body(s)
    active = body.text(t.apply["active"]) if "active" in t.apply else "True"
    stores, tests = [], []
    for key, x in t.apply.items():
        if key in t.fields:
            array = f"F[{s.F[key]}]"
            value = body.stored(x, key)
            body.lines.append(f"new_{key} = {value}")
            if key in t.dirty:
                tests.append(f"(load({array}, v) != new_{key})")
            stores.append(f"store(new[{s.F[key]}], v, new_{key})")
    sums = _tuple(_sums(body, t, t.apply))
    floats = _tuple([body.cast(t.apply[k], "f64") if k in t.apply else "np.float64(0)" for k in t.float_sums]
                    or ["np.float64(0)"])  # fmt: skip
    dirty = " | ".join(tests) or "False"
    lines = [*body.lines, f"dirty = {dirty}", f"awake = {active}", f"sums = {sums}", f"floats = {floats}", *stores]
    return lines, "(bool(awake), bool(dirty), sums, floats)"


def _begin(s: NumbaScope) -> tuple[list[str], str]:
    t = s.traced
    body = Body(s)
    active = body.text(t.init["active"]) if "active" in t.init else "False"
    stores = []
    for key, field in t.fields.items():
        if key in t.init:
            value = body.stored(t.init[key], key)
            stores.append(f"store(F[{s.F[key]}], v, {value})")
        elif not field.given:
            dtype = NUMPY.get(field.dtype, field.dtype)
            stores.append(f"store(F[{s.F[key]}], v, np.{dtype}({s.identity(key)}))")
    sums = _tuple(_sums(body, t, t.init))
    floats = _tuple([body.cast(t.init[k], "f64") if k in t.init else "np.float64(0)" for k in t.float_sums]
                    or ["np.float64(0)"])  # fmt: skip
    return [*body.lines, *stores], f"(bool({active}), {sums}, {floats})"


def _bucket(s: NumbaScope) -> tuple[list[str], str]:
    t = s.traced
    if t.priority is None:
        return [], "np.int64(0)"
    body = Body(s)
    kind = "int" if t.priority.kind == "int" else "f64"
    return body.lines, f"np.int64(min({body.cast(t.priority, kind)}, {WIDE[kind]}({LAST_BUCKET})))"


def _step(s: NumbaScope) -> tuple[list[str], str]:
    t = s.traced
    empty = f"G[{s.G['active']}] == 0"
    if t.step is None:
        return [], f"(G, {empty}, False)"
    body = Body(s)
    values = {
        k: body.cast(x, KINDS[t.globals[k].dtype][0], k) if k in t.globals else body.text(x) for k, x in t.step.items()
    }
    new = _tuple(_typed(t, k, values[k]) if k in t.globals and k in values else f"G[{i}]" for k, i in s.G.items())
    return body.lines, f"({new}, bool({values.get('done', empty)}), bool({values.get('whole', 'False')}))"


def _typed(t: Traced, name: str, text: str) -> str:
    return f"np.{t.globals[name].dtype}({text})"


def _globals_in(s: NumbaScope) -> str:
    named = [
        f"floats[{i}]" if g.dtype == "float64" else f"integers[{i}]" for i, g in enumerate(s.traced.globals.values())
    ]
    return _tuple(["np.int64(n)", "np.int64(m)", "np.int64(tick)", "np.int64(active)", "np.int64(bucket)", *named])


def _globals_out(s: NumbaScope) -> list[str]:
    return [
        f"{'floats' if g.dtype == 'float64' else 'integers'}[{i}] = G[{s.G[name]}]"
        for i, (name, g) in enumerate(s.traced.globals.items())
    ]


def _with(s: NumbaScope, names: list[str], read: str, stride: int) -> str:
    """Return the tuple G with reduced globals replaced by their new values.

    Kept sums are added to the old value. Extremes are read in their slot form, see ``compile_flags.py``.
    """
    items = []
    for name, i in s.G.items():
        if name in names:
            value = read.format(stride * names.index(name))
            if name in s.traced.minima:
                value += f" ^ {kept_by(s.traced, name)}"
            items.append(f"G[{i}] + {value}" if s.traced.globals[name].keep else value)
        else:
            items.append(f"G[{i}]")
    return _tuple(items)
