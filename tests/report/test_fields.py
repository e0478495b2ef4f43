"""Table of report fields: it agrees with what is measured, and a field that is added to it is in every output."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import report_fields
from report_schema import SCHEMA, violations
from sample_report import recorded, run_report

import dgraph
from dgraph.engine.rounds import round_series
from dgraph.engine.rounds.record import PHASES
from dgraph.report.fields import FIELDS, RANK, RANK_ROUND, ROUND, RUN, SHOWN, TEXT, folded, read, texts
from dgraph.report.time_split import NAMES, PARTS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(dgraph.__file__).parent


def entries(report, per):
    ranks = report["ranks"]
    columns = [
        dict(zip(rank["rounds"], row, strict=True))
        for rank in ranks
        for row in zip(*rank["rounds"].values(), strict=True)
    ]
    return {RUN: [report], RANK: ranks, ROUND: report["rounds"]["kept"], RANK_ROUND: columns}[per]


def test_the_terms_of_the_wall_time_are_the_timers_of_a_run():
    assert PARTS == round_series.PARTS
    assert sorted(NAMES) == sorted({*PHASES, *PARTS, "checkpoint", "other"} - {"solve"})
    assert [name for name in NAMES if name in PHASES] == [name for name in PHASES if name != "solve"]


@pytest.mark.quick
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: f"{field.per} {field.name}")
def test_a_row_is_possible_measured_and_in_the_report(field):
    assert set(field.shown) <= set(SHOWN[field.per])
    assert not field.inside or (field.per == RANK and field.place == f"seconds.{field.name}")
    assert field.unit != TEXT or field.per in (RUN, ROUND), "a table of ranks has max and mean"
    nodes = [*ast.walk(ast.parse((PACKAGE / field.made_by).read_text()))]
    words = {node.value for node in nodes if isinstance(node, ast.Constant)}
    words |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    last = field.place.rpartition(".")[2]
    assert last in words | {"bytes", "messages"} | set(PARTS), f"{field.made_by} does not name {last}"
    for report in (run_report(), recorded(run_report())):
        values = [read(field, entry) for entry in entries(report, field.per)]
        assert not field.always or None not in values
        assert len(texts(field, values)) == len(values)


def test_names_and_places_are_unique():
    assert (
        len({(field.per, field.name) for field in FIELDS})
        == len({(field.per, field.place) for field in FIELDS})
        == len(FIELDS)
    )


def test_the_schema_and_the_guide_are_those_of_the_table():
    """``python tests/support/report_fields.py`` writes them."""
    for file, written in ((report_fields.SCHEMA, report_fields.schema), (report_fields.GUIDE, report_fields.guide)):
        assert written(file.read_text()) == file.read_text(), f"run python tests/support/report_fields.py: {file.name}"


def test_a_report_without_a_field_is_still_read():
    """An earlier version of dgraph did not measure it."""
    report = run_report()
    for rank in report["ranks"]:
        rank["counts"] = {}
    (field,) = (field for field in FIELDS if field.place == "counts.masters")
    assert read(field, report["ranks"][0]) is None
    assert folded(field, report["ranks"]) == 0
    assert "masters" not in dgraph.report.table(report)
    assert "masters" in dgraph.report.page([report])


ROWS = '''
    ReportField("steals", COUNT, RANK, "counts.steals", "run.py", "stolen tasks",
                ("text", "page", "trace", "comparison"), over_ranks="sum"),
    ReportField("upload", SECONDS, RANK, "seconds.upload", "run.py", "uploaded the graph",
                ("text", "page", "trace"), "run"),
    ReportField("joules", COUNT, RUN, "outcome.joules", "run.py", "energy", ("text", "trace", "comparison")),
    ReportField("cut", BYTES, ROUND, "cut", "run.py", "bytes over the cut", ("text", "page", "trace")),
    ReportField("misses", COUNT, RANK_ROUND, "misses", "run.py", "misses of the cache", ("trace",)),
'''  # fmt: skip

RUN_OF_THE_COPY = '''
import io, json, sys
import numpy as np
from sample_report import sample
from dgraph.comm import SerialComm
from dgraph.report import comparison, page, show, write_trace
import report_fields

def run(cut, upload):
    record = sample(SerialComm())
    record.count("steals", 41)
    record.add("upload", upload)
    record.describe("outcome", joules=1234)
    record.rounds.extend(np.array([[7, 70, 0]]), 0.003, cut=[np.int64(cut)])
    return record.collect()

report = json.loads(json.dumps(run(5 << 20, 2.0)))
two = {**report, "ranks": [{**report["ranks"][0], "rank": r, "counts": {"steals": 41 + r}} for r in (0, 1)]}
two["ranks"][0]["seconds"] = {**two["ranks"][0]["seconds"], "upload": 9.0}
two["ranks"][1]["rounds"] = {**two["ranks"][1]["rounds"], "misses": [3, 4, 5]}
file = io.StringIO()
show(two, file)
write_trace(two, "trace.json")
print(json.dumps({"report": two, "text": file.getvalue(), "page": page([two]), "trace": json.load(open("trace.json")),
                  "comparison": comparison([two, report]), "compared": page([two, report]),
                  "schema": json.loads(report_fields.schema(report_fields.SCHEMA.read_text())),
                  "guide": report_fields.guide(report_fields.GUIDE.read_text())}))
'''  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return the outputs of a copy of dgraph to whose table rows were added."""
    home = tmp_path_factory.mktemp("copy")
    for package in (PACKAGE, PACKAGE.with_name("partitioning")):
        shutil.copytree(package, home / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "tests" / "support", home / "tests" / "support", ignore=shutil.ignore_patterns("__pycache__")
    )
    (home / "docs" / "guide").mkdir(parents=True)
    shutil.copy(report_fields.GUIDE, home / "docs" / "guide")
    table = home / "dgraph" / "report" / "fields.py"
    before, after = table.read_text().split("\n)  # fmt: skip\n\n\ndef shown_in")
    table.write_text(f"{before}{ROWS})\n\n\ndef shown_in{after}")
    path = os.pathsep.join(map(str, (home, home / "tests" / "support", ROOT)))
    words = [sys.executable, "-c", RUN_OF_THE_COPY]
    done = subprocess.run(
        words, cwd=home, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def data_of(html):
    return json.loads(html.split('type="application/json">')[1].split("</script>")[0])


def test_a_row_adds_a_field_to_the_text(outputs):
    lines = [line.split() for line in outputs["text"].splitlines()]
    assert ["joules", "1,234"] in lines
    heads = [line for line in lines if line[:1] in (["rank"], ["round"])]
    assert sum("steals" in head for head in heads) == sum("upload" in head for head in heads) == 1
    (head,) = (head for head in heads if head[0] == "round")
    assert "cut" in head
    assert ["5.0", "MiB"] in [line[-2:] for line in lines]


def test_a_row_adds_a_field_to_the_page(outputs):
    (run,) = data_of(outputs["page"])["runs"]
    columns = {column["name"]: column for column in run["columns"]}
    assert columns["steals"] == {"name": "steals", "unit": "", "values": [41, 42]}
    assert run["phases"]["upload"] == columns["upload"]["values"] == [9.0, 2.0]
    assert run["series"]["lines"] == ["cut -", "cut -", "cut 5.0 MiB"]
    assert "joules: 1,234" in run["facts"]


def test_a_row_adds_a_field_to_the_trace(outputs):
    spans = outputs["trace"]["traceEvents"]
    first, second = (span["args"] for span in spans if span["name"] == "run")
    assert (first["steals"], first["joules"], second["steals"], first["upload"]) == (41, 1234, 42, 9.0)
    rounds = [span["args"] for span in spans if span["name"].startswith("round 3")]
    assert [(args["cut"], args.get("misses")) for args in rounds] == [(5 << 20, None), (5 << 20, 5)]


def test_a_row_adds_a_field_to_comparisons(outputs):
    head, _, first, second = (line.split() for line in outputs["comparison"].split("\n\n")[1].splitlines())
    assert {"steals", "joules"} <= set(head)
    assert "83" in first
    assert "41" in second
    columns = {column["name"]: column["values"] for column in data_of(outputs["compared"])["columns"]}
    assert (columns["steals"], columns["joules"]) == ([83, 41], [1234, 1234])


def test_a_row_adds_a_field_to_the_schema_and_the_guide(outputs):
    schema = outputs["schema"]
    rank = schema["properties"]["ranks"]["items"]["properties"]
    assert rank["counts"]["properties"]["steals"] == {"type": "integer", "minimum": 0, "description": "stolen tasks"}
    assert rank["rounds"]["properties"]["misses"]["items"] == {"type": "number", "minimum": 0}
    assert schema["properties"]["outcome"]["properties"]["joules"]["description"] == "energy"
    assert schema["$defs"]["round"]["properties"]["cut"]["type"] == "integer"
    assert list(violations(outputs["report"], SCHEMA)) == [], "a reader of the schema before accepts the new report"
    assert "|`upload`|s|rank|uploaded the graph|text, page, trace|" in outputs["guide"]
