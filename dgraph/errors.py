"""What goes wrong, said so that the reader can act: what was got, why it cannot be, what to do.

Every class carries the exit code of the command line. An error found on one rank is raised on all of them by
:meth:`dgraph.comm.Comm.together`; the command line prints it once.
"""


class DgraphError(Exception):
    """Root of every error that dgraph raises on purpose."""

    exit_code = 70


class UsageError(DgraphError):
    """The request cannot be carried out as it stands: unknown name, missing source, options that contradict."""

    exit_code = 2


class DataError(DgraphError):
    """The input is not what it says it is: a bad line, a wrong count, a weight that the algorithm cannot take."""

    exit_code = 65


class OutputError(DgraphError):
    """Reading or writing failed at the system's end: a full disk, a missing permission."""

    exit_code = 74


class InternalError(DgraphError):
    """A fault of dgraph itself; please report it with the command line and the text."""

    exit_code = 70


class PeerLost(InternalError):
    """Another rank does not answer: it has ended, hangs, or gave up itself and says why."""


class ValidationFailed(DgraphError):
    """The answer was checked and is wrong. The text names the rule, and the first vertex or arc that breaks it."""

    exit_code = 1


class Checkpointed(DgraphError):
    """The run was asked to stop, and a complete checkpoint lies where it can go on from."""

    exit_code = 75


class NotConverged(DgraphError):
    """A tolerance or round limit was not met. The result is complete as far as it went."""

    exit_code = 3


def unknown(kind: str, name: str, known) -> UsageError:
    """The error for a name that no register holds; lists the known ones, the likeliest first."""
    import difflib

    known = sorted(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return UsageError(f"unknown {kind} {name!r}: {hint}known are {', '.join(known)}")
