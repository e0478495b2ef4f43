"""Algorithms of the user on the command line: ``MODULE:CLASS`` or ``path/to/file.py:CLASS``.

The class is a :class:`~dgraph.program.Program`, whose annotated parameters become options, or an
:class:`~dgraph.algorithms.Algorithm`. :func:`user_algorithm` imports it; every rank does so.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import traceback
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from dgraph.algorithms.base import Algorithm, Answer, Parameter, ProgramAlgorithm, check_source
from dgraph.cli.arguments import search_working_folder
from dgraph.comm import Comm
from dgraph.errors import DgraphError, UsageError, unknown
from dgraph.program import Program

TYPES = (int, float, bool)
"""Types of a program's parameters: they are arguments of its kernels."""


class NotImported(UsageError):
    """A module of the user is not there, or its import fails: another machine may have it."""


class UserProgram(ProgramAlgorithm):
    """Base of the algorithms made from a user's program: constructed with the program's parameters.

    Class attributes:
        program_class: the user's class.
        required: parameters without a default.
    """

    program_class: ClassVar[type[Program]]
    required: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **values: Any):
        super().__init__(self.program_class(**values))

    def numbered(self, names: Any, comm: Comm) -> Algorithm:
        """Return the algorithm with the number of the source in place of its name; collective."""
        settings = self.settings()
        if isinstance(settings.get("source"), str):
            settings["source"] = names.find([settings["source"]], comm)[0]
        return type(self)(**settings)

    def run(self, ctx: Any) -> Answer:
        """Run the program; refuse a source that is not a vertex."""
        if self.needs_source:
            check_source(ctx, self.program.parameters["source"], self.name)
        return super().run(ctx)


def user_algorithm(word: str) -> type[Algorithm]:
    """Import the class that ``MODULE:CLASS`` or ``FILE.py:CLASS`` names, as an algorithm.

    Modules are searched in the working directory, too.

    Raises:
        UsageError: there is no such file, module or class, its import fails, or it is neither a ``Program`` nor an
            ``Algorithm``.
    """
    place, _, name = word.rpartition(":")
    if not place:
        raise UsageError(f"got {word} without a module; write MODULE:CLASS or path/to/file.py:CLASS")
    try:
        module = _file(place) if place.endswith(".py") or "/" in place else _module(place)
    except DgraphError:
        raise
    except (Exception, SystemExit) as failed:
        raise NotImported(f"{word}: the import of {place} failed{_where(failed, place)}: {_why(failed)}") from failed
    named_object = getattr(module, name, None)
    if named_object is None:
        raise unknown(f"class of {place}", name, _classes(module))
    if not isinstance(named_object, type) or not issubclass(named_object, (Program, Algorithm)):
        kind = f"a {'class' if isinstance(named_object, type) else type(named_object).__name__}"
        raise UsageError(f"{word} is {kind}, not a subclass of dgraph.Program or dgraph.Algorithm; name one")
    if named_object in (Program, Algorithm) or inspect.isabstract(named_object):
        raise UsageError(f"{word} is a base class, which cannot run; name a subclass that defines its methods")
    return _of_program(named_object) if issubclass(named_object, Program) else _of_algorithm(named_object)


def _module(name: str) -> types.ModuleType:
    search_working_folder()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{name}.".startswith(f"{missing.name}."):
            raise
        raise NotImported(
            f"no module {missing.name}: it is neither in {Path.cwd()} nor installed; name a module, or a file as "
            "path/to/file.py:CLASS"
        ) from missing


def _file(name: str) -> types.ModuleType:
    path = Path(name).resolve()
    if not name.endswith(".py"):
        raise UsageError(f"{name} is not a Python file, whose name ends in .py; write path/to/file.py:CLASS")
    if not path.is_file():
        raise NotImported(f"no such file {name}; name a file that every rank can read, as path/to/file.py:CLASS")
    return _executed(path)


