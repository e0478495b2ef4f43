"""What was recorded of GPUs, as plain text: edges by thread block, warp and thread; seconds by kernel."""

from __future__ import annotations

from dgraph.report.text_lines import aligned, count

UNITS = ("block", "warp", "thread")


def load(report: dict) -> str:
    """Edges by block, warp and thread of the rank whose blocks are least even; nothing where none was counted."""
    counted = [rank for rank in report["ranks"] if "load" in rank]
    if not counted:
        return ""
    rank = max(counted, key=lambda rank: rank["load"]["block"]["ratio"] or 0)
    where = f", of rank {rank['rank']}, the least even" if len(counted) > 1 else ""
    below = f"\n\n{tasks(rank['queues'])}" if "queues" in rank else ""
    return f"edges visited on the GPU over all rounds{where}\n\n{spreads(rank['load'])}{below}"


def spreads(load: dict) -> str:
    """How even edges lie: a line for blocks, warps and threads."""
    lines: list[list[str] | None] = [["edges by", "number", "fewest", "mean", "most", "deviation", "most/mean"], None]
    for unit in UNITS:
        one = load[unit]
        figures = [count(sum(one["histogram"])), count(one["min"]), f"{one['mean']:,.1f}"]
        lines.append([unit, *figures, count(one["max"]), f"{one['deviation']:,.1f}", ratio(one["ratio"])])
    return "\n".join(aligned(lines))


def tasks(queues: dict) -> str:
    """What the queues of ``steal`` came to, in a line.   [003 Table I]"""
    return (
        f"{count(queues['tasks'])} tasks in {count(queues['queues'])} queues, {count(queues['stolen'])} stolen; of a "
        f"queue: most {count(queues['most'])}, least {count(queues['least'])}, mean {queues['mean']:,.2f}, "
        f"deviation {queues['deviation']:,.2f}"
    )


def kernels(report: dict) -> str:
    """Seconds by kernel, of all ranks together; nothing where they were not measured."""
    rows: dict[tuple[str, str], list[float]] = {}
    for rank in report["ranks"]:
        for row in rank.get("kernels", ()):
            sums = rows.setdefault((row["schedule"] or "-", row["kernel"]), [0, 0.0])
            sums[0] += row["launches"]
            sums[1] += row["seconds"]
    if not rows:
        return ""
    whole = sum(seconds for _, seconds in rows.values())
    lines: list[list[str] | None] = [["kernel", "schedule", "launches", "seconds", "share"], None]
    for (schedule, kernel), (launches, seconds) in sorted(rows.items(), key=lambda item: -item[1][1]):
        share = f"{seconds / whole:.0%}" if whole else "-"
        lines.append([kernel, schedule, count(launches), f"{seconds:.5f}", share])
    return "\n".join(aligned(lines))


def ratio(value: float | None) -> str:
    """Largest ÷ mean; a stroke where there was nothing."""
    return "-" if value is None else f"{value:.2f}"
