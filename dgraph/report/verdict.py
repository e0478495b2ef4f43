"""Diagnosis of one run: what bound its time, the figure that shows it, and what to try.

Main entry: :func:`verdict`. The wall time is divided as in :mod:`time_split`; the rounds are divided further by the
efficiency model of the POP project (Rosas, Giménez, Labarta: Scalability Prediction for Fundamental Performance
Factors, Supercomputing Frontiers and Innovations 1(2), 2014). Of the time T in rounds, the mean compute over ranks is
useful, max − mean compute is load imbalance, and T − max compute is communication and waiting. Here the max is taken
in every round, since the slowest rank may change from round to round.
"""

from __future__ import annotations

from typing import NamedTuple

from dgraph.report.style import CONSTRUCTION
from dgraph.report.tables import short_name
from dgraph.report.text_lines import duration, size
from dgraph.report.time_split import PARTS, in_rounds, mean, means

SMALL_MESSAGE = 16 << 10
"""Mean bytes of a message below which latency, not bandwidth, is taken to bound the exchange."""

UNEVEN = 1.2
"""Max / mean above which edges of ranks, or of thread blocks, are called uneven."""

SHORT_ROUNDS = 1e-3
"""Seconds in rounds below which a second verdict on the rounds alone would be noise."""


class Term(NamedTuple):
    """A share of the wall time: its name, its seconds as a mean over ranks, and a phrase with further figures."""

    name: str
    seconds: float
    detail: str = ""


def verdict(report: dict) -> list[str]:
    """Return lines: ``bound by …`` with its figure, then ``try: …`` with one or two options.

    Where a phase outside the rounds bound the run, two more lines judge the rounds alone.
    """
    phases, rounds = _phases(report), _rounds(report)
    whole, solving = sum(term.seconds for term in (*phases, *rounds)), sum(term.seconds for term in rounds)
    if not whole:
        return ["bound by nothing: the report has no times"]
    largest = max(phases, key=lambda term: term.seconds)
    if solving >= largest.seconds:
        return _lines(report, "bound by", max(rounds, key=lambda term: term.seconds), solving, "in rounds")
    lines = _lines(report, "bound by", largest, whole, "wall time")
    if solving >= SHORT_ROUNDS:
        lines += _lines(
            report, "rounds alone: bound by", max(rounds, key=lambda term: term.seconds), solving, "in rounds"
        )
    return lines


def _lines(report: dict, start: str, term: Term, whole: float, of: str) -> list[str]:
    detail = f"; {term.detail}" if term.detail else ""
    figure = f"{duration(term.seconds)} of {duration(whole)} {of} ({term.seconds / whole:.0%})"
    return [f"{start} {term.name}: {figure}{detail}", f"try: {ADVICE[term.name](report)}"]


def _phases(report: dict) -> list[Term]:
    """Return the terms outside the rounds."""
    spent = means(report)
    own = ("load", *CONSTRUCTION, *PARTS, "checkpoint", "validate", "output")
    start = {name: seconds for name, seconds in spent.items() if name not in own}
    most = max(start, key=start.__getitem__)
    return [
        Term("start-up", sum(start.values()), f"{most} took {duration(start[most])}"),
        Term("load", spent["load"]),
        Term("graph construction", sum(spent[name] for name in CONSTRUCTION), _listed(spent, CONSTRUCTION)),
        Term("checkpoints", spent["checkpoint"]),
        Term("validation", spent["validate"]),
        Term("output", spent["output"]),
    ]


