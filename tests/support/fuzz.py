"""Mutated files, read by dgraph and by plain Python readers: both must load the same graph, or both must refuse.

``python tests/support/fuzz.py COUNT [SEED]`` runs COUNT inputs; ``test_fuzz.py`` runs some in the suite.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from format_cases import rows
from fuzz_inputs import BYTES, ODD, broken, ldbc, packed_as, valid
from loading import agreed, cleaned, figures, joined, share
from plain_lists import plain_cedge, plain_fixed, plain_integers, plain_named
from plain_readers import (
    RefusedError,
    plain_dimacs,
    plain_galois,
    plain_gapbs,
    plain_metis,
    plain_mtx,
    plain_packed,
)
from plain_tables import GALOIS, plain_ldbc, plain_npz, plain_table, text_of
from simulated import on_ranks

from dgraph.errors import DgraphError, InternalError
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions

TEXT = rows("PLAIN") | {
    "a.txt": plain_integers,
    "a.csv": plain_integers,
    "a.el": lambda content, passed: plain_fixed(content, passed, 2),
    "a.wel": lambda content, passed: plain_fixed(content, passed, 3),
    "a.cedge": plain_cedge,
    "a.mtx": plain_mtx,
    "a.graph": lambda content, passed: plain_metis(content),
}
BINARY = {
    "b.gr": plain_galois,
    "a.sg": lambda content: plain_gapbs(content, False),
    "a.wsg": lambda content: plain_gapbs(content, True),
    "a.g500": plain_packed,
    "a.g500w": lambda content: plain_packed(content, "<qq"),
    "a.npz": plain_npz,
    "a.parquet": lambda content: plain_table(content, ".parquet"),
    "a.arrow": lambda content: plain_table(content, ".arrow"),
}
TABLES = ("a.npz", "a.parquet", "a.arrow")
NAMED = ("n.txt", "n.csv", "n.tsv")
LDBC = ("a.e", "a.v", "a.properties")
KINDS = (*TEXT, *BINARY, *NAMED, *LDBC)


@dataclass(frozen=True)
class Input:
    """Files, the name of the one that is loaded, and load options."""

    kind: str
    name: str
    files: dict[str, bytes]
    options: dict = field(default_factory=dict)


def an_input(kind: str, rng: random.Random) -> Input:
    """Return files of a kind, one of them mutated."""
    options: dict = {}
    files = ldbc(rng) if kind in LDBC else {kind: valid(kind, rng)}
    target = rng.choice(list(files))
    if kind not in TABLES or rng.random() < 0.5:  # writers of tables already insert errors
        files[target] = broken(files[target], rng, BYTES if kind in BINARY else ODD)
    if kind in LDBC and kind not in files:
        kind = "a.e"
    name = kind
    if kind not in BINARY:
        if rng.random() < 0.25:
            options["lenient"] = True
        ending = rng.choice([".gz", ".zst", *[""] * 6])
        inner = rng.choice([edges_file for edges_file in files if edges_file != "a.properties"])
        if ending:
            text = packed_as(ending, files.pop(inner))
            text = broken(text, rng, BYTES) if rng.random() < 0.4 else text
            called = inner + rng.choice(["", ending])
            files[called] = text
            name = called if name == inner else name
    if kind in NAMED:
        options["ids"] = "string"
    return Input(kind, name, files, options)


def expected(case: Input):
    """Return the plain reader's result: direction, vertices, arcs, count, dropped lines, names; None if it refuses."""
    kind, passed, hidden = case.kind, [] if case.options.get("lenient") else None, 0
    try:
        if kind in BINARY:
            content = case.files[case.name]
            if kind == "b.gr" and content[:8] not in GALOIS:
                directed, vertices, edges = plain_dimacs(text_of(content))
            else:
                directed, vertices, edges = BINARY[kind](content)
        elif kind in LDBC:
            directed, vertices, edges = plain_ldbc(case.files, case.name, passed)
        else:
            text = text_of(case.files[case.name])
            if kind in NAMED:
                directed, vertices, edges, hidden = plain_named(text, passed, kind == "n.tsv")
            else:
                directed, vertices, edges, hidden = (*TEXT[kind](text, passed), 0)[:4]
    except RefusedError:
        return None
    names = vertices if kind in NAMED or (kind in TABLES[1:] and vertices) else None
    vertices = range(len(names)) if names else vertices
    mirrored = not directed and kind in ("a.sg", "a.wsg", "a.graph")
    once = [(u, v, w) for u, v, w in edges if u <= v] if mirrored else edges
    return directed, *cleaned(once, directed, vertices=vertices, keep_loops=True)[:3], len(passed or ()) + hidden, names


def loaded(path: Path, ranks: int, options: dict):
    """Return dgraph's result in the same form, or its error message."""

    def work(comm):
        block = load(str(path), comm, LoadOptions(keep_loops=True, **options))
        names = block.ids.names and block.ids.names.words(np.arange(block.n), comm).tolist()
        return share(block, comm), names

    try:
        shares, names = zip(*agreed(on_ranks(ranks, work)), strict=True)
        graph = joined(list(shares))
    except InternalError as crash:
        return "crash", str(crash)
    except DgraphError as refused:
        return str(refused)
    except Exception as crash:
        return "crash", repr(crash)
    return graph.directed, *figures(graph)[:3], graph.facts.lines_dropped, names[0]


def check(case: Input, folder: Path, ranks: int = 1) -> str:
    """Return "" if both agree, else a description of both results."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    want, got = expected(case), loaded(folder / case.name, ranks, case.options)
    for name in case.files:
        (folder / name).unlink()
    if (want is None) == isinstance(got, str) and (want is None or want == got):
        return ""
    return f"{case} on {ranks} ranks\n  plain: {want}\n  dgraph: {got}"


def one(seed: int, folder: Path) -> tuple[str, str]:
    """Make one input and check it; return its kind and the result of :func:`check`."""
    rng = random.Random(seed)
    case = an_input(rng.choice(KINDS), rng)
    return case.kind, check(case, folder, rng.choice([1, 1, 1, 1, 1, 1, 1, 2, 3]))


def main() -> None:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began, findings, slowest, kinds = time.monotonic(), 0, 0.0, Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            start = time.monotonic()
            kind, told = one(seed, Path(folder))
            slowest = max(slowest, time.monotonic() - start)
            kinds[kind] += 1
            if told:
                findings += 1
                print(f"seed {seed}: {told}", flush=True)
    print(" ".join(f"{kind} {kinds[kind]}" for kind in KINDS))
    print(f"{count} inputs in {time.monotonic() - began:.0f} s, {findings} findings, the slowest took {slowest:.2f} s")


if __name__ == "__main__":
    main()