@cache
def _executed(path: Path) -> types.ModuleType:
    """Execute a file as a module; modules beside it can be imported, as when Python runs it."""
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(f"dgraph_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _classes(module: types.ModuleType) -> list[str]:
    """Return the names of a module's own programs and algorithms."""
    return [
        name
        for name, member in vars(module).items()
        if isinstance(member, type)
        and issubclass(member, (Program, Algorithm))
        and member.__module__ == module.__name__
    ]


def _of_algorithm(algorithm: type[Algorithm]) -> type[Algorithm]:
    """Return a user's algorithm; one that no decorator named gets the name of its class."""
    if algorithm.name:
        return algorithm
    return type(
        algorithm.__name__,
        (algorithm,),
        {"__doc__": algorithm.__doc__, "__module__": algorithm.__module__, "name": algorithm.__name__.lower()},
    )


def _of_program(program: type[Program]) -> type[UserProgram]:
    """Return an algorithm whose parameters are a program's."""
    defaults, types, helps = program.defaults(), _types(program), _helps(program)
    parameters = {}
    for name, default in defaults.items():
        kind, choices = _type(types.get(name), default)
        if kind is None:
            raise UsageError(
                f"{program.__name__}: the parameter {name} is not a number, as parameters of programs are; annotate it "
                "with int, float or bool, or make it a ClassVar"
            )
        parameters[name] = Parameter(name, kind, default, helps.get(name, f"parameter of {program.__name__}"), choices)
    required = {name for name, default in defaults.items() if default is None} - {"source"}
    members = {
        "__doc__": program.__doc__ or f"Program {program.__qualname__} of {program.__module__}.",
        "__module__": program.__module__,
        "name": program.__name__.lower(),
        "parameters": parameters,
        "needs_source": "source" in defaults,
        "program_class": program,
        "required": frozenset(required),
    }
    return type(program.__name__, (UserProgram,), members)


def _types(program: type[Program]) -> Mapping[str, Any]:
    """Return the annotations of a class, as objects where they can be evaluated."""
    try:
        return typing.get_type_hints(program)
    except Exception:
        merged: dict[str, Any] = {}
        for base in reversed(program.__mro__):
            merged |= inspect.get_annotations(base)
        return {name: next((kind for kind in TYPES if kind.__name__ == hint), hint) for name, hint in merged.items()}


def _type(hint: Any, default: Any) -> tuple[Any, tuple | None]:
    """Return the type and the choices of a parameter; the type is None if it is none of ``TYPES``."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        some = [arg for arg in args if arg is not type(None)]
        return _type(some[0], default) if len(some) == 1 else (None, None)
    if origin is typing.Literal and len({type(arg) for arg in args}) == 1 and type(args[0]) in TYPES:
        return type(args[0]), args
    if hint in TYPES:
        return hint, None
    return (type(default), None) if type(default) in TYPES else (None, None)


def _helps(program: type[Program]) -> dict[str, str]:
    """Return the text of each parameter in the section Args or Attributes of a class's docstring."""
    sections = re.split(r"^(\w[\w ]*):\s*$", inspect.cleandoc(program.__doc__ or ""), flags=re.MULTILINE)
    helps: dict[str, str] = {}
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        if title.lower() in ("args", "arguments", "attributes", "parameters"):
            entries = re.findall(r"^ {4}(\w+)(?: \([^)]*\))?: (.*(?:\n {5,}.*)*)", body, re.MULTILINE)
            helps |= {name: " ".join(text.split()).removesuffix(".") for name, text in entries}
    return helps


def _where(failed: BaseException, place: str) -> str:
    """Return the file and line of an error."""
    if isinstance(failed, SyntaxError) and failed.filename:
        return f" at {failed.filename}:{failed.lineno}"
    frames = traceback.extract_tb(failed.__traceback__)
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _why(failed: BaseException) -> str:
    if isinstance(failed, SystemExit):
        return "it ends Python (sys.exit); let it do so only under if __name__ == '__main__'"
    return f"{type(failed).__name__}: {failed}"
