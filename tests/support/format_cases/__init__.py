"""Cases of file formats: a module for each format that is tested here and not in tables of the tests.

``FILES``: name of a file → its text, edges 1→2 of weight 5, 2→3 of weight 7 and 3→1 of weight 1, or those without
weights; ``UNDIRECTED``: those of the names whose edges have no direction; ``IDS``: suffix → ids of all vertices, where
the format counts them.
``VALID``: name → function of n, edges (u, v, weight) with ids from 0 to n - 1, a function that spells a weight, and a
generator of random numbers, that returns a valid text; ``PLAIN``: name → a reader as in ``plain_readers.py``:
``f(content, passed)`` returns direction, vertices or None, and edges; it appends lines that it skips to a list
``passed``, and refuses if these are the most.
"""

from importlib import import_module
from pkgutil import iter_modules

MODULES = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]


def rows(table):
    """Return the rows of a table of all modules."""
    return {name: row for module in MODULES for name, row in getattr(module, table, {}).items()}


def undirected():
    """Return the names of all modules' files whose edges have no direction."""
    return {name for module in MODULES for name in getattr(module, "UNDIRECTED", ())}
