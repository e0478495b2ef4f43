"""Facts of each algorithm that tests need: a module for each, of the algorithm's name.

``TINY``: parameters, and the columns of the answer on the six vertices of ``test_tiny.py``.
``STOPPED``: label → spec of a graph and parameters, for runs that are stopped and go on.
``VALID``: parameters of runs that the certificate accepts; a ``source`` is added where one is needed.
``WRONG``: parameters, changes of columns (column → {vertex: value}), the rule that they break, words of the message;
on ``one_way`` or, for undirected algorithms, ``both_ways`` of ``test_validate.py``, whose docstrings draw them.
``KEPT``: parameters, and a function of a graph of ``kept_edges.py`` that returns column → {vertex: value}: the answers
where loops and parallel edges are kept. Algorithms with several right answers are in ``FREE`` there.
``NUDGED``: parameters, column and step: changes that certificates on the GPU and on the CPU judge alike; only for
certificates under ``@certifies(name, proved=True)``, since ranks check the others.
"""

from importlib import import_module
from pkgutil import iter_modules

KNOWN = {module.name: import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)}
"""Algorithm → its module."""


def rows(what):
    """Return the rows of all algorithms, each with the algorithm's name before it."""
    return [(name, *row) for name, module in KNOWN.items() for row in getattr(module, what, ())]
