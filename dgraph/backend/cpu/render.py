"""A traced program as Numba functions: the operators that ``rounds.py`` calls.

``F`` is the tuple of field arrays, then original ids and out-degrees; ``P`` the parameters; ``G`` the globals as
scalars, after n, m, round and active.
"""

from __future__ import annotations

from collections.abc import Iterable

from dgraph.program import Traced
from dgraph.program.expr import Expr
from dgraph.program.program import BUILTINS
from dgraph.program.trace import GRAPH, KINDS

NUMPY = {"bool": "uint8"}
"""Fields of bool are stored as bytes: atomics need whole ones."""

WIDE = {"int": "np.int64", "f32": "np.float32", "f64": "np.float64"}
LOWEST = {"int32": -(2**31), "uint32": 0}
HIGHEST = {"int32": 2**31 - 1, "uint32": 2**32 - 1}


class Body:
    """Statements of one function; a node that is used twice is computed once."""

    def __init__(self, scope: Scope, leaves: dict[tuple[str, str], str] | None = None):
        self.scope, self.leaves = scope, leaves or {}
        self.lines: list[str] = []
        self.names: dict[tuple, str] = {}

    def text(self, x: Expr, field: str | None = None) -> str:
        """x in its own kind. ``field``: whose identity INF stands for."""
        if x.op == "const":
            return repr(x.args[0])
        if x.op == "inf":
            return self.scope.identity(field)
        key = (id(x), field if _has_inf(x) else None)
        if key not in self.names:
            line = self._compute(x, field)
            self.names[key] = f"x{len(self.names)}"
            self.lines.append(f"{self.names[key]} = {line}")
        return self.names[key]

    def _compute(self, x: Expr, field: str | None) -> str:
        if x.op == "load":
            return self.leaves.get(x.args) or self.scope.leaf(*x.args)
        if x.op in ("<", "<=", ">", ">=", "==", "!="):
            a, b = x.args
            kind = _meet(a, b)
            field = self._field(a) or self._field(b) or field
            return f"{self.cast(a, kind, field)} {x.op} {self.cast(b, kind, field)}"
        if x.op in ("&", "|"):
            return f"{self.text(x.args[0])} {x.op} {self.text(x.args[1])}"
        if x.op == "~":
            return f"not {self.text(x.args[0])}"
        if x.op == "where":
            kind = x.kind if x.kind != "inf" else self.scope.kind(field)
            test, a, b = x.args
            return f"{self.cast(a, kind, field)} if {self.text(test)} else {self.cast(b, kind, field)}"
        kind = x.kind
        operands = [self.cast(a, kind, field) for a in x.args]
        if x.op in ("abs", "min", "max"):
            return f"{x.op}({', '.join(operands)})"
        if x.op in ("sat+", "sat-"):
            return f"saturating_{'add' if x.op == 'sat+' else 'subtract'}({', '.join(operands)})"
        return f"{operands[0]} {x.op} {operands[1]}"

    def cast(self, x: Expr, kind: str, field: str | None = None) -> str:
        """x as a value of this kind."""
        if kind == "weak":
            kind = "f64"
        if x.op == "const" and kind != "bool":
            number = float(x.args[0]) if kind[0] == "f" else int(x.args[0])
            return f"{WIDE[kind]}({number!r})" if kind[0] == "f" else repr(number)
        text = self.text(x, field)
        if x.kind == kind or kind == "bool":
            return text
        if x.op == "inf":
            return f"{WIDE[kind]}({text})"
        if x.kind == "bool":
            return f"({WIDE[kind]}(1) if {text} else {WIDE[kind]}(0))"
        return f"{WIDE[kind]}({text})"

    def stored(self, x: Expr, field: str) -> str:
        """x as the field stores it; integers that the dtype cannot hold stop at its ends."""
        dtype = self.scope.traced.fields[field].dtype
        kind, bits = KINDS[dtype]
        if kind == "bool":
            return f"np.uint8({self.text(x)})" if x.op != "const" else f"np.uint8({int(x.args[0])})"
        text = self.cast(x, kind, field)
        if dtype in HIGHEST and x.kind == "int" and (x.bits > bits or dtype == "uint32"):
            text = f"max(min({text}, {HIGHEST[dtype]}), {LOWEST[dtype]})"
        return f"np.{dtype}({text})"

    @staticmethod
    def _field(x: Expr) -> str | None:
        return x.args[1] if x.op == "load" and x.args[0] in "uv" else None


