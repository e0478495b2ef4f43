"""Properties files of LDBC Graphalytics: those of a benchmark, with ``include``, and those of its datasets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dgraph.errors import DataError, UsageError

ALGORITHMS = {"BFS": "bfs", "WCC": "cc", "PR": "pagerank", "CDLP": "cdlp", "LCC": "lcc", "SSSP": "sssp"}
"""The benchmark's name of an algorithm → dgraph's."""

DEEPEST = 8
"""Files that include each other, at most."""


@dataclass(frozen=True)
class BenchmarkGraph:
    """One graph of the benchmark.

    Attributes:
        name: as in its properties.
        file: path of its .properties file.
        jobs: the benchmark's algorithm → parameters of dgraph's.
        weighted: True if edges have a weight.
    """

    name: str
    file: Path
    jobs: Mapping[str, Mapping[str, Any]]
    weighted: bool


@dataclass(frozen=True)
class Benchmark:
    """Algorithms and graph of a benchmark, with their parameters.

    Attributes:
        datasets: the graphs.
        references: folder of the reference outputs ``NAME-ALGORITHM``; None: that of each dataset.
        output: folder for outputs; None: they are not written.
        repetitions: runs of each job.
        timeout: seconds of a job's makespan; None: no limit.
        validated: True if outputs are compared with references.
    """

    datasets: tuple[BenchmarkGraph, ...]
    references: Path | None
    output: Path | None
    repetitions: int
    timeout: float | None
    validated: bool


def read_benchmark(path: Path) -> Benchmark:
    """Return the benchmark that a properties file describes: a benchmark's, or that of one dataset, for all it names.

    Raises:
        UsageError: no graph, or an algorithm or graph that does not exist.
        DataError: a line or a value that cannot be read.
    """
    keys = read_properties(path)
    names = sorted({key.split(".")[1] for key in keys if key.startswith("graph.") and key.count(".") > 1})
    if names:
        return Benchmark(tuple(_dataset(path, name, keys, None) for name in names), None, None, 1, None, True)
    kind = keys.get("benchmark.type", "custom")

    def value_of(what: str, default: str = "") -> str:
        return keys.get(f"benchmark.{kind}.{what}", keys.get(f"benchmark.{what}", default))

    root = _folder(path, keys.get("graphs.root-directory", "."))
    wanted = _words(value_of("algorithms")) or list(ALGORITHMS)
    names = _words(value_of("graphs")) or _words(keys.get("graphs.names", ""))
    if not names:
        raise UsageError(f"{path}: no graph is named; set benchmark.{kind}.graphs, or give a dataset's file")
    datasets = []
    for name in names:
        places = (root / f"{name}.properties", root / name / f"{name}.properties")
        file = next((place for place in places if place.exists()), None)
        if file is None:
            raise UsageError(f"{path}: {root} has no {name}.properties; set graphs.root-directory to its folder")
        datasets.append(_dataset(file, name, read_properties(file), wanted))
    references, output = keys.get("graphs.validation-directory"), keys.get("graphs.output-directory")
    timeout = value_of("timeout")
    return Benchmark(
        tuple(datasets),
        _folder(path, references) if references else None,
        _folder(path, output) if output and _true(value_of("output-required", "true")) else None,
        int(_number(path, "repetitions", value_of("repetitions", "1"))),
        _number(path, "timeout", timeout) if timeout else None,
        _true(value_of("validation-required", "true")),
    )


def read_properties(path: Path, depth: int = 0) -> dict[str, str]:
    """Return the keys of a Java properties file and of those that it includes.

    Raises:
        UsageError: the file cannot be read.
        DataError: a line that is not ``KEY = VALUE``, or files that include each other.
    """
    if depth > DEEPEST:
        raise DataError(f"{path}: properties files include each other; remove an include")
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a properties file of LDBC Graphalytics") from None
    properties: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals:
            raise DataError(f"{path}:{number}: got {line[:60]!r}; a line is 'KEY = VALUE'; correct it")
        if key == "include":
            for file in _words(value):
                properties |= read_properties(_folder(path, file), depth + 1)
        else:
            properties[key] = value
    return properties


def _dataset(file: Path, name: str, keys: Mapping[str, str], wanted: list[str] | None) -> BenchmarkGraph:
    def value(what: str) -> str:
        text = keys.get(f"graph.{name}.{what}")
        if text is None:
            raise DataError(f"{file}: graph.{name}.{what} is missing, which the algorithm needs; add it")
        return text

    able = [word.upper() for word in _words(keys.get(f"graph.{name}.algorithms", ",".join(ALGORITHMS)))]
    chosen = able if wanted is None else [word.upper() for word in wanted]
    for algorithm in chosen:
        if algorithm not in ALGORITHMS:
            raise UsageError(f"{file}: algorithm {algorithm!r} is not of LDBC Graphalytics: {', '.join(ALGORITHMS)}")

    def number(what: str) -> float:
        return _number(file, what, value(what))

    def search(what: str) -> dict[str, Any]:
        return {"source": int(number(f"{what}.source-vertex")), "return_predecessors": False}

    parameters: dict[str, Callable[[], dict[str, Any]]] = {
        "BFS": lambda: search("bfs"),
        "SSSP": lambda: search("sssp"),
        "PR": lambda: {"alpha": number("pr.damping-factor"), "max_iter": int(number("pr.num-iterations")), "tol": 0.0},
        "CDLP": lambda: {"max_iter": int(number("cdlp.max-iterations")), "count": "arcs"},
        "LCC": lambda: {"count": "arcs"},
        "WCC": dict,
    }
    jobs = {algorithm: parameters[algorithm]() for algorithm in chosen if algorithm in able}
    return BenchmarkGraph(name, file, jobs, bool(keys.get(f"graph.{name}.edge-properties.names")))


def _folder(path: Path, value: str) -> Path:
    """Return a path that a file names, relative to the file."""
    return path.parent / Path(value)


def _words(value: str) -> list[str]:
    return value.replace(",", " ").split()


def _true(value: str) -> bool:
    return value.lower() == "true"


def _number(path: Path, what: str, value: str) -> float:
    try:
        return int(value) if value.isdigit() else float(value)
    except ValueError:
        raise DataError(f"{path}: {what} has {value!r}, which is not a number; correct it") from None
