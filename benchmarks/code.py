"""Size and shape of the code at one or more commits: counts from the text alone, nothing is run.

Code lines leave out docstrings, comments and blank lines. The whole is ``dgraph``, ``partitioning`` and ``launch``;
vague names are counted in tests, benchmarks and examples, too. ``code_ceilings.py`` limits some of the counts.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tarfile
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks import code_structure, record

ROOT = Path(__file__).parent.parent
WRITTEN = re.compile(r"(build|dist|site)/.*|(.*/)?(\.[^/]*|__pycache__|[^/]*\.egg-info)(/.*)?|PKG-INFO")
"""Paths of files that programs write."""
WHOLE = ("dgraph/", "partitioning/", "launch/")
SETTINGS = "pyproject.toml"
BACKEND, CPU = "dgraph/backend/", "dgraph/backend/cpu/"
GENERATORS = ("codegen/module_text.py", "cuda/text.py")
"""Ends of the names, over the history, of the file that sets the flags of a module of CUDA text."""
PROPERTIES = ("backend/compile_flags.py", "backend/paths.py")
"""Ends of the names of the file with the flags that depend on the program alone."""
BOUND = re.compile(r"(HUGE_)?(SCHEDULE|SHARED_TYPE)$")
"""Names that stand for a schedule's function and type, and so are not flags."""
MOST_LINES = 400
SIGNATURE = re.compile(
    r"^ *(?:template <[^{};]*> *)?(?:[A-Z_]*KERNEL\w*|DEVICE|APART|CALLED|__device__)\b[^;{]*\{", re.MULTILINE
)


def measure(commits: str | None, folder: Path) -> None:
    """Count each of ``commits``, separated by commas, or the working tree, and write ``code.json`` and ``code.md``."""
    rows = [{"commit": _short(commit)} | count(files_at(commit)) for commit in commits.split(",")] if commits else []
    rows = rows or [{"commit": "working tree"} | count(here())]
    record.write(folder, "code", {"circumstances": record.circumstances(), "rows": rows}, _table(rows))


