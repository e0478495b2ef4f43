"""Options of schedules, of rounds between GPUs, of records and of graph construction, for ``--help`` and ``Options``.

A schedule is written ``NAME[,option=value…]``, as a policy is. :func:`parse_schedule`, :func:`parse_rounds` and
:func:`parse_record` turn the words of a user into keywords of the GPU backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dgraph.errors import UsageError, option, unknown


@dataclass(frozen=True)
class Choice:
    """One option of some schedules.

    Attributes:
        name: keyword of the GPU backend, unique among all options.
        option: what a user writes behind the schedule's name; several schedules may use one word.
        schedules: names of the schedules that have the option.
        help: its meaning, in one line.
        default: the value where the option is not given.
        words: words that are values.
        least, most: range of numbers that are values; ``least`` None: no number is.
        power: True if a number must be a power of two.
        constant: macro of the schedule's text that has the value's number; "": kernels get it at launch.
    """

    name: str
    option: str
    schedules: tuple[str, ...]
    help: str
    default: str | int
    words: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    power: bool = False
    constant: str = ""

    @property
    def flag(self) -> str:
        """Command line of the option, under the first schedule that has it."""
        return f"--schedule {self.schedules[0]},{self.option}="

    def written(self, value: object) -> str:
        """Return the option with a value, as an error writes it."""
        return option("schedule", f"{self.schedules[0]},{self.option}={value}")

    @property
    def form(self) -> str:
        """Values of the option, as a help text shows them."""
        return "|".join([*self.words, *([] if self.least is None else [self._numbers()])])

    def _numbers(self) -> str:
        if self.most is None:
            return "N" if self.least in (0, 1) else f"N≥{self.least}"
        return f"{self.least}…{self.most}"

    def number(self, value: str | int) -> int:
        """Return a value as a number: of a word its place among the words."""
        return value if isinstance(value, int) else self.words.index(value)

    def checked(self, value: object) -> str | int:
        """Return the value as a word or a number.

        Raises:
            UsageError: the option has no such value.
        """
        text = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
        if text in self.words:
            return text
        if self.least is not None and text.isdecimal():
            number, most = int(text), 2**40 - 1 if self.most is None else self.most
            if self.least <= number <= most and not (self.power and number & (number - 1)):
                return number
        kind = ", a power of two" if self.power else ""
        raise UsageError(f"{self.written(text)} is none of {self.form}{kind}; give one of them, or leave it out")


HOST, DEVICE = "host", "device"
BUILDS = {
    "auto": "device for a large generated graph that GPUs can build, else host",
    HOST: "ranks read or generate edges on CPUs, exchange them, and copy their parts to GPUs",
    DEVICE: "each GPU generates the edges of its own part of a generated graph",
}
"""Builders of a graph: name → meaning."""

ROUNDS = {
    "auto": "GPUs that reach each other's memory run rounds without the host",
    "local": "GPUs run several rounds between exchanges, where values only improve; auto does on graphs like roads",
    "each": "GPUs exchange values in each round",
    "host": "an MPI allreduce ends each large round, even where GPUs reach each other's memory",
    "limit=N": "largest frontier (vertices or edges a rank) that stays in the persistent kernel of all GPUs",
}
"""Words of ``--rounds``: rounds of several GPUs."""

RESIDUAL = "residual"
"""Word of ``--record`` that CPUs take, too."""

RECORDS = {
    RESIDUAL: "what is left to the tolerance after each round",
    "load": "edges by thread of a GPU",
    "time": "seconds by kernel of a GPU",
    "ranges": "names of rounds for a profiler of GPUs (NVTX)",
}
"""Words of ``--record``."""

_RECORD_KEYWORDS = {"load": "record", "time": "timed", "ranges": "ranges"}

_ROUND_KEYWORDS = {"local": {"local_rounds": True}, "each": {"local_rounds": False}, "host": {"host_rounds": True}}

CHOICES = {
    row.name: row
    for row in (
        Choice(
            "alb_threshold", "threshold", ("alb",),
            "least degree of a huge vertex: threads (as many as are launched), auto (a block's share of the round's "
            "edges)",
            "threads", ("auto", "threads"), 0,
        ),
        Choice(
            "alb_distribution", "distribution", ("alb", "lb"), "distribution of edges over threads",
            "cyclic", ("cyclic", "blocked"),
        ),
        Choice(
            "twc_small", "small", ("twc", "alb"),
            "walk of vertices that no block or warp takes: thread (each by its thread), scan (those of a block by its "
            "threads side by side, after a scan of degrees)",
            "thread", ("thread", "scan"), constant="SMALL_BY_SCAN",
        ),
        Choice(
            "twc_cta", "cta", ("twc", "alb"), "least degree of a vertex whose edges a block walks; block: its threads",
            "block", ("block",), 1, constant="CTA_LEAST",
        ),
        Choice(
            "twc_warp", "warp", ("twc", "alb"), "least degree of a vertex whose edges a warp walks", 32, least=1,
            constant="WARP_LEAST",
        ),
        Choice(
            "edge_chunk", "chunk", ("edge",), "one reservation in the list of edges a vertex, in place of one an edge",
            "on", ("off", "on"), constant="EDGE_CHUNK",
        ),
        Choice(
            "edge_emit", "emit", ("edge",),
            "how the next list is made: a kernel lists the frontier's edges (listed), or each improvement appends its "
            "vertex's edges at once, so that they may stand there several times (fused)",
            "listed", ("listed", "fused"), constant="EMIT_REPEATED",
        ),
        Choice(
            "mdt", "mdt", ("split", "hierarchical"),
            "edges of a vertex that a thread takes at most; auto: from the histogram of degrees", "auto", ("auto",), 1,
        ),
        Choice(
            "mdt_bins", "bins", ("split", "hierarchical"), "bins of the histogram of degrees behind mdt=auto", 10,
            least=1, most=4096,
        ),
        Choice(
            "split_by", "by", ("split",),
            "children: of the graph, made once before the first round (graph), or of each round's list (scan)",
            "graph", ("scan", "graph"), constant="SPLIT_GRAPH",
        ),
        Choice(
            "warp_size", "warp_size", ("virtual_warp",), "lanes that share a vertex", 8, least=2, most=32, power=True,
        ),
        Choice(
            "search_memory", "memory", ("warp_search",), "where a warp searches its 32 prefix sums",
            "shared", ("shared", "registers"), constant="SEARCH_IN_REGISTERS",
        ),
        Choice(
            "grid_threshold", "threshold", ("dynamic_parallelism",),
            "degree above which a vertex gets a grid of its own", 4096, least=0,
        ),
        Choice(
            "merge_by", "by", ("merge_path",),
            "where a thread's share goes: through its registers, or a list in memory that a second kernel gathers",
            "registers", ("registers", "memory"),
        ),
        Choice(
            "steal_stealing", "stealing", ("steal",), "off: a block stops when its own queue is empty",
            "on", ("off", "on"), constant="STEALING",
        ),
        Choice(
            "steal_queues", "queues", ("steal",),
            "thread blocks, each with a queue; auto: as many as are resident", "auto", ("auto",), 1,
        ),
        Choice(
            "steal_task", "task", ("steal",), "vertices of an element of a queue; block: the threads of a block",
            "block", ("block",), 1, 2**20, constant="TASK_VERTICES",
        ),
        Choice(
            "steal_tasks", "tasks", ("steal",),
            "vertices in the elements: the active ones of the round, or all in the order of ids, without the inactive",
            "active", ("active", "all"),
        ),
        Choice(
            "expand_factor", "factor", ("expand_hybrid",),
            "edges a vertex from which on redistribution is balanced, and not gathering", 10, least=0,
        ),
        Choice(
            "few", "few", ("hierarchical",),
            "vertices of a list, for each thread of a block, below which their edges are divided among all threads", 4,
            least=1, most=8, constant="FEW_EACH",
        ),
        Choice(
            "smallest_warp", "smallest", ("dynamic_warp", "dynamic_parallelism"), "fewest lanes that share a vertex", 4,
            least=1, most=32, power=True, constant="SMALLEST_WARP",
        ),
        Choice(
            "loaded", "loaded", ("block_search",), "prefix sums that a block loads at once, for each of its threads", 4,
            least=1, most=16, constant="LOADED_EACH",
        ),
        Choice(
            "row_edges", "row", ("two_phase", "multi_phase"), "edges of a thread in a block's piece (K)", 8,
            least=1, most=16, constant="IN_ROW",
        ),
        Choice(
            "searches", "searches", ("multi_phase",), "searches of a thread in a block's piece (IS)", 2,
            least=1, most=8, constant="ITERATED",
        ),
        Choice(
            "tile", "tile", ("expand_gather", "expand_balanced", "expand_hybrid"),
            "entries of a block's tile, for each of its threads", 8, least=1, most=32, constant="TILE_EACH",
        ),
        Choice(
            "deep", "deep", ("expand_hybrid",), "round from which on a thread walks each vertex", 64, least=0,
            constant="DEEP",
        ),
    )
}  # fmt: skip
"""Name → option."""


def checked(schedule: str, values: Mapping[str, object]) -> dict[str, str | int]:
    """Return every option's value under a schedule: the given one, else its default.

    Raises:
        UsageError: an option of another schedule, or a value that it cannot have.
    """
    for name, value in values.items():
        row = CHOICES[name]
        row.checked(value)
        if schedule not in row.schedules:
            owners = " or ".join(row.schedules)
            raise UsageError(
                f"{row.option}= is an option of the schedule {owners}, and the schedule is {schedule}; "
                f"give {row.written(value)}, or leave the option out"
            )
    return {name: row.checked(values[name]) if name in values else row.default for name, row in CHOICES.items()}


def constants(values: Mapping[str, str | int]) -> dict[str, int]:
    """Return the macros of all schedules' texts with their numbers, of defaults where ``values`` has none."""
    return {row.constant: row.number(values.get(name, row.default)) for name, row in CHOICES.items() if row.constant}


