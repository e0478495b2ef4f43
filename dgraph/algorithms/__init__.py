"""Algorithms, one file each, and their register :data:`ALGORITHMS`.

An algorithm registers itself when its module is imported, which happens at the end of this file.
"""

from dgraph.algorithms.base import ALGORITHMS, Algorithm, Answer, Parameter, ProgramAlgorithm, algorithm

__all__ = ["ALGORITHMS", "Algorithm", "Answer", "Parameter", "ProgramAlgorithm", "algorithm"]

from dgraph.algorithms import bfs, cc, color, kcore, kernels, pagerank, sssp  # noqa: F401
