"""Real graphs give the known answers at every rank count under every policy.

The figures were computed by two independent implementations each (igraph, scipy, and a heap in NumPy) that agree; the
sources of the files and of the per-vertex answers are in ``data/README.md``. Files of more than 1 MB are not kept
there: ``DGRAPH_TEST_DATA`` names a folder that has them all.
"""

import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dgraph
from dgraph.comm import world
from partitioning import POLICIES

pytestmark = pytest.mark.mpi

DATA = Path(os.environ.get("DGRAPH_TEST_DATA", Path(__file__).with_name("data")))


@dataclass(frozen=True)
class Known:
    """A file, how it is read, and its answers.

    Attributes:
        n, m: after loops were dropped and parallel edges merged.
        bfs: vertices reached from ``source``, depth, sum of levels.
        core: the largest core number, and how many vertices have it.
        top: the vertex of largest PageRank, and its rank.
        sssp: the sum of distances from ``source``; None where unweighted.
        files: per-vertex answers, by algorithm.
    """

    file: str
    directed: bool | None
    n: int
    m: int
    loops: int
    components: int
    source: int
    bfs: tuple[int, int, int]
    core: tuple[int, int]
    top: tuple[int, float]
    sssp: float | None = None
    files: dict[str, str] = field(default_factory=dict)


KNOWN = [
    Known(
        "rome99.gr", None, 3353, 8859, 0, 1, 1, (3353, 47, 92781), (2, 2689), (1378, 0.0006713078417558049), 116006476,
        {"bfs": "rome99-BFS-from-1", "sssp": "rome99-SSSP-from-1"},
    ),
    Known(
        "california_road.cedge", False, 21048, 21693, 0, 1, 0, (21048, 601, 7199250), (2, 18685),
        (14300, 0.00014581443215338604), 154519.02167800005, {"sssp": "california_road-SSSP-from-0"},
    ),
    Known(
        "facebook_combined.txt", False, 4039, 88234, 0, 1, 0, (4039, 6, 11428), (115, 158),
        (3437, 0.007574566524615099),
    ),
    Known(
        "CA-GrQc.txt", False, 5242, 14484, 12, 355, 3466, (4158, 11, 21621), (43, 44), (14265, 0.0014431243212114492),
        None, {"cc": "CA-GrQc-WCC-minid", "kcore": "CA-GrQc-core"},
    ),
    Known("karate.mtx", None, 34, 78, 0, 1, 1, (34, 3, 58), (4, 10), (34, 0.10091918233262318)),
    Known("chesapeake.mtx", None, 39, 170, 0, 1, 1, (39, 2, 65), (6, 26), (39, 0.08972000021628951)),
    Known("netscience.mtx", None, 1589, 2742, 0, 396, 1, (4, 2, 4), (19, 20), (79, 0.004128986150127396), 3.5),
    Known("le450_15b.col", None, 450, 8169, 0, 1, 1, (450, 3, 881), (24, 271), (32, 0.005085685058708974)),
    Known("myciel3.col", None, 11, 20, 0, 1, 1, (11, 2, 16), (3, 11), (11, 0.12200574896199239)),
    Known("queen5_5.col", None, 25, 160, 0, 1, 1, (25, 2, 36), (12, 25), (13, 0.048436984616828445)),
    Known("miles1000.col", None, 128, 3216, 0, 1, 1, (128, 3, 221), (41, 50), (27, 0.011573952083573837)),
    Known(
        "luxembourg_osm.mtx", None, 114599, 119666, 0, 1, 1, (114599, 1034, 43781025), (2, 93000),
        (6398, 1.9356863565207264e-05),
    ),
    Known(
        "Wiki-Vote.txt", True, 7115, 103689, 0, 24, 30, (2316, 5, 6920), (53, 336), (4037, 0.004607173515797498), None,
        {"bfs": "Wiki-Vote-directed-BFS-from-30", "pagerank": "Wiki-Vote-directed-PR-converged"},
    ),
    Known(
        "Wiki-Vote.txt", False, 7115, 100762, 0, 24, 30, (7066, 5, 20028), (53, 336), (2565, 0.004337296349779143),
    ),
    Known(
        "cit-HepPh_part.txt", True, 21550, 201275, 25, 60, 9907233, (4299, 22, 41218), (29, 40),
        (9303255, 0.00437461192034769),
    ),
    Known(
        "p2p-31.e", None, 62586, 147892, 0, 12, 6, (60826, 26, 586197), (6, 1004), (585, 0.00012860230386472238),
        25821917, {"bfs": "p2p-31-BFS-directed", "sssp": "p2p-31-SSSP-directed"},
    ),
]  # fmt: skip
