"""Sphinx extension: the rows of the registers in the pages of algorithms, and of the public names in the reference.

A page of ``docs/algorithms/`` whose title names algorithms ends with their rows: help, parameters, columns, rules,
method and certificate from the docstrings, and an example that runs when the site is built.
"""

import io
import re
import sys
from pathlib import Path

from matplotlib.figure import Figure
from sphinx.errors import ExtensionError
from support_table import SUPPORT_COLUMNS, answered_functions, support, variants_on_cpu

import dgraph
from dgraph._support.function_names import ALIASES, FUNCTIONS
from dgraph._support.public_names import HOMES
from dgraph.algorithms import ALGORITHMS
from dgraph.backend.cuda.schedules import SCHEDULES
from dgraph.validate import CERTIFICATES

HERE = Path(__file__).parent.parent
MOST_WORDS = 1_200
"""Limit of words in a page with its rows."""

EXAMPLE = 'dgraph.Graph.load("rmat:7", weights="1..255", seed=1)'
"""Graph of the examples."""

SETTINGS = {"katz": "alpha=1e-5"}
"""Parameters of the examples: the default alpha is for graphs without weights."""

ROLE = re.compile(r":\w+:`~?\.?([^`<]+)`")
TABLE = "<!-- algorithms -->"
SUPPORTED = "<!-- support -->"
CALLS = "<!-- functions -->"
ANSWERED = "<!-- networkx -->"
PAPERS = "<!-- schedules -->"


def algorithms_of(text):
    """Return the algorithms that the title of a page names."""
    title = text.partition("\n")[0].removeprefix("# ").partition(":")[0]
    return [name for name in re.split(r",\s*", title) if name in ALGORITHMS]


def pages():
    """Return algorithm → page, and refuse an algorithm without one."""
    page_of = {
        name: path.stem
        for path in sorted((HERE / "algorithms").glob("*.md"))
        for name in algorithms_of(path.read_text())
    }
    lacking = sorted(set(ALGORITHMS) - set(page_of))
    if lacking:
        raise ExtensionError(f"no page of docs/algorithms/ has the algorithms {lacking} in its title")
    return page_of


def markdown(docstring):
    """Return a docstring's text in Markdown, without its heading of arguments and columns."""
    text = re.split(r"\n(?:Args|Attributes|Raises|Returns|Columns):", docstring or "")[0]
    text = ROLE.sub(lambda hit: f"`{hit[1].rpartition('.')[2]}`", text).replace("``", "`")
    return re.sub(r"(?m)^ {4}(?=\S)", "  ", text).strip()


def cell(text):
    """Return a text that a cell of a table can hold."""
    return markdown(str(text)).replace("|", "\\|").replace("\n", " ")


def kind(parameter):
    """Return the type or the choices of a parameter."""
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    return getattr(parameter.type, "__name__", str(parameter.type))


def table(head, rows):
    """Return a table in Markdown."""
    return "\n".join(f"|{'|'.join(row)}|" for row in [head, ["-"] * len(head), *rows])


def traits(algorithm):
    """Return what the register says of graphs and runs, a line each."""
    every, on_cpu = variants_on_cpu(algorithm)
    lines = [
        f"Loops are {algorithm.edge_rule.loops}, and parallel edges count {algorithm.edge_rule.parallel}.",
        "A directed graph is symmetrised." if algorithm.undirected else "",
        "Weights are used where the graph has them." if algorithm.weighted else "Weights are ignored by default.",
        "All edges of a vertex lie on one rank (policy `oec`)." if algorithm.needs_rows == "own" else "",
        "A run may start from an earlier answer (`previous=`)." if algorithm.continues else "",
        "A stopped run resumes from a checkpoint." if algorithm.resumes else "A run writes no checkpoints.",
        f"Variants on CPU ranks: {', '.join(f'`{name}`' for name in on_cpu)}." if on_cpu != every else "",
    ]
    return "\n".join(f"- {line}" for line in lines if line)


def example(name):
    """Run an algorithm on a small graph; return its call and its output."""
    source = "source=1" if ALGORITHMS[name].needs_source else ""
    call = f"dgraph.{name}({', '.join(filter(None, ['graph', source, SETTINGS.get(name)]))})"
    result = eval(call, {"dgraph": dgraph, "graph": eval(EXAMPLE)})
    return f"```python\ngraph = {EXAMPLE}\n{call}\n```\n\n```text\n{result!r}\n```\n\n{drawing(result)}"


