"""Parts of a text of kernels that compile side by side: each has some of the kernels, and all that kernels call.

A first answer waits for the largest part, not for the whole text. Entry: :func:`in_parts` marks a text, :func:`parts`
cuts it. Optimised code is compiled from the whole text.
"""

from __future__ import annotations

import re
from functools import partial

MARK = re.compile(r"// in (\d+) parts\n")
"""First line of a text that may be cut."""

KERNEL = re.compile(r"^\w*KERNEL\w*(?:\([^)]*\))? (\w+)\(", re.MULTILINE)
"""Head of a kernel's definition; its name."""

HEAD = re.compile(r"(?:.*\bstruct (?:alignas\([^)]*\) )?(\w+)[^({;]*\{)|[^{(]*?(\w+)\(", re.DOTALL)
"""Head of the definition of a class or a function; its name."""

LONG = 135_000
"""Characters that a ``LONG_KERNEL`` counts for beside its own: it calls long functions in several places."""

WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def in_parts(text: str, number: int) -> str:
    """Return a text marked to be compiled in parts where cores are idle."""
    return f"// in {number} parts\n{text}"


def parts(text: str, most: int) -> list[str]:
    """Return the texts that a text's kernels are shared out to; a kernel of another part is a function without caller.

    Kernels go to the part that is smallest so far, the largest first. The size of a kernel is the length of all
    definitions that it reaches: compile times of the kernels of communities are as long as those, +-20 %. The largest
    part comes first.

    Args:
        text: CUDA C++ of this package; :func:`in_parts` may have marked it.
        most: most parts.
    """
    mark = MARK.match(text)
    number = min(int(mark[1]) if mark else 1, most)
    if number < 2:
        return [text]
    lengths = _lengths(text)
    shares: list[tuple[int, set[str]]] = [(0, set()) for _ in range(min(number, len(lengths)))]
    for kernel in sorted(lengths, key=lambda name: (-lengths[name], name)):
        length, names = shares.pop(0)
        shares = sorted([*shares, (length + lengths[kernel], names | {kernel})], key=lambda share: share[0])
    return [KERNEL.sub(partial(_kept, names), text) for _, names in reversed(shares)]


def _kept(names: set[str], head: re.Match) -> str:
    return head[0] if head[1] in names else f"DEVICE void {head[1]}("


def _lengths(text: str) -> dict[str, int]:
    """Return kernel → length of all definitions that it reaches by name, and LONG."""
    bodies: dict[str, str] = {}
    for definition in re.split(r"\n(?=[^\s}#/])", text):
        head = KERNEL.match(definition) or HEAD.match(definition)
        if head:
            name = next(filter(None, head.groups()))
            bodies[name] = bodies.get(name, "") + definition
    heads = {head[1]: LONG * head[0].startswith("LONG") for head in KERNEL.finditer(text)}
    return {kernel: more + _reached(kernel, bodies) for kernel, more in heads.items()}


def _reached(kernel: str, bodies: dict[str, str]) -> int:
    reached, waiting = {kernel}, [kernel]
    while waiting:
        named = set(WORD.findall(bodies[waiting.pop()])) & bodies.keys() - reached
        reached |= named
        waiting += named
    return sum(len(bodies[name]) for name in reached)
