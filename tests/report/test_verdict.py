"""Verdicts on made-up reports: each bound is named with its figure and an option that addresses it."""

import copy

import pytest

from dgraph.report import verdict
from dgraph.report.time_split import NAMES
from dgraph.report.verdict import ADVICE

ZERO = dict.fromkeys(NAMES[:-1], 0.0)


def timed(ranks=4, cores=16, edges=(100,), sent=(0, 0), rounds=10, choices=(), series=None, **seconds):
    """Return a report with the given seconds on every rank; a tuple has a value for each rank.

    Args:
        edges: edges of each rank, repeated.
        sent: messages and bytes that each rank sent.
        choices: pairs of what and taken.
        series: compute by rank and round.
    """
    rows = []
    for rank in range(ranks):
        own = {name: value[rank] if isinstance(value, tuple) else value for name, value in seconds.items()}
        own = ZERO | own
        rows.append(
            {
                "rank": rank,
                "host": "node",
                "seconds": own | {"wall": own.pop("wall", sum(own.values()))},
                "counts": {"masters": 100, "mirrors": 50, "edges": edges[rank % len(edges)]},
                "sent": [{"peer": (rank + 1) % ranks, "messages": sent[0], "bytes": sent[1]}] if sent[0] else [],
                "rounds": {"compute": series[rank]} if series else {},
            }
        )
    taken = {"backend": "cpu", "threads": "1", "policy": "oec", "transport": "mpi-host"} | dict(choices)
    return {
        "algorithm": {"name": "bfs"},
        "graph": {"name": "rmat:20,edge_factor=16,seed=1"},
        "choices": [{"what": what, "taken": value, "reason": ""} for what, value in taken.items()],
        "hosts": [{"host": "node", "cores": cores, "ranks": list(range(ranks)), "peak_memory_bytes": 1}],
        "ranks": rows,
        "rounds": {"count": rounds, "frontier_edges": 1000},
    }


CUDA = (("backend", "cuda"), ("transport", "p2p"))