def drawing(result):
    """Return the picture of ``result.plot()`` as HTML."""
    figure = Figure(figsize=(6, 3), layout="constrained")
    result.plot(ax=figure.add_subplot())
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    svg = written.getvalue().partition("<svg")[2].replace("\n", " ")
    return f'`result.plot()` draws\n\n```{{raw}} html\n<svg class="drawing" role="img" {svg}\n```'


def rows_of(name):
    """Return the register's part of a page for one algorithm."""
    algorithm = ALGORITHMS[name]
    parameters = [
        [f"`{row.name}`", kind(row), "" if row.default is None else f"`{row.default}`", cell(row.help)]
        for row in algorithm.parameters.values()
    ]
    columns = [[f"`{column}`", row.kind, cell(row.help)] for column, row in algorithm.columns.items()]
    certificate = CERTIFICATES[name].__module__
    also = f" Also `{'`, `'.join(algorithm.aliases)}`." if algorithm.aliases else ""
    parts = [
        f"## Reference of {name}",
        f"{markdown(algorithm.__doc__).splitlines()[0]}{also}",
        traits(algorithm),
        table(["parameter", "values", "default", "meaning"], parameters) if parameters else "It has no parameters.",
        table(["column", "kind", "meaning"], columns),
        f"### Example of {name}",
        example(name),
        f"### Method of {name}",
        markdown(sys.modules[algorithm.__module__].__doc__),
        f"### Certificate of {name}",
        f"`validate=True` checks the answer (`{certificate}`).",
        markdown(sys.modules[certificate].__doc__),
    ]
    return "\n\n".join(parts)


def listing():
    """Return the table of all algorithms."""
    page_of = pages()
    rows = [
        [f"[`{name}`](algorithms/{page_of[name]}.md)", cell(markdown(algorithm.__doc__).splitlines()[0])]
        for name, algorithm in sorted(ALGORITHMS.items())
    ]
    return table(["algorithm", "answer"], rows)


def supported():
    """Return the table of what each function supports."""
    rows = [[f"`{name}`", *support(name).values()] for name in sorted(ALGORITHMS)]
    return table(["function", *SUPPORT_COLUMNS], rows)


def answered():
    """Return the table of NetworkX's functions that the backend answers, and of those that it does not."""
    return table(["functions", "dgraph"], answered_functions())


def schedules():
    """Return the table of the GPU schedules."""
    rows = [[f"`{name}`", cell(row.help), cell(row.source)] for name, row in SCHEDULES.items()]
    return table(["schedule", "method", "paper"], rows)


def calls():
    """Return the reference of the functions of algorithms."""
    other = {name: [alias for alias in ALIASES if ALIASES[alias] == name] for name in FUNCTIONS}
    return "\n\n".join(
        f"## {name}\n\n" + (f"Also `{'`, `'.join(other[name])}`.\n\n" if other[name] else "")
        + f"```{{eval-rst}}\n.. autofunction:: dgraph.{name}\n```"
        for name in FUNCTIONS
    )  # fmt: skip


MARKS = {TABLE: listing, SUPPORTED: supported, PAPERS: schedules, CALLS: calls, ANSWERED: answered}
"""Mark in a page → the table that replaces it."""


def on_source(app, page, source):
    """Add the rows to a page, and a title to a table of measurements."""
    if page.startswith("docs/algorithms/"):
        source[0] = "\n\n".join([source[0], *map(rows_of, algorithms_of(source[0]))])
        words = len(re.sub(r"<svg.*", "", source[0]).split())
        if words > MOST_WORDS:
            raise ExtensionError(f"{page} has {words} words with its reference, above {MOST_WORDS}")
    if page.startswith("benchmarks/results/") and not source[0].startswith("# "):
        source[0] = f"# {page.rpartition('/')[2]}\n\n{source[0]}"
    for mark, text in (
        (TABLE, listing),
        (SUPPORTED, supported),
        (PAPERS, schedules),
        (CALLS, calls),
        (ANSWERED, answered),
    ):
        if mark in source[0]:
            source[0] = source[0].replace(mark, text())


def check_reference(app):
    """Refuse a public name that the reference lacks."""
    reference = "".join(path.read_text() for path in (HERE / "reference").glob("*.md"))
    lacking = [name for name in HOMES if not re.search(rf"\bdgraph\.{name}\b", reference)]
    if lacking:
        raise ExtensionError(f"docs/reference lacks the public names {lacking}")


def setup(app):
    """Register the extension."""
    app.connect("builder-inited", check_reference)
    app.connect("source-read", on_source)
    return {"parallel_read_safe": True}