def _has_inf(x: Expr) -> bool:
    return x.op == "inf" or any(_has_inf(a) for a in x.args if isinstance(a, Expr))


def _meet(a: Expr, b: Expr) -> str:
    kinds = {a.kind, b.kind} - {"inf"}
    if "f64" in kinds or kinds == {"int", "f32"}:
        return "f64"
    if "f32" in kinds:
        return "f32"
    if kinds == {"bool"}:
        return "bool"
    return "f64" if "weak" in kinds else "int"


class Scope:
    """Where names live: the positions of fields, parameters and globals in F, P and G."""

    def __init__(self, traced: Traced):
        self.traced = traced
        self.F = {name: i for i, name in enumerate([*traced.fields, *BUILTINS])}
        self.P = {name: i for i, name in enumerate(traced.program.parameters)}
        self.G = {name: i for i, name in enumerate([*GRAPH, *traced.globals])}

    def leaf(self, role: str, name: str) -> str:
        if role == "p":
            return f"P[{self.P[name]}]"
        if role == "g":
            return f"G[{self.G[name]}]"
        if role == "e":
            return self.weight()
        dtype = self.traced.fields[name].dtype if name in self.traced.fields else "int64"
        return widened(dtype, f"load(F[{self.F[name]}], {role})")

    def weight(self) -> str:
        return widened(self.traced.weight, "w") if self.traced.weight else "np.int64(1)"

    def kind(self, field: str | None) -> str:
        return KINDS[self.traced.fields[field].dtype][0] if field else "int"

    def identity(self, field: str | None) -> str:
        if field is None or field not in self.traced.fields:
            field = self.traced.proposes[0]
        value = self.traced.fields[field].identity
        if isinstance(value, float):
            return "np.inf" if value > 0 else "-np.inf"
        return repr(value)


def widened(dtype: str, text: str) -> str:
    """A stored value as it is computed with."""
    if dtype == "bool":
        return f"({text} != 0)"
    return text if dtype[0] == "f" or dtype == "int64" else f"np.int64({text})"


