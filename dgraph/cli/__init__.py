"""Command line: argv → request → one load → a run, an output file and a report for each source.

Every rank reads the same words and takes the same steps; rank 0 prints. :func:`console` is the whole program,
:func:`main` a call inside another one.
"""

from __future__ import annotations

from collections.abc import Sequence

from dgraph._support.clashes import clash

__all__ = ["console", "main"]

if wrong := clash("launch"):
    raise ImportError(wrong)


def console() -> int:
    """Run this process as the command line: ``python -m dgraph`` and the command ``dgraph``. Returns the exit code."""
    import gc
    import os
    import sys

    from dgraph._support.compiled_later import LATER
    from dgraph._support.cuda_start import start_early
    from dgraph.cli.terminal.standard_streams import guard

    LATER.off = True  # the process ends with its answer
    guard()
    start_early(sys.argv[1:])
    from dgraph.cli.arguments import search_working_folder

    # Imports create many objects and no garbage: at Python's default threshold, collection takes a fifth of a start.
    gc.set_threshold(500_000)
    # Numba imports scipy.linalg, if installed, for matrix products, which dgraph has none of: 0.2 s a rank.
    sys.modules.setdefault("scipy.linalg.cython_blas", None)  # type: ignore[arg-type]
    # Numba colours each message of a type that does not fit, also those that are not shown: a twelfth of a compilation.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    search_working_folder()
    try:
        code = main()
    except KeyboardInterrupt:  # before the ranks know each other
        from dgraph.cli.exit_codes import INTERRUPTED

        code = INTERRUPTED
    gc.freeze()  # Python's last collections would visit all objects of Numba: .12 s
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line on every rank.

    Args:
        argv: its words; None: ``sys.argv[1:]``.

    Returns:
        The exit code, equal on all ranks.
    """
    import sys

    from dgraph.cli.exit_codes import end_alone, end_together
    from dgraph.errors import command_line

    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["doctor"]:
        from dgraph.cli.doctor import without_ranks

        if (code := without_ranks(words[1:])) is not None:
            return end_alone(code)
    if words[:1] == ["serve"]:
        from dgraph.cli.serve import serve_command

        return end_alone(serve_command(words[1:]))
    if words[:1] == ["mcp"]:
        from dgraph.cli.mcp import mcp_command

        return end_alone(mcp_command(words[1:]))
    with command_line():
        return end_together(lambda comm: _command(words, comm), traceback="--traceback" in words)


def _command(words: list[str], comm) -> int:
    import warnings

    from dgraph.cli.commands import COMMANDS, Task
    from dgraph.cli.parser import RunRequest, parse
    from dgraph.errors import ConvergenceWarning

    algorithms: dict = {}
    if not words or words[0] not in COMMANDS:  # commands that need the algorithms import them: .16 s
        from dgraph.algorithms import ALGORITHMS as algorithms
    with comm.together():
        parsed = parse(words, algorithms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # exit code 3 says so
        if isinstance(parsed, RunRequest):
            from dgraph._support.cuda_start import start_cuda
            from dgraph.comm.forks import began

            if parsed.run.get("backend", "auto") != "cpu" and start_cuda():
                began("CUDA")
            from dgraph.cli.solve import solve

            return solve(parsed, comm)
        if isinstance(parsed, Task):
            return parsed.do(comm)
    if comm.rank == 0:
        print(parsed)
    return 0
