"""Algorithms, one file each, and their register :data:`ALGORITHMS`.

An algorithm registers itself when its module is imported; every module of this folder is imported at the end of this
file. Packages of kernels list their rows as ``KERNELS``.
"""

from importlib import import_module
from pkgutil import iter_modules

from dgraph.algorithms.base import ALGORITHMS, Algorithm, Answer, Parameter, ProgramAlgorithm, ResultColumn, algorithm
from dgraph.backend.kernel_register import enter

__all__ = ["ALGORITHMS", "Algorithm", "Answer", "Parameter", "ProgramAlgorithm", "ResultColumn", "algorithm"]

for _module in iter_modules(__path__):
    enter(import_module(f"{__name__}.{_module.name}"))