def operators(t: Traced) -> str:
    """The text of every operator of a program, and the constants that choose the rounds' paths."""
    s = Scope(t)
    can_pull = "pull" in t.program.directions
    constants = {
        "ONCE": t.once, "FLAGGED": t.flagged, "APPLY": t.apply is not None, "ALL": t.all, "WEIGHTED": t.weighted,
        "COND": t.cond is not None, "PRIORITY": t.priority is not None, "LIVE": t.live is not None,
        "DIRTY": bool(dirty_fields(t)), "CAN_PULL": can_pull,
        "SUMS": len(_integer_sums(t)), "FLOAT_SUMS": len(_float_sums(t)),
    }  # fmt: skip
    parts = [
        "\n".join(f"{name} = {value!r}" for name, value in constants.items()),
        _function("at_source", "F, P, G, u", *_at_source(s)),
        _function("propose", "F, P, G, s, w, v", *_propose(s)),
        _function("wants", "F, P, G, v", *_value(s, t.cond)),
        _function("offer", "F, v, p", _offer(s), "changed"),
        _function("identity", "", [], _tuple(_identity_of(s, k) for k in t.proposes)),
        _function("fold", "a, p", *_fold(s), fast=True),
        _function("commit", "F, v, a", _commit(s), "changed"),
        _function("reset", "F, v", *_reset(s)),
        _function("apply", "F, P, G, v", *_apply(s)),
        _function("begin", "F, P, G, v", *_begin(s)),
        _function("lives", "F, P, G, v", *_value(s, t.live)),
        _function("pile", "F, P, G, v", *_pile(s)),
        _function("step", "P, G", *_step(s)),
        _function("load_globals", "integers, floats, n, m, tick, active", [], _globals_in(s)),
        _function("store_globals", "G, integers, floats", _globals_out(s), "0"),
        _function("values_at", "values, i", [], _tuple(
            f"{'np.int64' if t.fields[k].dtype[0] != 'f' else 'np.' + t.fields[k].dtype}(load(values[{i}], i))"
            for i, k in enumerate(t.proposes))),
        _function("is_identity", "p", [], " and ".join(
            f"p[{i}] == {_identity_of(s, k)}" for i, k in enumerate(t.proposes))),
        _function("no_sums", "", [], _tuple(["np.int64(0)"] * len(_integer_sums(t)) or ["np.int64(0)"])),
        _function("no_float_sums", "", [], _tuple(["np.float64(0)"] * len(_float_sums(t)) or ["np.float64(0)"])),
        _function("add_sums", "a, b", [], _tuple(f"a[{i}] + b[{i}]" for i in range(max(len(_integer_sums(t)), 1)))),
        _function("add_floats", "a, b", [], _tuple(f"a[{i}] + b[{i}]" for i in range(max(len(_float_sums(t)), 1)))),
        _function("flush_sums", "shared, at, a", [f"fetch_add(shared, at + {8 * i}, a[{i}])" for i in
                  range(len(_integer_sums(t)))], "0"),
        _function("flush_floats", "parts, at, a", [f"store(parts, at + {i}, a[{i}])" for i in
                  range(len(_float_sums(t)))], "0"),
        _function("part_at", "parts, at", [], _tuple(
            [f"load(parts, at + {i})" for i in range(len(_float_sums(t)))] or ["np.float64(0)"])),
        _function("store_floats", "out, a", [f"store(out, {i}, a[{i}])" for i in range(len(_float_sums(t)))], "0"),
        _function("with_sums", "G, shared, at", [], _with(s, _integer_sums(t), "load_acquire(shared, at + {})", 8)),
        _function("with_floats", "G, a", [], _with(s, _float_sums(t), "a[{}]", 1)),
        _function("next_round", "G, active", [], _tuple(
            "G[2] + 1" if k == "round" else "active" if k == "active" else f"G[{i}]" for k, i in s.G.items())),
    ]  # fmt: skip
    return "\n\n\n".join(parts) + "\n"


def dirty_fields(t: Traced) -> set[str]:
    """Fields that ``apply`` writes and edges read: a mirror needs them although the vertex may not be active."""
    if t.apply is None or t.all:
        return set()
    return set(t.apply) & set(t.fields) & (t.reads_u | t.reads_v)


def _integer_sums(t: Traced) -> list[str]:
    return [k for k in t.sums if t.globals[k].dtype == "int64"]


def _float_sums(t: Traced) -> list[str]:
    return [k for k in t.sums if t.globals[k].dtype == "float64"]


def _function(name: str, arguments: str, lines: list[str], result: str, fast: bool = False) -> str:
    body = "\n".join(f"    {line}" for line in [*lines, f"return {result}"])
    decorator = "@njit(fastmath={'reassoc', 'contract'}, **INLINE)" if fast else "@njit(**INLINE)"
    return f"{decorator}\ndef {name}({arguments}):\n{body}"


def _tuple(items: Iterable[str]) -> str:
    items = list(items)
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _identity_of(s: Scope, field: str) -> str:
    dtype = s.traced.fields[field].dtype
    return f"np.{NUMPY.get(dtype, dtype)}({s.identity(field)})" if dtype[0] == "f" else f"np.int64({s.identity(field)})"