def _rounds(report: dict) -> list[Term]:
    """Return compute, imbalance, exchange and idle; their sum is the mean time in rounds."""
    ranks = report["ranks"]
    total, spent = mean([in_rounds(rank) for rank in ranks]), means(report)
    excess = min(_excess(ranks, spent["compute"]), total - spent["compute"])
    idle = max(spent["idle"] - excess, 0.0)
    count = max(report["rounds"]["count"], 1)
    edges = report["rounds"]["frontier_edges"]
    pace = f"{_rate(edges / spent['compute'])} edges/s" if spent["compute"] and edges else ""
    return [
        Term("compute", spent["compute"], pace),
        Term("imbalance", excess, _uneven(ranks)),
        Term("exchange", max(total - spent["compute"] - excess - idle, 0.0), _messages(ranks)),
        Term("idle", idle, f"{report['rounds']['count']:,} rounds of {duration(total / count)}"),
    ]


def _rate(value: float) -> str:
    scale, unit = next(((s, u) for s, u in ((1e9, " G"), (1e6, " M"), (1e3, " k")) if value >= s), (1.0, ""))
    return f"{value / scale:.3g}{unit}"


def _excess(ranks: list[dict], compute: float) -> float:
    """Return the seconds by which the slowest rank's compute exceeds the mean, summed over rounds."""
    most = max(rank["seconds"].get("compute", 0.0) for rank in ranks) - compute
    columns = [rank.get("rounds", {}).get("compute", []) for rank in ranks]
    means_of_rounds = [mean(list(row)) for row in zip(*columns, strict=False)]
    seen = sum(means_of_rounds)
    if not seen:
        return most
    slowest = sum(max(row) for row in zip(*columns, strict=False))
    return max(most, compute * (slowest / seen - 1))  # of a long run only some rounds are kept: scaled to all


def _uneven(ranks: list[dict]) -> str:
    compute = [rank["seconds"].get("compute", 0.0) for rank in ranks]
    most, average = max(compute), mean(compute)
    if not average:
        return ""
    slowest = ranks[compute.index(most)]["rank"]
    if most / average < UNEVEN:
        return f"another rank is the slowest in each round; over the run compute has max/mean {most / average:.2f}"
    return f"rank {slowest} computed {duration(most)}, the mean is {duration(average)} (max/mean {most / average:.2f})"


def _messages(ranks: list[dict]) -> str:
    sent = [peer for rank in ranks for peer in rank["sent"]]
    messages, volume = sum(peer["messages"] for peer in sent), sum(peer["bytes"] for peer in sent)
    return f"{messages:,} messages of {size(volume / messages)} on average" if messages else ""


def _listed(spent: dict[str, float], names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} {duration(spent[name])}" for name in names if spent[name])


def _choice(report: dict, what: str) -> str:
    """Return what was chosen, without options; empty where the report has no such choice."""
    return next((one["taken"].split(",")[0] for one in report["choices"] if one["what"] == what), "")


