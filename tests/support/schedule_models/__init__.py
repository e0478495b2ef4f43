"""Models of the schedules: edges per thread, in plain NumPy, without the schedules' source.

A module's ``MODELS`` has a function for each schedule, by its name. A model gets the degrees of the frontier's vertices
in list order, and the grid: ``blocks`` blocks of ``threads`` threads, 64 in the emulator and 256 on a GPU. It returns
edges by thread, block after block: int64 (blocks · threads,).
"""

from importlib import import_module
from pkgutil import iter_modules

MODELS = {
    name: model
    for module in iter_modules(__path__)
    for name, model in import_module(f"{__name__}.{module.name}").MODELS.items()
}