def _at_source(s: Scope) -> tuple[list[str], str]:
    names = sorted(s.traced.reads_u)
    return [], _tuple([s.leaf("u", k) for k in names] or ["np.int64(0)"])


def _propose(s: Scope) -> tuple[list[str], str]:
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


def _value(s: Scope, x: Expr | None) -> tuple[list[str], str]:
    if x is None:
        return [], "True"
    body = Body(s)
    return body.lines, body.text(x)


def _narrow(s: Scope, key: str, text: str) -> str:
    dtype = s.traced.fields[key].dtype
    if dtype in HIGHEST:
        return f"np.{dtype}(max(min({text}, {HIGHEST[dtype]}), {LOWEST[dtype]}))"
    return f"np.{NUMPY.get(dtype, dtype)}({text})"


def _offer(s: Scope) -> list[str]:
    """Push: combine proposals into v, many threads at once."""
    t = s.traced
    lines = ["changed = False"]
    for i, key in enumerate(t.proposes):
        field, array = t.fields[key], f"F[{s.F[key]}]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        read = widened(field.dtype if field.dtype != "bool" else "uint8", f"load({array}, v)")
        if t.once:
            lines += [
                f"if {read} == {s.identity(key)} and compare_and_swap("
                f"{array}, v, np.{field.dtype}({s.identity(key)}), {_narrow(s, key, f'p[{i}]')}):",
                "    changed = True",
            ]
        elif monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines += [
                f"old = load({array}, v)",
                f"while p[{i}] {sign} {widened(field.dtype, 'old') if field.dtype != 'bool' else 'np.int64(old)'}:",
                f"    if compare_and_swap({array}, v, old, {_narrow(s, key, f'p[{i}]')}):",
                "        changed = True",
                "        break",
                f"    old = load({array}, v)",
            ]
        elif monoid == "or":
            dtype = NUMPY.get(field.dtype, field.dtype)
            lines += [
                f"bits = np.{dtype}(p[{i}])",
                f"if (load({array}, v) | bits) != load({array}, v):",
                f"    before = fetch_or({array}, v, bits)",
                "    if (before | bits) != before:",
                "        changed = True",
            ]
        else:
            function = "fetch_fadd" if field.dtype[0] == "f" else "fetch_add"
            lines += [f"{function}({array}, v, {_narrow(s, key, f'p[{i}]')})", "changed = True"]
    return lines


def _fold(s: Scope) -> tuple[list[str], str]:
    """Pull: combine proposals in a register."""
    t = s.traced
    combine = {"min": "min(a[{0}], p[{0}])", "max": "max(a[{0}], p[{0}])", "add": "a[{0}] + p[{0}]"}
    combine["or"] = "a[{0}] | p[{0}]"
    return [], _tuple(combine[t.fields[k].reduce.name].format(i) for i, k in enumerate(t.proposes))  # type: ignore[union-attr]


def _commit(s: Scope) -> list[str]:
    """Pull: the register into v, which one thread owns."""
    t = s.traced
    lines = ["changed = False"]
    for i, key in enumerate(t.proposes):
        field, array = t.fields[key], f"F[{s.F[key]}]"
        monoid = field.reduce.name  # type: ignore[union-attr]
        read = f"load({array}, v)" if field.dtype[0] == "f" else f"np.int64(load({array}, v))"
        if monoid in ("min", "max"):
            sign = "<" if monoid == "min" else ">"
            lines += [
                f"if a[{i}] {sign} {read}:",
                f"    store({array}, v, {_narrow(s, key, f'a[{i}]')})",
                "    changed = True",
            ]
        elif monoid == "or":
            lines += [
                f"if ({read} | a[{i}]) != {read}:",
                f"    store({array}, v, {_narrow(s, key, f'{read} | a[{i}]')})",
                "    changed = True",
            ]
        else:
            lines += [f"store({array}, v, {_narrow(s, key, f'{read} + a[{i}]')})", "changed = True"]
    return lines