def files_at(commit: str) -> dict[str, str]:
    """Return path → text of the files at a commit."""
    packed = subprocess.run(["git", "archive", commit], capture_output=True, cwd=ROOT, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        names = [member.name for member in archive if member.isfile() and _is_read(member.name)]
        return {name: archive.extractfile(name).read().decode() for name in names}  # type: ignore[union-attr]


def _short(commit: str) -> str:
    """Return the short hash of a commit."""
    named = ["git", "rev-parse", "--short", commit]
    return subprocess.run(named, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()


def listed(root: Path = ROOT) -> list[str]:
    """Return the files of the working tree; of an unpacked sdist, which has no git, those that no program wrote."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        return subprocess.run(command, capture_output=True, text=True, cwd=root, check=True).stdout.splitlines()
    paths = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file())
    return [path for path in paths if not WRITTEN.fullmatch(path)]


def here() -> dict[str, str]:
    """Return path → text of the files in the working tree."""
    return {name: (ROOT / name).read_text() for name in listed() if _is_read(name) and (ROOT / name).exists()}


def count(all_files: dict[str, str]) -> dict[str, object]:
    """Return name → figure, of files by path."""
    files = product(all_files)
    lines = {name: code_lines(name, text) for name, text in files.items()}
    functions = {ending: [*_functions(files, ending)] for ending in (".py", ".cuh")}
    python, cuda = (max(sizes, default=(0, "")) for sizes in functions.values())
    kernels = {name: text for name, text in files.items() if name.endswith(".cuh")}
    set_here = flags(files)
    ends = [name for name, text in files.items() if _ends_round(text)]
    positions = r"\bc\[[A-Z_]+\]|\bc \+ [A-Z_]+\b|env\.control(?:\[| \+ )[A-Z_]+\b|\bW\[\w+\]"
    return {
        "code lines of the backend": sum(n for name, n in lines.items() if name.startswith(BACKEND)),
        "code lines of the GPU backend": sum(n for name, n in lines.items() if name.startswith(f"{BACKEND}cuda/")),
        "code lines of the whole": sum(lines.values()),
        "flags of the CUDA text": len(set_here),
        "macros derived from flags": len(derived(kernels, set_here)),
        "uses of the round's state by position": sum(len(re.findall(positions, text)) for text in files.values()),
        "files that end a round on GPUs": sum(name.endswith(".cuh") for name in ends),
        "files that end a round on CPUs": sum(name.startswith(CPU) for name in ends),
        "longest function in Python": f"{python[0]} ({python[1]})",
        "longest function in CUDA": f"{cuda[0]} ({cuda[1]})",
        f"files above {MOST_LINES} lines": sum(text.count("\n") > MOST_LINES for text in files.values()),
        "code lines of algorithms with cuda/gathered": sum(
            n for name, n in lines.items() if name.startswith(("dgraph/algorithms/", f"{BACKEND}cuda/gathered/"))
        ),
        "code lines of the bc family": sum(n for name, n in lines.items() if "algorithms/many_sources/" in name),
        "files": len(files),
        "stand-ins for estimate": code_structure.stand_ins(files),
        "lazy loaders": code_structure.loaders(files),
        **_contracts(files, all_files.get(SETTINGS, "")),
        **code_structure.classes_of_names(all_files),
    }


def product(files: dict[str, str]) -> dict[str, str]:
    """Return the files of the product."""
    return {name: text for name, text in files.items() if name.startswith(WHOLE)}


def _contracts(files: dict[str, str], settings: str) -> dict[str, object]:
    if "importlinter" not in settings:
        return {}
    return {
        "imports upwards between packages": len(code_structure.imports_upwards(files, settings)),
        "contracts with exceptions": code_structure.contracts_with_exceptions(settings),
    }


def code_lines(name: str, text: str) -> int:
    """Return the number of lines with code."""
    if not name.endswith((".py", ".pyi")):
        bare = re.sub(r"/\*.*?\*/|<!--.*?-->|//[^\n]*", "", text, flags=re.DOTALL)
        return sum(bool(line.strip()) for line in bare.split("\n"))
    return len(_lines_of_python(text))


@cache
def _lines_of_python(text: str) -> set[int]:
    """Return the numbers of lines that hold a token of code; a string alone in a statement is a docstring."""
    alone = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    coded = {line for t in tokens if t.type not in skipped for line in range(t.start[0], t.end[0] + 1)}
    return coded - alone


def flags(files: dict[str, str]) -> set[str]:
    """Return the macros that the generator of CUDA text sets for a program or a variant of a module."""
    names: set[str] = set()
    for name, text in files.items():
        if not name.startswith(BACKEND) or not name.endswith(GENERATORS + PROPERTIES):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Dict):
                keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                names |= {key for key in keys if isinstance(key, str) and re.fullmatch(r"[A-Z][A-Z_]+", key)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names |= set(re.findall(r"#define ([A-Z][A-Z_]+)", node.value))
    used = "\n".join(text for name, text in files.items() if name.endswith(".cuh"))
    return {name for name in names if not BOUND.match(name) and re.search(rf"\b{name}\b", used)}


def derived(kernels: dict[str, str], set_here: set[str]) -> set[str]:
    """Return the macros without arguments that kernels define by flags, directly or through another."""
    defined = [pair for text in kernels.values() for pair in re.findall(r"^#define (\w+) (.+)$", text, re.MULTILINE)]
    bases, macros = set(set_here), set[str]()
    while new := {name for name, value in defined if name not in bases and bases & set(re.findall(r"\w+", value))}:
        bases |= new
        macros |= new
    return macros


def _ends_round(text: str) -> bool:
    """Return True if a file calls a program's ``step``, which ends a round."""
    return bool(re.search(r"(?<![\w.])step\((?:G|next|P, \w+\(.*)\)", text))


def _functions(files: dict[str, str], ending: str) -> Iterator[tuple[int, str]]:
    """Yield (code lines, place) of functions; of a nested one its lines count for the outer one too."""
    for name, text in files.items():
        if not name.endswith(ending):
            continue
        if ending == ".py":
            code = _lines_of_python(text)
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield len(code & {*range(node.lineno, (node.end_lineno or 0) + 1)}), f"{name}:{node.name}"
            continue
        for match in SIGNATURE.finditer(text):
            body = text[match.start() : _closed(text, match.end())]
            named = re.search(r"(\w+)\([^()]*(?:\([^()]*\)[^()]*)*\)[^()]*\{$", match.group())
            yield code_lines(name, body), f"{name}:{named[1] if named else '?'}"


def _closed(text: str, position: int) -> int:
    """Return the position behind the brace that closes the one before ``position``."""
    depth = 1
    while depth and position < len(text):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        position += 1
    return position


def _is_read(name: str) -> bool:
    kinds = (".py", ".pyi", ".cuh", ".cpp", ".h", ".js", ".css", ".html") if name.startswith(WHOLE) else (".py",)
    tops = tuple(f"{top}/" for top in code_structure.TOPS)
    return name == SETTINGS or (name.startswith(tops) and name.endswith(kinds))


def _table(rows: list[dict]) -> str:
    head = ["| | " + " | ".join(str(row["commit"]) for row in rows) + " |", "|-" * (len(rows) + 1) + "|"]
    body = [f"| {key} | {' | '.join(_cell(row.get(key, '')) for row in rows)} |" for key in rows[0] if key != "commit"]
    return "\n".join([*head, *body]) + "\n"


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
