"""``python -m dgraph.cli.checked_words WORDS``: refuse a command line as its run would, without ranks or a graph.

``python -m launch`` starts it before it writes a script, whose job would fail hours later. Files that the words name
may be on another machine: one that cannot be read is not a fault.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence

from dgraph.algorithms import ALGORITHMS
from dgraph.cli.parser import RunRequest, parse
from dgraph.cli.user_algorithm import NotImported
from dgraph.errors import DgraphError, OutputError


def refuse(words: Sequence[str]) -> None:
    """Raise the error with which a command line of dgraph ends before it reads a graph.

    Raises:
        UsageError: an unknown name or option, a wrong value, or a combination that no run has.
        NotImported: the class of the user is not on this machine.
        DataError: a file of ``--source @FILE`` that is on this machine does not list vertices.
    """
    if words[0] == "serve":
        from dgraph.cli.serve import serve_parser

        serve_parser().parsed(words[1:])
        return
    with contextlib.suppress(OutputError):
        parsed = parse(words, ALGORITHMS)
        if isinstance(parsed, RunRequest):
            from dgraph.cli.solve import refuse_words

            refuse_words(parsed)


def main(words: Sequence[str]) -> int:
    """Print the error of a command line on stdout, and return its exit code; 0 if it has none.

    A class that is not on this machine is an error on stderr, with code 1.
    """
    try:
        refuse(words)
    except NotImported as missing:
        print(missing, file=sys.stderr)
        return 1
    except DgraphError as error:
        print(error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