CASES = {
    "compile": (timed(compile=8.0, compute=2.0), "start-up", "8.00 s of 10.0 s", "compile took 8.00 s", "warmup bfs"),
    "start": (timed(compute=0.5, wall=2.0), "start-up", "1.50 s of 2.00 s", "other took 1.50 s", "--source"),
    "load": (timed(load=9.0, compute=1.0), "load", "9.00 s of 10.0 s wall time (90%)", "", "convert rmat:20 DIR"),
    "partition": (
        timed(partition=3.0, build=2.0, compute=1.0, choices=[("policy", "metis,imbalance=1.1")]),
        "graph construction", "(83%)", "partition 3.00 s, build 2.00 s", "-n 4 --policy metis -o DIR; or --policy oec",
    ),
    "checkpoint": (timed(checkpoint=3.0, compute=1.0), "checkpoints", "(75%)", "", "--checkpoint-every"),
    "validate": (timed(validate=3.0, compute=1.0), "validation", "3.00 s of 4.00 s", "", "--validate"),
    "output": (timed(output=3.0, compute=1.0), "output", "(75%)", "", ".npz"),
    "compute": (timed(compute=3.0, idle=0.1), "compute", "3.00 s of 3.10 s in rounds", "333 edges/s", "4 of 16 cores"),
    "compute, all cores": (timed(cores=4, compute=3.0), "compute", "(100%)", "", "--backend cuda"),
    "compute on GPUs": (timed(compute=3.0, choices=CUDA), "compute", "(100%)", "", "python -m dgraph balance"),
    "imbalance": (
        timed(compute=(5.0, 1.0, 1.0, 1.0), idle=(0.0, 4.0, 4.0, 4.0), edges=(500, 100, 100, 100)),
        "imbalance", "3.00 s of 5.00 s in rounds (60%)", "rank 0 computed 5.00 s, the mean is 2.00 s (max/mean 2.50)",
        "--policy cvc or --policy hvc: edges of ranks have max/mean 2.50",
    ),
    "imbalance, even edges": (
        timed(compute=(5.0, 1.0, 1.0, 1.0), exchange=(0.0, 4.0, 4.0, 4.0), choices=[("policy", "cvc")]),
        "imbalance", "(60%)", "max/mean 2.50", "--policy hvc or --policy random: edges are even",
    ),
    "imbalance from round to round": (
        timed(compute=1.0, idle=4.0, series=[[float(row == column) for column in range(4)] for row in range(4)]),
        "imbalance", "3.00 s of 5.00 s", "another rank is the slowest in each round", "--policy",
    ),
    "exchange of small messages": (
        timed(compute=1.0, exchange=4.0, sent=(1000, 64_000)),
        "exchange", "4.00 s of 5.00 s in rounds (80%)", "4,000 messages of 64 B", "fewer ranks",
    ),
    "exchange of large messages": (
        timed(compute=1.0, pack=2.0, exchange=1.0, unpack=1.0, sent=(10, 1 << 30)),
        "exchange", "4.00 s of 5.00 s", "102 MiB on average", "--policy cvc",
    ),
    "exchange under cvc": (
        timed(compute=1.0, exchange=4.0, sent=(10, 1 << 30), choices=[("policy", "cvc")]),
        "exchange", "(80%)", "", "--policy hvc (0.50 mirrors a vertex now)",
    ),
    "exchange through the host": (
        timed(compute=1.0, exchange=4.0, sent=(10, 1 << 30), choices=[("backend", "cuda")]),
        "exchange", "(80%)", "", "--transport p2p or nccl",
    ),
    "exchange of GPUs": (
        timed(compute=1.0, exchange=4.0, sent=(1000, 64_000), choices=CUDA),
        "exchange", "(80%)", "", "--rounds local",
    ),
    "idle": (timed(compute=1.0, idle=4.0), "idle", "4.00 s of 5.00 s in rounds", "10 rounds of 500 ms", "fewer ranks"),
    "idle GPUs": (timed(compute=1.0, idle=4.0, choices=CUDA), "idle", "(80%)", "", "--rounds local"),
    "shared cores": (timed(compute=1.0, idle=4.0, cores=2), "idle", "(80%)", "", "at most 2 ranks on node"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_bound_has_its_figure_and_an_option(case):
    report, name, figure, detail, option = CASES[case]
    before = copy.deepcopy(report)
    bound, advice, *_ = verdict(report)
    assert bound.startswith(f"bound by {name}: ")
    assert figure in bound
    assert detail in bound
    assert advice.startswith("try: ")
    assert option in advice
    assert report == before


def test_every_bound_has_a_case():
    assert {name for _, name, *_ in CASES.values()} == set(ADVICE)


def test_rounds_are_judged_alone_where_something_else_bound_the_run():
    lines = verdict(timed(load=9.0, compute=0.1, idle=0.3))
    assert [line.split(":")[0] for line in lines] == ["bound by load", "try", "rounds alone", "try"]
    assert "bound by idle: 300 ms of 400 ms in rounds (75%)" in lines[2]
    assert len(verdict(timed(load=9.0, compute=1e-4))) == 2, "rounds too short to judge"
    assert len(verdict(timed(load=1.0, compute=9.0))) == 2, "the rounds bound the run"


def test_one_rank_is_never_idle_or_uneven():
    assert verdict(timed(ranks=1, cores=8, compute=1.0))[0].startswith("bound by compute")
    assert "1 of 8 cores" in verdict(timed(ranks=1, cores=8, compute=1.0))[1]


def test_uneven_thread_blocks_ask_for_another_schedule():
    report = timed(compute=1.0, choices=CUDA)
    report["ranks"][2]["load"] = {"block": {"ratio": 3.5}}
    assert "--schedule alb: thread blocks are uneven (edges max/mean 3.50)" in verdict(report)[1]
    report["ranks"][2]["load"] = {"block": {"ratio": 1.1}}
    assert "balance" in verdict(report)[1]


def test_a_run_without_rounds_or_times_has_a_verdict():
    assert verdict(timed(load=1.0, rounds=0))[0].startswith("bound by load")
    assert verdict(timed(rounds=0)) == ["bound by nothing: the report has no times"]


def test_a_program_of_the_user_has_no_warmup():
    report = timed(compile=8.0) | {"algorithm": {"name": "mine"}}
    assert verdict(report)[1].endswith("python -m dgraph warmup")
