"""Algorithms, one file each. The register is filled by the import of its members, last."""

from dgraph.algorithms.base import ALGORITHMS, Algorithm, Answer, Parameter, ProgramAlgorithm, algorithm

__all__ = ["ALGORITHMS", "Algorithm", "Answer", "Parameter", "ProgramAlgorithm", "algorithm"]

from dgraph.algorithms import bfs, cc, color, kcore, kernels, pagerank, sssp  # noqa: F401
