"""Text of GPU recordings: edges by thread block, warp and thread (``--record load``), seconds by kernel (``time``)."""

from __future__ import annotations

from dgraph.report.text_lines import aligned, count, durations

UNITS = ("block", "warp", "thread")


def load(report: dict) -> str:
    """Return edges by block, warp and thread of the rank with the most uneven blocks; empty if none were counted."""
    counted = [rank for rank in report["ranks"] if "load" in rank]
    if not counted:
        return ""
    rank = max(counted, key=lambda rank: rank["load"]["block"]["ratio"] or 0)
    where = f", of rank {rank['rank']}, whose blocks are the most uneven" if len(counted) > 1 else ""
    below = f"\n\n{tasks(rank['queues'])}" if "queues" in rank else ""
    return f"edges visited on the GPU over all rounds{where}\n\n{spreads(rank['load'])}{below}"


def spreads(load: dict) -> str:
    """Return a table with the statistics of edges by block, warp and thread, one line each."""
    lines: list[list[str] | None] = [["edges by", "number", "min", "mean", "max", "deviation", "max/mean"], None]
    for unit in UNITS:
        one = load[unit]
        figures = [count(sum(one["histogram"])), count(one["min"]), f"{one['mean']:,.1f}"]
        lines.append([unit, *figures, count(one["max"]), f"{one['deviation']:,.1f}", ratio(one["ratio"])])
    return "\n".join(aligned(lines))


def tasks(queues: dict) -> str:
    """Return a line on the task queues of the schedule ``steal`` over all rounds, and one on those of the first."""
    lines = [f"{count(queues['tasks'])} tasks in {count(queues['queues'])} queues, {_shares(queues)}"]
    if first := queues.get("rounds"):
        lines.append(f"in the first round {count(first[0]['tasks'])} tasks, {_shares(first[0])}")
    return "\n".join(lines)


def _shares(one: dict) -> str:
    """Return tasks stolen and tasks by queue, of all rounds or of one."""
    return (
        f"{count(one['stolen'])} stolen; of a queue: most {count(one['most'])}, least {count(one['least'])}, "
        f"mean {one['mean']:,.2f}, deviation {one['deviation']:,.2f}"
    )


def children(counts: dict) -> str:
    """Return one line on the vertices that the schedule ``split`` split, from the counts of a rank."""
    share = counts["split_vertices"] / max(counts["masters"] + counts.get("mirrors", 0), 1)
    return (
        f"MDT {count(counts['mdt'])}: {count(counts['split_vertices'])} vertices ({share:.2%}) split into parents and "
        f"{count(counts['child_vertices'])} children"
    )


def kernels(report: dict) -> str:
    """Return a table of launches and time by kernel, summed over ranks; empty if they were not timed."""
    rows: dict[tuple[str, str], list[float]] = {}
    for rank in report["ranks"]:
        for row in rank.get("kernels", ()):
            sums = rows.setdefault((row["schedule"] or "-", row["kernel"]), [0, 0.0])
            sums[0] += row["launches"]
            sums[1] += row["seconds"]
    if not rows:
        return ""
    whole = sum(seconds for _, seconds in rows.values())
    lines: list[list[str] | None] = [["kernel", "schedule", "launches", "time", "share"], None]
    ordered = sorted(rows.items(), key=lambda entry: -entry[1][1])
    times = durations([seconds for _, (_, seconds) in ordered])
    for ((schedule, kernel), (launches, seconds)), time in zip(ordered, times, strict=True):
        share = f"{seconds / whole:.0%}" if whole else "-"
        lines.append([kernel, schedule, count(launches), time, share])
    return "\n".join(aligned(lines))


def ratio(value: float | None) -> str:
    """Return max / mean as text; ``-`` where the mean is 0."""
    return "-" if value is None else f"{value:.2f}"