def options_of(schedule: str) -> dict[str, Choice]:
    """Return the options of a schedule by the word that a user writes."""
    return {row.option: row for row in CHOICES.values() if schedule in row.schedules}


def parse_schedule(text: str) -> dict[str, Any]:
    """Return keywords of the GPU backend from ``NAME[,option=value…]``; "auto" gives none.

    Raises:
        UsageError: an option that the schedule does not have, one without a value, or a wrong value.
    """
    name, *words = (word.strip() for word in text.split(","))
    options, keywords = options_of(name), {}
    for word in words:
        option, equals, value = word.partition("=")
        if option not in options:
            if not options:
                raise UsageError(f"schedule {text!r}: the schedule {name} has no options; leave {word!r} out")
            raise unknown(f"option of the schedule {name}", option, options)
        if not equals or not value:
            raise UsageError(f"schedule {text!r}: {option} has no value; write {option}={options[option].form}")
        if options[option].name in keywords:
            raise UsageError(f"schedule {text!r}: {option} stands there twice; leave one out")
        keywords[options[option].name] = options[option].checked(value)
    return keywords if name == "auto" else {"schedule": name, **keywords}


def parse_rounds(text: str) -> dict[str, Any]:
    """Return keywords of the GPU backend from words of ``ROUNDS`` with commas between them; "auto" gives none.

    Raises:
        UsageError: an unknown word, or a limit that is not a number of 0 or more.
    """
    keywords: dict[str, Any] = {}
    for word in (word.strip() for word in text.split(",")):
        name, equals, value = word.partition("=")
        if word in _ROUND_KEYWORDS:
            keywords |= _ROUND_KEYWORDS[word]
        elif name == "limit" and equals:
            if not value.isdecimal():
                raise UsageError(f"rounds {text!r}: limit={value} is not a number; give limit=N with N of 0 or more")
            keywords["across_limit"] = int(value)
        elif word.lower().endswith(".csv"):
            table = f"python -m dgraph … --rounds-table {word}"
            raise UsageError(f"{option('rounds', word)}: a table of the rounds is written by {table}")
        elif word != "auto":
            raise unknown("word of rounds", word, ROUNDS)
    return keywords


def record_words(text: str | None) -> list[str]:
    """Return the words of ``RECORDS`` in a text that has commas between them; of None none.

    Raises:
        UsageError: an unknown word; the error lists all.
    """
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if word not in RECORDS:
            raise unknown("thing to record", word, RECORDS)
    return words


def parse_record(text: str | None) -> dict[str, Any]:
    """Return keywords of the GPU backend from words of ``RECORDS`` with commas between them.

    Raises:
        UsageError: an unknown word.
    """
    return {_RECORD_KEYWORDS[word]: True for word in record_words(text) if word != RESIDUAL}
