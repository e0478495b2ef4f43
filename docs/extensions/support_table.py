"""Table of what each function supports: devices, ranks, weights, directions, certificate, NetworkX's functions.

Every cell comes from a register: algorithms, solvers of rows, certificates, functions of the NetworkX backend.
Entry: :func:`support`; ``tests/packaging/test_support_table.py`` compares the cells with runs.
"""

import re

from dgraph.algorithms import ALGORITHMS
from dgraph.networkx_backend.backend_info import ENGINE, NOT_ANSWERED
from dgraph.tools.estimate.machines import needs
from dgraph.tools.estimate.shape import Shape
from dgraph.validate import CERTIFICATES

SUPPORT_COLUMNS = ("CPU", "GPU", "several ranks", "weights", "directed", "certificate", "in NetworkX")

SMALL = Shape(3, 2, directed=True, weight=8)
"""Graph on which an algorithm says which solvers it takes."""

SWITCHES = {"count": ("arcs", "edges"), "weighted": (True,)}
"""Parameters that choose another solver, with their values."""


def support(name):
    """Return the cells of an algorithm: column → Markdown."""
    algorithm = ALGORITHMS[name]
    cells = (_cpu(algorithm), _gpu(algorithm), _ranks(algorithm), _weights(algorithm), _directed(algorithm))
    certificate = "yes" if name in CERTIFICATES else "no"
    return dict(zip(SUPPORT_COLUMNS, (*cells, certificate, _networkx(name)), strict=True))


def variants_on_cpu(algorithm):
    """Return all variants of an algorithm, and those that CPU ranks run."""
    every = algorithm.parameters["variant"].choices if "variant" in algorithm.parameters else ()
    traversals = {variant: algorithm(variant=variant).traversal for variant in every}
    return every, tuple(name for name, strategy in traversals.items() if strategy is None or strategy.on_cpu)


def solver(name, **parameters):
    """Return the register row of the solver that a run of an algorithm ends with; None: programs do."""
    some = {"source": 0} if ALGORITHMS[name].needs_source else {}
    some |= {"sources": [0]} if "sources" in ALGORITHMS[name].parameters else {}
    return next(reversed(needs(name, SMALL, some | parameters, "auto").rows), None)


def on_host_threads(name, **parameters):
    """Return True if a rank with a GPU runs the algorithm on its CPU threads: its solver has no GPU class."""
    row = solver(name, **parameters)
    return row is not None and row.beside_gpu and not row.gpu


def switched(algorithm):
    """Return the parameters of an algorithm that choose another solver, a dict each."""
    return [
        {parameter: value}
        for parameter, values in SWITCHES.items()
        for value in values
        if parameter in algorithm.parameters
    ]


def networkx_functions(name):
    """Return NetworkX's functions that run an algorithm in the backend, the one of its own name or alias first."""
    names = {name, *ALGORITHMS[name].aliases}
    functions = [function for function, text in ENGINE.items() if name in re.findall(r"\w+", text)]
    return sorted(functions, key=lambda function: function not in names)


def answered_functions():
    """Return a row for NetworkX's functions that run the same, and one for each that NetworkX computes."""
    together = {}
    for function, text in ENGINE.items():
        together.setdefault(text, []).append(f"`{function}`")
    rows = [[", ".join(functions), text] for text, functions in together.items()]
    return rows + [[f"`{function}`", f"not answered: {reason}"] for function, reason in NOT_ANSWERED.items()]


def _cpu(algorithm):
    every, able = variants_on_cpu(algorithm)
    return "yes" if able == every else f"yes, {len(able)} of {len(every)} variants"


def _gpu(algorithm):
    """Return the cell of a run on a graph without directions, with the parameters that move it to CPU threads."""
    plain = {"count": "edges"} if "count" in algorithm.parameters else {}
    if on_host_threads(algorithm.name, **plain):
        return "CPU threads"
    moving = [row for row in switched(algorithm) if on_host_threads(algorithm.name, **row)]
    words = [f"`{key}`" if value is True else f"`{key}={value}`" for row in moving for key, value in row.items()]
    row = solver(algorithm.name, **plain)
    whole = ", the whole graph on each" if row is not None and row.gpu and row.cpu and not row.gpus else ""
    return f"yes{whole}; {' and '.join(words)}: CPU threads" if words else f"yes{whole}"


def _ranks(algorithm):
    return "yes, as `oec`" if algorithm().needs_rows == "own" else "yes"


def _weights(algorithm):
    if "weighted" in algorithm.parameters:
        return "with `weighted`"
    return "yes" if algorithm.weighted else "no"


def _directed(algorithm):
    if not algorithm.undirected:
        return "yes"
    return "with `count=arcs`" if "count" in algorithm.parameters else "symmetrised"


def _networkx(name):
    first, *others = networkx_functions(name) or [""]
    return (f"`{first}`" if first else "") + (f" and {len(others)} more" if others else "")
