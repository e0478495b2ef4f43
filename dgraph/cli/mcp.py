"""``python -m dgraph mcp``: the tools of a service for an agent, by the Model Context Protocol on stdin and stdout."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from dgraph.cli.arguments import HelpRequested
from dgraph.cli.commands import command_parser
from dgraph.errors import DgraphError, UsageError

EPILOG = """\
examples:
  python -m dgraph mcp --connect unix:$HOME/.local/state/dgraph/service.sock
  DGRAPH_TOKEN=… python -m dgraph mcp --connect http://127.0.0.1:8484

an agent's configuration names this command; the tools are list_graphs, describe, estimate, run, top and path"""


def task(words: Sequence[str]) -> str:
    """Return the help; the server is not a task of ranks, see :func:`mcp_command`."""
    _parser().parsed(words)
    raise UsageError("mcp runs from the command line alone: python -m dgraph mcp --connect ADDRESS")


def mcp_command(words: Sequence[str]) -> int:
    """Run the server with the words behind ``mcp`` until stdin ends; return the exit code."""
    try:
        args = _parser().parsed(words)
        try:
            from dgraph.service.mcp.mcp_tools import server_of
        except ImportError as missing:
            raise UsageError(f"mcp needs more packages, and {missing}: pip install 'dgraph-analytics[mcp]'") from None
        from dgraph.service.client.connection import connect

        server_of(connect(args["connect"])).run("stdio")
    except HelpRequested as text:
        print(text)
    except DgraphError as error:
        print(f"dgraph: error: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    return 0


def _parser() -> Any:
    parser = command_parser("mcp", EPILOG)
    parser.add_argument(
        "--connect", required=True, metavar="ADDRESS",
        help="unix:/PATH.sock, or http://HOST:PORT with the token in DGRAPH_TOKEN",
    )  # fmt: skip
    return parser
