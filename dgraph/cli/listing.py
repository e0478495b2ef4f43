"""``python -m dgraph list``: names that a command line accepts, from the registers."""

from __future__ import annotations

import json as encoder
from collections.abc import Sequence
from typing import Any

from dgraph.backend.schedule_options import BUILDS, ROUNDS, options_of
from dgraph.backend.transport_names import TRANSPORTS
from dgraph.cli.arguments import flag, summary
from dgraph.cli.commands import command_parser

MORE = {
    "policies": " (their options are described in docs/guide/write-a-policy.md)",
    "schedules": " (000 to 004 are papers, named in docs/internals/papers.md)",
}
"""Remarks behind titles, in the text for people."""

WIDEST = 22
"""Longest name with its help on the same line; help of longer names stands below."""


def task(words: Sequence[str]) -> str:
    """Parse the words behind ``list``; the lists are the answer."""
    parser = command_parser("list")
    parser.add_argument("--json", **flag(), help="as JSON")
    return listing(json="json" in parser.parsed(words))


def registers() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every register, as JSON can hold them: title → rows with ``name`` and ``help``."""
    from dgraph.algorithms import ALGORITHMS
    from dgraph.backend.cuda.schedules import SCHEDULES
    from dgraph.engine.rounds.record import plain
    from dgraph.graph.formats import FORMATS
    from dgraph.graph.generate import GENERATORS
    from dgraph.result.files import WRITERS
    from dgraph.result.files.graph_writers import GRAPH_WRITERS, NAMED_FORMATS
    from partitioning import POLICIES

    return {
        "algorithms": [
            {
                "name": name,
                "help": summary(algorithm),
                "aliases": list(algorithm.aliases),
                "needs_source": algorithm.needs_source,
                "weighted": algorithm.weighted,
                "undirected": algorithm.undirected,
                "loops": algorithm.edge_rule.loops,
                "parallel_edges": algorithm.edge_rule.parallel,
                "parameters": [
                    {
                        "name": parameter.name,
                        "type": getattr(parameter.type, "__name__", str(parameter.type)),
                        "default": plain(parameter.default),
                        "help": parameter.help,
                        "choices": plain(parameter.choices),
                        "aliases": list(parameter.aliases),
                    }
                    for parameter in algorithm.parameters.values()
                ],
            }
            for name, algorithm in ALGORITHMS.items()
        ],
        "policies": [
            {"name": name, "help": policy.help, "parameters": [_option(option) for option in policy.options.values()]}
            for name, policy in POLICIES.items()
        ],
        "schedules": [
            {"name": name, "help": f"{row.help} ({row.source})", "parameters": _choices(name)}
            for name, row in SCHEDULES.items()
        ],
        "ways to build": [{"name": name, "help": text} for name, text in BUILDS.items()],
        "rounds between GPUs": [{"name": word, "help": text} for word, text in ROUNDS.items()],
        "transports": [{"name": name, "help": text} for name, text in TRANSPORTS.items()],
        "generators": [
            {"name": name, "form": generator.form, "help": generator.help} for name, generator in GENERATORS.items()
        ],
        "formats": [{"name": suffix, "help": summary(reader)} for suffix, reader in FORMATS.items()],
        "graph files written": [
            {"name": name, "help": summary(writer)}
            for name, writer in [
                *GRAPH_WRITERS.items(),
                *((f"--to {to}", line) for to, (_, line) in NAMED_FORMATS.items()),
            ]
        ],
        "outputs": [{"name": suffix, "help": summary(writer)} for suffix, writer in WRITERS.items()],
    }


def listing(json: bool = False) -> str:
    """Return the registers as JSON, or as text for people."""
    rows_by_title = registers()
    if json:
        return encoder.dumps(rows_by_title, indent=1)
    lines: list[str] = []
    for title, rows in rows_by_title.items():
        lines += [f"{title}{MORE.get(title, '')}:"]
        names = [row.get("form", row["name"]) for row in rows]
        helps = [f"{row['help']}{_more(row)}" for row in rows]
        width = max((len(name) for name in names if len(name) <= WIDEST), default=0) + 2
        for name, text, row in zip(names, helps, rows, strict=True):
            lines += [f"  {name:{width}}{text}"] if len(name) <= WIDEST else [f"  {name}", f"{'':8}{text}"]
            lines += [_parameter(parameter) for parameter in row.get("parameters", ())]
        lines.append("")
    return "\n".join(lines).rstrip().replace("``", "")


def _more(row: dict[str, Any]) -> str:
    """Return what the text says of an algorithm behind its help."""
    also = f" Also {', '.join(row['aliases'])}." if row.get("aliases") else ""
    return also + " Uses edge weights." * row.get("weighted", False)


def _option(option) -> dict[str, Any]:
    """Return a policy's option as a row; its form is ``--policy NAME,option=value``."""
    return {
        "name": option.name,
        "type": option.type.__name__,
        "default": option.default,
        "help": "",
        "choices": list(option.choices) or None,
    }


def _choices(schedule: str) -> list[dict[str, Any]]:
    """Return a schedule's options as rows; their form is ``--schedule NAME,option=value``."""
    return [
        {"name": option, "type": row.form, "default": row.default, "help": row.help, "choices": None}
        for option, row in options_of(schedule).items()
    ]


def _parameter(parameter: dict[str, Any]) -> str:
    values = "|".join(map(str, parameter["choices"] or ())) or parameter["type"]
    default = "" if parameter["default"] is None else f", default {parameter['default']}"
    return f"    {parameter['name']} ({values}{default}): {parameter['help']}".removesuffix(": ")
