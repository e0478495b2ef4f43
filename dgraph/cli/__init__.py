"""The command line: argv → request → load once → a run, a file and a report for each source.

Every rank reads the same words and takes the same steps; rank 0 speaks.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line ``argv`` (``sys.argv[1:]``) on every rank; the exit code, equal on all."""
    import sys

    from dgraph.cli.exit_codes import end_together

    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["doctor"]:
        from dgraph.cli.doctor import without_ranks

        if (code := without_ranks(words[1:])) is not None:
            return code
    return end_together(lambda comm: _command(words, comm), traceback="--traceback" in words)


def _command(words: list[str], comm) -> int:
    from dgraph.algorithms import ALGORITHMS
    from dgraph.cli.commands import Task
    from dgraph.cli.parser import Request, parse

    with comm.together():
        asked = parse(words, ALGORITHMS)
    if isinstance(asked, Request):
        from dgraph.cli.solve import solve

        return solve(asked, comm)
    if isinstance(asked, Task):
        return asked.do(comm)
    if comm.rank == 0:
        print(asked)
    return 0
