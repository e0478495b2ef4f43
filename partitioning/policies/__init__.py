"""The policies, one method a file; importing a file registers its policies, and this package imports every file."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
