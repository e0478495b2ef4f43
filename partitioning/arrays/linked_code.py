"""Compilation of functions that only compiled code calls: they are linked into their callers.

Numba optimises each function together with all that it calls, and makes machine code of the whole: a function that is
called through three others is optimised four times. :func:`linked` leaves both to the function that Python calls.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any


def linked(dispatcher: Any) -> Any:
    """Return a function without a wrapper for Python nor a cache file, which now compiles to LLVM code alone."""
    dispatcher._compiler.pipeline_class = _compiler()
    return dispatcher


@cache
def _compiler() -> Any:
    """Return Numba's compiler with a library that is linked only."""
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler

    class Linked(JITCodeLibrary):
        """LLVM code of a function; its callers optimise it with their own, and make the machine code."""

        @property
        def codegen(self) -> Any:
            """An object that sets no environment of a function, which machine code alone has."""
            return SimpleNamespace(set_env=lambda name, environment: None)

        def get_pointer_to_function(self, name: str) -> int:
            """Return 0: there is no machine code."""
            self._ensure_finalized()
            return 0

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class LinkedCompiler(Compiler):
        """Compiler of one function."""

        def compile_extra(self, func: Any) -> Any:
            """Compile into a library that is linked only."""
            self.state.library = Linked(self.state.targetctx.codegen(), func.__qualname__)
            self.state.library.enable_object_caching()
            return super().compile_extra(func)

    return LinkedCompiler
