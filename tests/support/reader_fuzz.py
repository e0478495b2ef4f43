"""Mutated files, read with every shortcut and with none: graph, counts and messages must be equal to the last bit.

The shortcuts are threads, pieces of a file, private buffers, the kernel for plain lines, the bitmap of ids, and arrays
of an archive read whole. Without them one thread scans every line, ids are sorted, and archives are streamed.
``python tests/support/reader_fuzz.py COUNT [SEED [PROCESSES]]`` runs COUNT inputs; ``test_reader_fuzz.py`` runs some in
the suite. Small files are read by NumPy, or with DGRAPH_COMPILE=always by machine code.
"""

from __future__ import annotations

import multiprocessing
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
from fuzz import NAMED, TEXT, Input, an_input
from fuzz_inputs import ODD, broken, packed_as
from loading import agreed
from simulated import on_ranks

from dgraph._support import affinity
from dgraph.errors import DgraphError
from dgraph.graph.build import bucketed_arcs, clean, id_bitmap
from dgraph.graph.formats import column, lines, parquet, plain_scan, scipy_npz, text
from dgraph.graph.formats.packed import packing
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions

KINDS = (*TEXT, *NAMED, "a.parquet", "a.arrow", "a.npz", "a.npz", "a.wsg", "long", "long", "long", "long")
"""Kinds of inputs; a long one has up to a hundred lines, most of them plain."""
FORMS = {
    ".txt": ("{u} {v}", "{u}\t{v}"),
    ".el": ("{u} {v}",),
    ".wel": ("{u} {v} {w}", "{u} {v} 0.{w}{w}", "{u} {v} {w}{w}{w}{w}{w}"),
    ".csv": ("{u},{v}", "{u},{v},{w}", "{u};{v};{w}", "{u},{v},{w}.{u}", "{u},{v},-{w}e-{w}"),
    ".tsv": ("{u}\t{v}\t{w}",),
    ".gr": ("a {u} {v} {w}",),
}
"""Lines of long files, by suffix."""
UNUSUAL = (
    "# 1 2", "% c", "", " {u} {v} {w}", "{u} {v} {w} ", "{u}, {v}, {w}", "{u} {v} 0.5", "{u},{v},-{w}", "{u} {v} {w}.0",
    "{u}\t{v}\t1e2", '"{u}","{v}","{w}"', "{u} {v} {w}\r", "{u} 4294967296 {w}", "{u},{v},4294967296", "0{u} 00{v} {w}",
    "{u} {v} -2147483648", "{u},{v}", "{u} {v} 1e999", "x y z", "{u} -{v} {w}", "c 1", "{u};{v};1,5", "{u} {v} 1 1",
    "{u} {v} -0", "{u},{v},-0", "{u} {v} 9007199254740993", "{u},{v},-9007199254740993", "{u} {v} 0.1{v}{u}",
    "{u} {v} {u}{v}e-{w}", "{u},{v},2147483648", "{u} {v} .5", "{u} {v} 5.", "{u} {v} 1e", "{u} {v} 999999999999999999",
    "{u} {v} 9999999999999999999", "{u} {v} 0.{w}e310", "{u},{v},1.5.5",
)  # fmt: skip


def long_input(rng: random.Random) -> Input:
    """Return a file of many lines, packed or not, with a few unusual ones."""
    suffix = rng.choice(list(FORMS))
    form, top = rng.choice(FORMS[suffix]), rng.choice([3, 30, 70_000, 1 << 32, 1 << 40])
    unusual = rng.choice([0, 0, 0.02, 0.2])
    listed = [
        (rng.choice(UNUSUAL) if rng.random() < unusual else form).format(
            u=rng.randrange(1, top), v=rng.randrange(1, top), w=rng.randrange(1, 300)
        )
        for _ in range(rng.randrange(100))
    ]
    if suffix == ".gr":
        top = max(top, 4)
        listed.insert(0, f"p sp {top} {sum(line.startswith('a ') for line in listed)}")
    elif rng.random() < 0.2:
        listed.insert(0, form.format(u="source", v="target", w="weight"))
    content = "\n".join(listed).encode() + rng.choice([b"\n", b""])
    if rng.random() < 0.1:
        content = broken(content, rng, ODD)
    ending = rng.choice([".gz", ".zst", *[""] * 6])
    content = packed_as(ending, content) if ending else content
    if ending and rng.random() < 0.2:
        content = content[: -rng.randrange(1, 12)]
    options = {
        "lenient": rng.random() < 0.3, "sparse_ids": rng.random() < 0.5,
        "directed": rng.choice([None, None, True, False]), "keep_loops": rng.random() < 0.5,
        "keep_parallel": rng.random() < 0.3, "weights": rng.choice([None, None, None, "unit"]),
    }  # fmt: skip
    name = f"long{suffix}{ending}"
    return Input("long", name, {name: content}, options)