def _shared_cores(report: dict) -> str:
    """Return advice for hosts with more threads than cores; empty where there is none."""
    threads = _choice(report, "threads")
    if _choice(report, "backend") == "cuda" or not threads.isdigit():
        return ""
    for host in report["hosts"]:
        ranks = len(host["ranks"])
        if ranks * int(threads) > host["cores"]:
            most = max(host["cores"] // int(threads), 1)
            return (
                f"at most {most} rank{'s'[: most != 1]} on {host['host']}: {ranks} ranks of {threads} threads take "
                f"turns on its {host['cores']} cores"
            )
    return ""


def _starting(report: dict) -> str:
    name = report["algorithm"].get("name", "")
    spent = means(report)
    if spent["compile"] >= max(spent["init"], spent["other"]):
        from dgraph.algorithms import ALGORITHMS  # imported late: --help imports this module

        words = f"python -m dgraph warmup {name if name in ALGORITHMS else ''}".rstrip()
        return f"run it again, since compiled code is kept; or compile ahead: {words}"
    return "several runs in one process: --source with several sources, or dgraph.run in Python on one Graph"


def _loading(report: dict) -> str:
    name = short_name(report["graph"].get("name", "GRAPH"))
    return (
        f"convert the graph once: python -m dgraph convert {name} DIR --to store, and run on DIR; "
        "or several sources in one run (--source), which share a load"
    )


def _constructing(report: dict) -> str:
    policy = _choice(report, "policy") or "auto"
    stored = f"store the partition: python -m partitioning GRAPH -n {len(report['ranks'])} --policy {policy} -o DIR"
    return stored + ("" if policy == "oec" else "; or --policy oec, the cheapest to build")


def _computing(report: dict) -> str:
    ranks = report["ranks"]
    if _choice(report, "backend") == "cuda":
        uneven = [rank["load"]["block"]["ratio"] or 0 for rank in ranks if "load" in rank]
        if uneven and max(uneven) > UNEVEN:
            return f"--schedule alb: thread blocks are uneven (edges max/mean {max(uneven):.2f})"
        return "python -m dgraph balance GRAPH, which compares schedules; or more GPUs, one rank each"
    if shared := _shared_cores(report):
        return shared
    threads = _choice(report, "threads")
    used = len(ranks) * int(threads) if threads.isdigit() else len(ranks)
    cores = sum(host["cores"] for host in report["hosts"])
    if used < cores:
        return f"more threads (--threads) or more ranks: {used} of {cores} cores were used; or GPUs (--backend cuda)"
    return "GPUs (--backend cuda), or ranks on more hosts: every core was used"


def _balancing(report: dict) -> str:
    if shared := _shared_cores(report):
        return shared
    edges = [rank["counts"].get("edges", 0) for rank in report["ranks"]]
    ratio = max(edges) / mean(edges) if any(edges) else 1.0
    policy = _choice(report, "policy")
    others = [name for name in ("cvc", "hvc", "random") if name != policy][:2]
    why = f"edges of ranks have max/mean {ratio:.2f}" if ratio > UNEVEN else "edges are even, the frontier is not"
    return f"--policy {' or --policy '.join(others)}: {why}; or fewer ranks"


def _exchanging(report: dict) -> str:
    ranks, policy, transport = report["ranks"], _choice(report, "policy"), _choice(report, "transport")
    on_gpus = _choice(report, "backend") == "cuda"
    sent = [peer for rank in ranks for peer in rank["sent"]]
    messages = sum(peer["messages"] for peer in sent)
    average = sum(peer["bytes"] for peer in sent) / messages if messages else 0
    options = []
    if shared := _shared_cores(report):
        options.append(shared)
    if on_gpus and transport == "mpi-host":
        options.append("--transport p2p or nccl: messages go through host memory")
    if average < SMALL_MESSAGE:
        options.append("fewer ranks: messages are so small that latency dominates")
        if on_gpus:
            options.append("--rounds local: several rounds between two exchanges")
    else:
        options.append("--policy hvc" if policy == "cvc" else "--policy cvc: a rank exchanges with its row and column")
        mirrors, masters = (sum(rank["counts"].get(name, 0) for rank in ranks) for name in ("mirrors", "masters"))
        if masters:
            options[-1] += f" ({mirrors / masters:.2f} mirrors a vertex now)"
    return "; or ".join(options[:2])


def _waiting(report: dict) -> str:
    if shared := _shared_cores(report):
        return shared
    fewer = "fewer ranks, or a larger graph: a round has too little work for its allreduce"
    if _choice(report, "backend") == "cuda":
        return f"--rounds local: several rounds between two exchanges; or {fewer}"
    return fewer


ADVICE = {
    "start-up": _starting,
    "load": _loading,
    "graph construction": _constructing,
    "checkpoints": lambda report: "a longer interval: --checkpoint-every with more rounds or seconds",
    "validation": lambda report: "leave --validate out of runs that are timed: the answer is the same",
    "output": lambda report: "-o FILE.npz, which is binary and written by all ranks; or leave -o out of timed runs",
    "compute": _computing,
    "imbalance": _balancing,
    "exchange": _exchanging,
    "idle": _waiting,
}
"""Name of a term → advice for a report that it bound."""
