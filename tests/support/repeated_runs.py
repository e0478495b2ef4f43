"""Validated runs that follow each other closely, on the ranks of this job, which may share GPUs.

    mpirun -n 4 python tests/support/repeated_runs.py --backend cuda

Each run moves several arrays between GPUs through the same mailboxes.
"""

import argparse
import sys

import dgraph
from dgraph.comm import world
from dgraph.errors import ValidationFailed

ALGORITHMS = ("mst", "triangles", "mis")
TIMES = 10
POLICIES = ("cvc", "oec")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("cuda", "cpu"), default="cuda")
    asked, comm = parser.parse_args(), world()
    device = dgraph.Cuda(share=True) if asked.backend == "cuda" else "cpu"
    wrong = 0
    for policy in POLICIES:
        graph = dgraph.Graph.load("rmat:9,symmetric", weights="1..255", policy=policy, device=device, comm=comm)
        for algorithm in ALGORITHMS * TIMES:
            try:
                dgraph.run(algorithm, graph, validate=True)
            except ValidationFailed as found:
                wrong += 1
                print(f"rank {comm.rank}, {policy}, {algorithm}: {found}", flush=True)
    if comm.rank == 0:
        print(f"{len(POLICIES) * len(ALGORITHMS) * TIMES} runs on {comm.size} ranks: {wrong} wrong", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