def _reset(s: Scope) -> tuple[list[str], str]:
    """Accumulators that must not be counted twice go back to their identity."""
    t = s.traced
    lines = []
    for key in t.proposes:
        if not t.fields[key].reduce.idempotent:  # type: ignore[union-attr]
            dtype = t.fields[key].dtype
            lines.append(f"store(F[{s.F[key]}], v, np.{dtype}(0))")
    return lines, "0"


def _apply(s: Scope) -> tuple[list[str], str]:
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
            if key in dirty_fields(t):
                tests.append(f"load({array}, v) != new_{key}")
            stores.append(f"store({array}, v, new_{key})")
    sums = _tuple([body.cast(t.apply[k], "int") if k in t.apply else "np.int64(0)" for k in _integer_sums(t)]
                  or ["np.int64(0)"])  # fmt: skip
    floats = _tuple([body.cast(t.apply[k], "f64") if k in t.apply else "np.float64(0)" for k in _float_sums(t)]
                    or ["np.float64(0)"])  # fmt: skip
    dirty = " or ".join(tests) or "False"
    lines = [*body.lines, f"dirty = {dirty}", f"awake = {active}", f"sums = {sums}", f"floats = {floats}", *stores]
    return lines, "(bool(awake), bool(dirty), sums, floats)"


def _begin(s: Scope) -> tuple[list[str], str]:
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
    sums = _tuple([body.cast(t.init[k], "int") if k in t.init else "np.int64(0)" for k in _integer_sums(t)]
                  or ["np.int64(0)"])  # fmt: skip
    floats = _tuple([body.cast(t.init[k], "f64") if k in t.init else "np.float64(0)" for k in _float_sums(t)]
                    or ["np.float64(0)"])  # fmt: skip
    return [*body.lines, *stores], f"(bool({active}), {sums}, {floats})"


def _pile(s: Scope) -> tuple[list[str], str]:
    t = s.traced
    if t.priority is None:
        return [], "np.int64(0)"
    body = Body(s)
    text = body.cast(t.priority, "int" if t.priority.kind == "int" else "f64")
    return body.lines, f"np.int64({text})"


def _step(s: Scope) -> tuple[list[str], str]:
    t = s.traced
    quiet = f"G[{s.G['active']}] == 0"
    if t.step is None:
        return [], f"(G, {quiet}, False)"
    body = Body(s)
    values = {k: (body.text(x) if k in ("done", "whole") else
                  body.cast(x, "f64" if t.globals[k].dtype == "float64" else "int")) for k, x in t.step.items()}  # fmt: skip
    new = _tuple(_typed(t, k, values[k]) if k in t.globals and k in values else f"G[{i}]" for k, i in s.G.items())
    return body.lines, f"({new}, bool({values.get('done', quiet)}), bool({values.get('whole', 'False')}))"


def _typed(t: Traced, name: str, text: str) -> str:
    return f"np.{t.globals[name].dtype}({text})"


def _globals_in(s: Scope) -> str:
    named = [
        f"floats[{i}]" if g.dtype == "float64" else f"integers[{i}]" for i, g in enumerate(s.traced.globals.values())
    ]
    return _tuple(["np.int64(n)", "np.int64(m)", "np.int64(tick)", "np.int64(active)", *named])


def _globals_out(s: Scope) -> list[str]:
    return [
        f"{'floats' if g.dtype == 'float64' else 'integers'}[{i}] = G[{s.G[name]}]"
        for i, (name, g) in enumerate(s.traced.globals.items())
    ]


def _with(s: Scope, names: list[str], read: str, stride: int) -> str:
    """G with summed globals put in; a kept one goes on from its last value."""
    items = []
    for name, i in s.G.items():
        if name in names:
            value = read.format(stride * names.index(name))
            items.append(f"G[{i}] + {value}" if s.traced.globals[name].keep else value)
        else:
            items.append(f"G[{i}]")
    return _tuple(items)
