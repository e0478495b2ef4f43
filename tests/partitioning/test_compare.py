"""``python -m partitioning``: the figures of policies, the recommendation, and its predicted bytes."""

import json

import numpy as np
import pytest
from flat_run import flat_run

import dgraph
from dgraph.comm import SerialComm, world
from partitioning import POLICIES, plan
from partitioning.__main__ import main
from partitioning.compare import recommended, table


def row(policy, sent, seconds=1.0, edges=1.0, vertices=1.0):
    told = {"cut": 0.5, "replication_factor": 2.0, "mirrors": 10, "edge_balance": edges, "vertex_balance": vertices}
    sends = dict.fromkeys(("bfs", "sssp", "cc", "pagerank", "kcore"), sent)
    return {"policy": policy, "seconds": seconds, "round_bytes": sends, **told}


@pytest.mark.parametrize(
    ("rows", "taken", "said"),
    [
        ([row("a", 100), row("b", 50, 9.0)], "b", "it sends least"),
        ([row("a", 100, 9.0), row("b", 102), row("c", 200, 0.1)], "b", "computed fastest"),
        ([row("a", 100), row("b", 50, edges=1.3), row("c", 50, vertices=3.0)], "a", "at most 1.2 × the mean"),
        ([row("a", 100, edges=4.0), row("b", 50, edges=8.0)], "a", "holds about 4.00 × the mean"),
        ([{"policy": "a", "refused": "too large"}, row("b", 1)], "b", "0.00 KiB"),
        ([{"policy": "a", "refused": "too large"}], "", "every policy was refused"),
    ],
)
def test_what_is_recommended(rows, taken, said):
    best, why = recommended(rows)
    assert best == taken
    assert said in why


def test_the_table_has_a_line_a_policy_and_the_refusals():
    lines = table([row("a", 3 << 20), {"policy": "b", "refused": "too large"}, row("cvc,x=1", 1 << 20)]).splitlines()
    assert "MiB a round" in lines[0]
    assert " ".join(lines[1].split()) == ("policy cut % repl. v-bal. e-bal. mirrors bfs sssp cc pagerank kcore seconds")
    assert " ".join(lines[3].split()) == "a 50.00 2.00 1.00 1.00 10 3.00 3.00 3.00 3.00 3.00 1.00"
    assert len({len(line) for line in lines[1:5]}) == 1
    assert lines[5] == "b: refused: too large"


@pytest.mark.mpi
def test_figures_do_not_depend_on_ranks(capsys):
    assert main(["rmat:9,symmetric", "-n", "7", "--policy", "hash", "--json", "-q"]) == 0
    out = capsys.readouterr().out
    if world().rank:
        assert out == ""
        return
    told = json.loads(out)
    whole = dgraph.Graph.load("rmat:9,symmetric", comm=SerialComm())
    assert (told["parts"], told["ranks"], told["graph"]["fingerprint"]) == (7, world().size, whole.fingerprint())
    owner = plan("hash", whole.block, 7, whole.comm).owner
    copies = np.unique(np.column_stack([owner(whole.block.sources()), whole.block.targets]), axis=0)
    mirrors = np.count_nonzero(owner(copies[:, 1]) != copies[:, 0])
    (row,) = told["policies"]
    assert (row["kind"], row["mirrors"], row["mirrors_left"]) == ("outgoing", mirrors, 0)
    assert row["replication_factor"] == pytest.approx((512 + mirrors) / 512)


@pytest.mark.mpi
def test_every_policy_is_compared(capsys):
    assert main(["road:30x30", "-n", "5", "--compare", "-q", "--policy", "ldg,order=bfs"]) == 0
    if world().rank == 0:
        out = capsys.readouterr().out
        wanted = {"ldg,order=bfs", *POLICIES} - {"auto"}
        assert wanted <= {line.split()[0] for line in out.splitlines() if line}
        assert out.splitlines()[-2].startswith("take ")
        assert f" on {world().size} rank" in out.splitlines()[-1]


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["rmat:5", "-n", "0"], 2, "got -n 0"),
        (["rmat:5", "-n", "3", "--policy", "oe"], 2, "did you mean 'oec'"),
        (["rmat:5", "--compere"], 2, "unknown option --compere"),
        (["rmat:5", "-n", "3", "--policy", "ldg,slack=0"], 2, "cannot hold all"),
        ([], 2, "the following arguments are required: GRAPH"),
        (["--help"], 0, ""),
    ],
)
def test_the_command_ends_on_all_ranks_alike(words, code, said, capsys):
    assert main(words) == code
    if world().rank == 0:
        assert said in capsys.readouterr().err


@pytest.mark.mpi
@pytest.mark.parametrize("policy", ["oec", "iec", "cvc", "hvc,threshold=20", "hash"])
def test_a_round_sends_what_was_predicted(policy, capsys):
    """All of PageRank's labels change in every round; a message adds at most 24 bytes and padding."""
    comm = world()
    assert main(["rmat:10", "--policy", policy, "--json", "-q"]) == 0
    rounds = 7
    run = flat_run("pagerank", "rmat:10", policy=policy, direction="push", tol=0, max_iter=rounds, comm=comm)
    ranks = run.report["ranks"]
    sent, messages = (sum(peer[what] for rank in ranks for peer in rank["sent"]) for what in ("bytes", "messages"))
    if comm.rank == 0:
        predicted = json.loads(capsys.readouterr().out)["policies"][0]["round_bytes"]["pagerank"]
        assert sent <= rounds * predicted + 24 * messages
        assert sent >= 0.8 * rounds * predicted
