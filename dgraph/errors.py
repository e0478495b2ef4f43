"""Exceptions of dgraph. A message says what was given, why it cannot be used, and what to do.

Every class carries the exit code of the command line. :meth:`dgraph.comm.Comm.together` raises an error of one rank on
all ranks; the command line prints it once. A message names options by :func:`option`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class DgraphError(Exception):
    """Root of every error that dgraph raises on purpose.

    Attributes:
        exit_code: status of the command line.
        on_all_ranks: every rank of the run raised it.
    """

    exit_code = 70
    on_all_ranks = False


class UsageError(DgraphError):
    """The request is invalid: an unknown name, a missing source, options that contradict each other."""

    exit_code = 2


class OutOfMemory(UsageError):
    """The request needs more memory than there is; the message has both figures."""


class DataError(DgraphError):
    """The input is malformed: a bad line, a wrong count, a weight that the algorithm cannot use."""

    exit_code = 65


class NegativeCycle(DataError):
    """Shortest paths do not exist: the source reaches a cycle of negative weight. The message names its vertices."""


class OutputError(DgraphError):
    """The system failed to read or write: a full disk, a missing permission."""

    exit_code = 74


class InternalError(DgraphError):
    """A bug in dgraph; please report it with the command line and the message."""

    exit_code = 70


class PeerLost(InternalError):
    """Another rank does not respond: it has ended, hangs, or gave up itself and reported why."""


class ValidationFailed(DgraphError):
    """The result was checked and is wrong. The message names the rule and the first vertex or arc that breaks it."""

    exit_code = 1


class Checkpointed(DgraphError):
    """The run was asked to stop, and wrote a complete checkpoint from which it can resume."""

    exit_code = 75


class Cancelled(DgraphError):
    """The run was asked to end before its answer was complete (``Progress.cancelled``); no answer is kept."""

    exit_code = 130


class NotConverged(DgraphError):
    """A tolerance or round limit was not met. The result holds the values reached by then."""

    exit_code = 3


class ConvergenceWarning(UserWarning):
    """A tolerance or round limit was not met; ``Result.limit`` says which."""


SHOWN = 80
"""Characters of a value in a message."""

FORMER_COLUMNS = {"label": "labels"}
"""Former names of columns → their names."""

OTHER_PARAMETERS = {
    **dict.fromkeys(("d", "damping", "damping_factor"), "alpha"),
    **dict.fromkeys(("eps", "epsilon", "tolerance"), "tol"),
    **dict.fromkeys(("iterations", "max_iterations", "max_iters", "niter"), "max_iter"),
    **dict.fromkeys(
        ("root", "source_col", "source_node", "src", "start", "start_list", "start_vertex", "start_vertices"), "source"
    ),
    **dict.fromkeys(("dest", "destination", "dst", "end", "target_col", "target_node", "to"), "target"),
    **dict.fromkeys(("random_seed", "rng", "seed"), "random_state"),
    **dict.fromkeys(("gamma", "resolution_parameter"), "resolution"),
    **dict.fromkeys(("edge_attr", "weight_col", "weights"), "weight"),
    **dict.fromkeys(("reset", "reset_vertices"), "personalization"),
    "source": "first",
    "device": "backend",
}
"""Parameters of NetworkX, igraph, cuGraph and pandas → their names here, in calls that have them (or sources)."""

_BY_MODULARITY = "communities of high modularity are those of leiden and louvain"
_BY_LEVELS = "a hierarchy of communities is that of leiden or louvain with levels"
_BY_OTHERS = "communities are those of leiden and louvain (modularity or constant Potts model) and cdlp (labels)"

OTHER_METHODS = {
    **dict.fromkeys(
        ("fast_greedy", "fastgreedy", "greedy_modularity_communities", "leading_eigenvector", "multilevel",
         "naive_greedy_modularity_communities", "spinglass", "ecg"),
        _BY_MODULARITY,
    ),
    **dict.fromkeys(("agglomerative", "dendrogram", "hierarchical_leiden", "walktrap"), _BY_LEVELS),
    **dict.fromkeys(
        ("girvan_newman", "edge_betweenness_community"),
        f"edge_bc gives the betweenness of edges, by which it removes them; {_BY_LEVELS}",
    ),
    **dict.fromkeys(
        ("asyn_lpa_communities", "fast_label_propagation_communities", "label_propagation_communities", "lpa"),
        "labels are propagated by cdlp, with weights if weighted is true",
    ),
    **dict.fromkeys(
        ("asyn_fluidc", "community", "infomap", "kmeans", "markov_clustering", "mcl", "spectral",
         "spectral_clustering", "spectral_modularity_maximization", "stochastic_block_model", "sbm"),
        _BY_OTHERS,
    ),
    "help": "python -m dgraph --help lists the commands, python -m dgraph NAME --help the options of one",
    "partition": "a graph is partitioned by python -m partitioning GRAPH -n PARTS",
}  # fmt: skip
"""Name of a method for communities, or of a command, that is not here → what there is."""


def shown(value: object) -> str:
    """Return a value as a message shows it: one line of at most ``SHOWN`` characters."""
    if type(value).__module__ == "numpy" and not getattr(value, "shape", True):
        value = value.item()  # type: ignore[attr-defined]
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def other_method(name: object) -> str | None:
    """Return what there is in place of a method for communities; None for other names."""
    return OTHER_METHODS.get(name.lower().replace("-", "_").replace(" ", "_")) if isinstance(name, str) else None


def unknown(kind: str, name: object, names) -> UsageError:
    """Make the error for an unregistered name; it suggests the closest known name and lists all of them.

    A former name of a column, or a parameter's name elsewhere, is answered with the one here alone, and a method for
    communities with those that exist.

    Args:
        kind: noun for the message, such as "policy".
        name: value that was passed, of any type.
        names: names that exist.
    """
    import difflib

    names = sorted(names)
    if kind.startswith("algorithm") and (other := other_method(name)):
        return UsageError(f"unknown {kind} {name!r}: {other}")
    others = FORMER_COLUMNS if "column" in kind else OTHER_PARAMETERS
    former = others.get(name) if isinstance(name, str) else None
    former = "sources" if former == "source" and "sources" in names else former
    if former in names:
        return UsageError(f"unknown {kind} {name!r}: it is called {former!r}")
    close = difflib.get_close_matches(name, names, 1) if isinstance(name, str) and len(name) <= SHOWN else []
    hint = f"did you mean {close[0]!r}? " if close else ""
    return UsageError(f"unknown {kind} {shown(name)}: {hint}known are {', '.join(names) or 'none'}")


KEYWORDS = {"backend": "device", "gpu_memory": "memory", "allow_gpu_sharing": "share"}
"""Options of the command line → keyword of Python, where they differ."""
_command_line = False


@contextmanager
def command_line() -> Iterator[None]:
    """Make :func:`option` write options of the command line inside the block."""
    global _command_line
    before, _command_line = _command_line, True
    try:
        yield
    finally:
        _command_line = before


def option(name: str, value: object = None) -> str:
    """Return an option as the caller writes it: ``--name value`` on the command line, in Python ``name=value``.

    Args:
        name: of the option, with underscores.
        value: what to write behind it; True and False are a flag's; None: nothing.
    """
    if not _command_line:
        return f"{KEYWORDS.get(name, name)}={'' if value is None else repr(value)}"
    flag = f"--{'no-' if value is False else ''}{name.replace('_', '-')}"
    return flag if value is None or isinstance(value, bool) else f"{flag} {value}"