def loaded(path: Path, ranks: int, options: dict):
    """Return every array and fact of the graph on all ranks, or the error."""

    def work(comm):
        block = load(str(path), comm, LoadOptions(**options))
        names = block.ids.names and block.ids.names.words(np.arange(block.n), comm).tolist()
        ids = block.ids.to_original(np.arange(block.first, block.first + block.rows), comm).tolist()
        arrays = [
            None if array is None else (str(array.dtype), array.tobytes())
            for array in (block.offsets, block.targets, block.weights)
        ]
        facts = vars(block.facts) | {"scanned_lines": None}  # the one count that depends on the shortcuts
        return block.n, block.m, block.arcs, block.first, block.directed, facts, ids, names, arrays

    try:
        return agreed(on_ranks(ranks, work))
    except DgraphError as refused:
        return re.sub("at 0x[0-9a-f]+", "", f"{type(refused).__name__}: {refused}")  # of an object in NumPy's message


@contextmanager
def changed(*values: tuple[ModuleType | type, str, object]) -> Iterator[None]:
    """Give attributes these values within the body; ``unittest.mock`` takes a fifth of the time of a small load."""
    before = [(place, name, place.__dict__[name]) for place, name, _ in values]
    for place, name, value in values:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, value in reversed(before):
            setattr(place, name, value)


def reference(path: Path, ranks: int, options: dict, chunk: int):
    """Return :func:`loaded` without shortcuts; ``chunk``: bytes of packed text that are unpacked at a time."""
    with changed(
        (lines, "CHUNK", chunk), (plain_scan, "READ", frozenset()), (lines.LineBuffer, "lines", lambda *_: None),
        (affinity, "share", lambda *_: 1), (scipy_npz._Column, "whole", lambda _: None),
        (id_bitmap, "SPAN", 0), (id_bitmap, "SMALL", 0),
    ):  # fmt: skip
        return loaded(path, ranks, options)


def with_shortcuts(path: Path, ranks: int, options: dict, chunk: int, rng: random.Random):
    """Return :func:`loaded` with threads and pieces of any size."""
    threads = rng.choice([1, 1, 1, 1, 1, 1, 2, 3])  # a load with threads takes four times as long
    small = [(bucketed_arcs, "FEW", 0), (bucketed_arcs, "ARCS", 3), (clean, "CHUNK", 5)]
    with changed(
        (affinity, "share", lambda *_: threads), (lines, "CHUNK", chunk), (lines, "TAIL", rng.choice([1, 5, 30, 4096])),
        (text, "PIECE", rng.choice([1, 2, 4])), (id_bitmap, "WORDS", rng.choice([1, 1 << 14])),
        (scipy_npz, "LARGE", 1), (scipy_npz, "PIECE", rng.choice([3, 8, 1 << 20])),
        (parquet, "ROWS", rng.choice([1, 2, 1 << 17])), (column, "ARENA", rng.choice([1, 64, 200, 1 << 20])),
        *(small if rng.random() < 0.5 else ()),
    ):  # fmt: skip
        return loaded(path, ranks, options)


def one(seed: int, folder: Path) -> tuple[str, bool, str]:
    """Check one input; return its kind, True if it was read, and "" or a description of both results."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    case = long_input(rng) if kind == "long" else an_input(kind, rng)
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    path, ranks = folder / case.name, rng.choice([*[1] * 30, 2, 3])  # two ranks take six times as long as one
    options = {"keep_loops": True} | case.options
    chunk = rng.choice([30, 30, 100, 300, 1 << 20] if kind == "long" else [1, 7, 40, 200, 1 << 20])
    # Two messages depend on the chunk: damage of packed text comes before a wrong line, and names' weights say "at or
    # before this line".
    dependent = packing(case.files[case.name]) or kind in NAMED
    expected = reference(path, ranks, options, chunk if dependent else 1 << 20)
    answer = with_shortcuts(path, ranks, options, chunk, rng)
    for name in case.files:
        (folder / name).unlink()
    difference = "" if expected == answer else f"{case} on {ranks} ranks\n  reference: {expected}\n  answer: {answer}"
    return kind, not isinstance(expected, str), difference


def checked(seeds: range) -> tuple[Counter, Counter, int]:
    """Check the inputs of seeds and print differences; return inputs and those that were read by kind, and findings."""
    kinds, read, findings = Counter(), Counter(), 0
    memory = "/dev/shm"  # a disk's files take as long as a load
    with tempfile.TemporaryDirectory(dir=memory if Path(memory).is_dir() else None) as folder:
        for seed in seeds:
            kind, valid, difference = one(seed, Path(folder))
            kinds[kind] += 1
            read[kind] += valid
            if difference:
                findings += 1
                print(f"seed {seed}: {difference}", flush=True)
    return kinds, read, findings


def main() -> None:
    count, first, processes = (*map(int, sys.argv[1:]), *(0, 1)[len(sys.argv) - 2 :])
    began, kinds, read, findings = time.monotonic(), Counter(), Counter(), 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        shares = [range(first + process, first + count, processes) for process in range(processes)]
        for kinds_of_share, read_of_share, findings_of_share in pool.imap(checked, shares):
            kinds.update(kinds_of_share)
            read.update(read_of_share)
            findings += findings_of_share
    print(" ".join(f"{kind} {read[kind]} of {kinds[kind]} read;" for kind in dict.fromkeys(KINDS)))
    print(f"{count} inputs in {time.monotonic() - began:.0f} s, {findings} findings")


if __name__ == "__main__":
    main()
