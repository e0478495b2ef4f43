"""``python -m dgraph serve``: the resident service. It runs in this process alone; the ranks are children of it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgraph.cli.arguments import HelpRequested, flag
from dgraph.cli.commands import command_parser
from dgraph.errors import DgraphError, UsageError

if TYPE_CHECKING:
    from dgraph.comm import Comm

DEVICES = ("auto", "cpu", "cuda")

EPILOG = """\
examples:
  python -m dgraph serve
  python -m dgraph serve --ranks 4 --data-root /data
  python -m dgraph serve --port 8484 --token-file tokens --state-dir /var/lib/dgraph
  curl --unix-socket ~/.local/state/dgraph/service.sock http://localhost/v1/graphs
  curl --unix-socket ~/.local/state/dgraph/service.sock -X POST http://localhost/v1/login   (a new link to the page)

exit codes: 0 ended by SIGTERM or SIGINT; 2 wrong options; 74 a listener or the ranks did not start"""


def default_state() -> Path:
    """Return the state folder of a user who names none."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(home) / "dgraph"


def task(words: Sequence[str]) -> str:
    """Return the help; a service is not a task of ranks, see :func:`serve_command`."""
    serve_parser().parsed(words)
    raise UsageError("serve runs from the command line alone: python -m dgraph serve")


def serve_command(words: Sequence[str]) -> int:
    """Run the service with the words behind ``serve``; return its exit code."""
    try:
        args = serve_parser().parsed(words)
    except HelpRequested as text:
        print(text)
        return 0
    except UsageError as error:
        return _refuse(error)
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as missing:
        return _refuse(UsageError(f"serve needs more packages, and {missing}: pip install 'dgraph-analytics[service]'"))
    try:
        return _under_mpi(words, args) if _launched() else _serve(args)
    except DgraphError as error:
        if "traceback" in args:
            raise
        return _refuse(error)


def _refuse(error: DgraphError) -> int:
    print(f"dgraph: error: {error}", file=sys.stderr, flush=True)
    return error.exit_code


def serve_parser() -> Any:
    """Return the parser of the words behind ``serve``."""
    parser = command_parser("serve", EPILOG)
    where = parser.add_argument_group("where")
    _path(where, "--state-dir", "DIR", "history, results, stores, sockets (default: ~/.local/state/dgraph)")
    _path(where, "--data-root", "DIR", "folder of the files that requests may name (default: .)")
    _path(where, "--socket", "PATH", "Unix socket, of mode 0600 (default: service.sock in the state folder)")
    where.add_argument("--port", type=int, metavar="P", help="TCP port (default: 0, a free one)")
    where.add_argument("--bind", metavar="ADDRESS", help="address of the port (default: 127.0.0.1); others need tokens")
    where.add_argument("--no-tcp", **flag(), help="no TCP port, so no page")
    who = parser.add_argument_group("who")
    _path(who, "--token-file", "F", "one token a line, then optionally read or admin; mode 0600")
    who.add_argument("--allow-host", metavar="NAMES", help="more names for the Host header, separated by commas")
    ranks = parser.add_argument_group("ranks")
    ranks.add_argument("--ranks", type=int, metavar="N", help="ranks to start (default: 1)")
    ranks.add_argument("--device", metavar="NAME", choices=DEVICES, help="auto, cpu or cuda (default: auto)")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--queue", type=int, metavar="N", help="most queued jobs (default: 4096)")
    limits.add_argument("--spool-bytes", type=int, metavar="N", help="bytes of results that are kept (default: 8 GiB)")
    limits.add_argument("--upload-bytes", type=int, metavar="N", help="largest upload, decompressed (default: 16 GiB)")
    limits.add_argument("--grace", type=float, metavar="S", help="seconds for a cancelled job to end (default: 15)")
    limits.add_argument("--no-cache", **flag(False, of="cache"), help="no job uses another's result")
    parser.add_argument("-q", "--quiet", **flag(), help="log warnings and errors only")
    return parser


def _path(group: Any, option: str, metavar: str, text: str) -> None:
    group.add_argument(option, type=Path, metavar=metavar, help=text)


def _launched() -> bool:
    """Return True if a launcher started this process as one of several ranks."""
    from dgraph.comm.world import STARTED_BY
    from dgraph.service.messages import EXTERNAL

    counts = [os.environ.get(name, "") for name in STARTED_BY if name != "PMIX_RANK"]
    several = any(count.isdigit() and int(count) > 1 for count in counts)
    return EXTERNAL not in os.environ and (several or "PMIX_RANK" in os.environ)


def _under_mpi(words: Sequence[str], args: dict[str, Any]) -> int:
    """Serve with the ranks of this launch: rank 0 starts the front as a child."""
    from dgraph.cli.exit_codes import end_together
    from dgraph.service.ranks.under_mpi import serve_under_mpi

    def serve(comm: Comm) -> int:
        if "ranks" in args:
            raise UsageError("got --ranks under a launcher, which decides the number of ranks; leave it out")
        with comm.together():
            _need_device(args)
        return serve_under_mpi(list(words), comm, args.get("device", "auto"))

    return end_together(serve)


def _need_device(args: dict[str, Any]) -> None:
    """Refuse ``--device cuda`` on a host without a GPU, before anything starts."""
    if args.get("device") != "cuda":
        return
    from dgraph.backend import has_gpu

    if not has_gpu():
        raise UsageError(
            "got --device cuda, but this process reaches no GPU: it needs one that nvidia-smi shows, and "
            "pip install 'dgraph-analytics[cuda12]' or [cuda13]; or give --device cpu, or auto"
        )


NAMES = {"state_dir": "state", "allow_host": "hosts", "grace": "grace_s"}


def _serve(args: dict[str, Any]) -> int:
    from dgraph.service.front.http_server import serve
    from dgraph.service.front.settings import Settings
    from dgraph.service.messages import EXTERNAL

    if EXTERNAL not in os.environ:
        _need_device(args)
    quiet = args.pop("quiet", False)
    args.pop("traceback", None)
    options = {NAMES.get(name, name): value for name, value in args.items()}
    if options.pop("no_tcp", False):
        options["port"] = None
    if "hosts" in options:
        options["hosts"] = tuple(options["hosts"].split(","))
    for name in ("queue", "spool_bytes", "upload_bytes"):
        if options.get(name, 1) < 1:
            raise UsageError(f"got --{name.replace('_', '-')} {options[name]}, but it is 1 or more")
    if not 0 < options.get("grace_s", 1.0) < math.inf:
        raise UsageError(f"got --grace {options['grace_s']}, but it is a number of seconds above 0")
    if not 0 <= (options.get("port") or 0) < 1 << 16:
        raise UsageError(f"got --port {options['port']}, but ports are from 0 to 65535")
    if started := os.environ.get(EXTERNAL):
        options |= {"ranks": int(started), "external": True}
    options["state"] = options.get("state", default_state()).absolute()
    options["data_root"] = options.get("data_root", Path()).absolute()
    return serve(Settings(**options), _ranks, quiet)


def _ranks(settings: Any) -> Any:
    """Return the supervisor of the ranks."""
    from dgraph.service.supervisor.supervisor import Ranks

    return Ranks(
        settings.state, settings.ranks, device=settings.device, external=settings.external, grace_s=settings.grace_s
    )
