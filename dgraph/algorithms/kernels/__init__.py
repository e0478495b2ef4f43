"""Hand-written kernels of algorithms, for Numba and CUDA, a folder each; its ``__init__.py`` has its register row."""

from importlib import import_module
from pkgutil import iter_modules

from dgraph.backend.kernel_register import enter

for _module in iter_modules(__path__):
    if _module.ispkg:
        enter(import_module(f"{__name__}.{_module.name}"))
