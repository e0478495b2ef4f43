"""``python -m dgraph`` from end to end: files, reports, output and exit codes, alone and on three ranks."""

import csv
import json
import os
import sys

import numpy as np
import pandas as pd
import pytest
from children import ROOT, run
from report_schema import SCHEMA, violations

from dgraph.cli import main
from dgraph.cli.columns.conditions import load_chosen
from dgraph.graph.stored_graph import Graph

pytestmark = [pytest.mark.mpi_skip, pytest.mark.starts_children, pytest.mark.interpreted]

LDBC = ROOT / "tests" / "data" / "ldbc_example"
GRAPH = str(LDBC / "example-directed.e")


@pytest.fixture
def dgraph(tmp_path, capfd, monkeypatch):
    """Function that runs a command line in a folder of its own; returns exit codes of all ranks, and their output."""
    monkeypatch.chdir(tmp_path)

    def call(line, ranks=None):
        words = line.replace("GRAPH", GRAPH).split()
        if ranks is None:
            return [main(words)], "".join(reversed(capfd.readouterr()))
        ran = run([sys.executable, "-m", "dgraph", *words], tmp_path / "ranks", timeout=100, ranks=ranks, cwd=tmp_path)
        assert ran.code == max(ran.codes()), ran.story()
        return ran.codes(), ran.text

    return call


def rows(path):
    return {int(vertex): float(value) for vertex, value in map(str.split, path.read_text().splitlines())}


@pytest.mark.parametrize(("algorithm", "ranks"), [("bfs", None), ("sssp", None), ("sssp", 3)])
def test_the_published_answer_lies_in_the_file(dgraph, tmp_path, algorithm, ranks):
    """Compare the output with the published answer, for the source of the .properties file."""
    graph = LDBC / "example-directed.properties"
    codes, said = dgraph(f"{algorithm} {graph} -o out.txt --quiet", ranks)
    assert (set(codes), said) == ({0}, "")
    assert rows(tmp_path / "out.txt") == rows(LDBC / f"example-directed-{algorithm.upper()}")


def test_with_nothing_named_it_says_what_it_takes(dgraph, tmp_path):
    codes, said = dgraph("sssp --report run.json", ranks=2)
    assert codes == [0, 0]
    for words in ("no graph was named: taking rmat:16", "weights int32", "it has the most out-edges"):
        assert words in said
    report = json.loads((tmp_path / "run.json").read_text())
    assert list(violations(report, SCHEMA)) == []
    assert report["command"] == ["python", "-m", "dgraph", "sssp", "--report", "run.json"]
    assert {choice["what"] for choice in report["choices"]} >= {"graph", "source", "policy", "threads", "transport"}
    assert sum(rank["counts"]["masters"] for rank in report["ranks"]) == report["graph"]["n"] == 1 << 16
    assert [line.split()[0] for line in said.splitlines() if "max/mean" in line] == ["max/mean"] * 2


def test_several_sources_share_one_load(dgraph, tmp_path):
    (tmp_path / "sources").write_text("1\n4\n")
    codes, said = dgraph("bfs GRAPH --source @sources -o out.txt --report run.json")
    assert codes == [0]
    assert said.count("] load ") == 1
    assert rows(tmp_path / "out.1.txt") == rows(LDBC / "example-directed-BFS")
    assert rows(tmp_path / "out.4.txt")[4] == 0
    assert not (tmp_path / "out.txt").exists()
    first, second = (json.loads((tmp_path / f"run.{source}.json").read_text()) for source in (1, 4))
    assert first["ranks"][0]["seconds"]["load"] > second["ranks"][0]["seconds"]["load"] >= 0


@pytest.mark.parametrize("ranks", [None, 3])
def test_the_table_of_rounds_is_a_file(dgraph, tmp_path, ranks):
    codes, _ = dgraph("bfs GRAPH --source 1 --report run.json --rounds-table rounds.csv", ranks)
    assert set(codes) == {0}
    kept = json.loads((tmp_path / "run.json").read_text())["rounds"]["kept"]
    with open(tmp_path / "rounds.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert [int(row["round"]) for row in table] == list(range(1, len(kept) + 1))
    assert [[row[name] for name in table[0]] for row in table] == [
        [str(row.get(name, "")) for name in table[0]] for row in kept
    ]


@pytest.mark.parametrize("ranks", [None, 3])
def test_a_limit_is_not_a_success_but_the_output_is_written(dgraph, tmp_path, ranks):
    codes, said = dgraph("pagerank GRAPH --max-iter 2 --tol 1e-12 -o out.npz", ranks)
    assert set(codes) == {3}
    assert said.count("did not converge") == 1
    assert "NOT CONVERGED" in said
    assert np.load(tmp_path / "out.npz")["pagerank"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        ("bfs huge.el --policy cvs", 2, "unknown policy 'cvs': did you mean 'cvc'?"),
        ("sssp huge.el --weights 9..1", 2, "LO is above HI"),
        ("bfs huge.el -o nowhere/out.txt", 74, "there is no folder nowhere"),
        ("bfs huge.el -o out.doc", 2, "unknown output format '.doc'"),
        ("bfs huge.el -o .", 2, "is a folder; name a file"),
        ("bfs huge.el --report nowhere/run.json", 74, "there is no folder nowhere"),
        ("bfs huge.el --report .", 2, "is a folder; name a file"),
        ("bfs huge.el --report=", 2, "is a folder; name a file"),
        ("bfs huge.el --rounds-table .", 2, "is a folder; name a file"),
        ("bfs huge.el --report pipe.csv", 2, "is a device or a pipe"),
        ("bfs huge.el -o pipe.csv", 2, "is a device or a pipe"),
        ("bfs huge.el --top 9223372036854775808", 2, "it is 1 or more, in 64 bits"),
        ("similarity huge.el --second 3", 2, "first has no vertices and second 1"),
        ("bfs huge.el --source @nowhere", 74, "cannot be read"),
        ("bfs huge.el -o out.txt --report ./out.txt", 2, "one would take the other's place"),
        ("bfs huge.el --report run.csv --rounds-table run.csv", 2, "--report and --rounds-table are both run.csv"),
        ("bfs huge.el --rounds-table nowhere/run.csv", 74, "there is no folder nowhere"),
        ("bfs huge.el --schedule alb --backend cpu", 2, "--schedule alb is about GPUs"),
        ("bfs huge.el --gpus 0,1 --backend cpu", 2, "--gpus 0,1 is about GPUs"),
        ("bfs huge.el --transport p2p --backend cpu", 2, "--transport p2p is about GPUs"),
        ("bfs huge.el --record load --backend cpu", 2, "--record load is about GPUs"),
        ("bfs huge.el --record residual", 2, "bfs has no residual to record"),
        ("pagerank huge.el --record residuals", 2, "did you mean 'residual'? known are load, ranges, residual, time"),
        ("bfs huge.el --rounds local --backend cpu", 2, "--rounds local is about GPUs"),
        ("bfs huge.el --rounds all.csv", 2, "by python -m dgraph … --rounds-table all.csv"),
        ("bfs huge.el --variant two-phase --backend cpu", 2, "variant two-phase of bfs says how a GPU walks"),
        ("bfs huge.el --without hash64", 2, "--without switches off features of bfs-4k"),
        ("pagerank huge.el --alpha 2", 2, "alpha = 2.0 is not a probability"),
        ("pagerank huge.el --precision single --tol 1e-8", 2, "tol = 1e-08 may never be met in single precision"),
        ("kcore huge.el --k -1", 2, "k = -1 is not a core number"),
    ],
)
def test_what_must_fail_fails_before_a_long_load(dgraph, tmp_path, monkeypatch, line, code, told):
    os.mkfifo(tmp_path / "pipe.csv")
    monkeypatch.setattr("dgraph.graph.handle.Graph.load", lambda *_, **__: pytest.fail("loaded"))
    codes, said = dgraph(line)
    assert codes == [code]
    assert said.startswith("dgraph: error: ")
    assert told in said
    assert len(said.splitlines()) == 1


def test_outputs_go_where_symbolic_links_point(dgraph, tmp_path):
    for name in ("run.json", "out.csv"):
        (tmp_path / name).symlink_to(tmp_path / f"real.{name}")
    codes, said = dgraph("cc rmat:4 --report run.json -o out.csv -q")
    assert codes == [0], said
    for name in ("run.json", "out.csv"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / f"real.{name}").stat().st_size > 50
    assert main(["cc", ""]) == 2  # not the default graph


def test_importing_and_helping_load_nothing_heavy(tmp_path):
    script = "import sys, dgraph; print(sorted({'numba', 'scipy', 'mpi4py', 'rich', 'cupy'} & set(sys.modules)))"
    assert run([sys.executable, "-c", script], tmp_path).text == "[]\n"
    script = "import sys; sys.argv[1:] = ['sssp', '--help']; from dgraph.cli import main; main(); " + script
    assert run([sys.executable, "-c", script], tmp_path).text.endswith("--help-all: every option\n[]\n")


def test_every_name_is_listed(dgraph):
    listed = json.loads(dgraph("list --json")[1])
    names = {title: {row["name"] for row in rows} for title, rows in listed.items()}
    assert names["algorithms"] >= {"bfs", "sssp", "cc", "pagerank", "kcore"}
    assert names["policies"] >= {"auto", "metis", "oec", "iec", "cvc", "hash"}
    assert names["generators"] >= {"rmat", "kron", "uniform", "grid", "road", "star", "path"}
    assert names["formats"] >= {".gr", ".col", ".mtx", ".e", ".cedge", ".el", ".wel", ".npz"}
    assert names["outputs"] == {".txt", ".npz", ".csv", ".parquet", ".arrow", ".feather"}
    assert all(row["help"] for rows in listed.values() for row in rows)
    text = dgraph("list")[1]
    assert all(name in text for group in names.values() for name in group)


@pytest.mark.parametrize(
    ("line", "gpus", "told"),
    [
        ("--backend cuda", 0, "backend cuda needs an NVIDIA GPU"),
        ("--backend cuda --schedule albb", 1, "unknown schedule 'albb': did you mean 'alb'?"),
        ("--backend cuda --schedule vertex,warp_size=4", 1, "the schedule vertex has no options"),
        ("--backend cuda --schedule alb,treshold=4", 1, "did you mean 'threshold'?"),
        ("--backend cuda --record heat", 1, "unknown thing to record 'heat'"),
    ],
)
def test_what_a_gpu_cannot_fails_before_a_long_load(dgraph, monkeypatch, line, gpus, told):
    monkeypatch.setattr("dgraph.graph.handle.Graph.load", lambda *_, **__: pytest.fail("loaded"))
    monkeypatch.setattr("dgraph.backend.cuda.device.device.count", lambda: gpus)
    codes, said = dgraph(f"bfs huge.el {line}")
    assert codes == [2]
    assert told in said


@pytest.mark.parametrize("ranks", [None, pytest.param(3, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_conditions_choose_edges_and_attributes_join_the_largest_rows(dgraph, tmp_path, suffix, ranks):
    """Compare the degrees of one month, and the rows written, with pandas' counts."""
    random = np.random.default_rng(1)
    times = pd.Timestamp("2024-02-20") + pd.to_timedelta(random.integers(0, 40, 300), unit="D")
    table = pd.DataFrame(
        {
            "payer": random.integers(0, 30, 300), "payee": random.integers(30, 60, 300), "paid": times,
            "how": random.choice(["card", "cash", "wire"], 300), "big": random.random(300) < 0.8,
        }
    )  # fmt: skip
    (table.to_parquet if suffix == "parquet" else table.to_csv)(tmp_path / f"t.{suffix}", index=False)
    people = pd.DataFrame({"id": np.arange(90), "since": pd.Timestamp("2001-01-01"), "city": ["Ulm", None] * 45})
    people.to_parquet(tmp_path / "people.parquet", index=False)
    codes, said = dgraph(
        f"degrees t.{suffix} --columns payer,payee --keep paid,how,big --keep-parallel --where paid>=2024-03-01 "
        "--where paid<2024-04-01 --where how!=wire --where big=true --where source<25 --top 4 "
        "--attributes people.parquet -o out.csv --report run.json --quiet",
        ranks,
    )
    assert set(codes) == {0}, said
    march = table[(table.paid.dt.month == 3) & (table.how != "wire") & table.big & (table.payer < 25)]
    degrees = pd.concat([march.payer, march.payee]).value_counts()
    largest = sorted(((-count, vertex) for vertex, count in degrees.items()))[:4]
    report = json.loads((tmp_path / "run.json").read_text())
    top, dropped = report["outcome"]["top"], 90 - len({*table.payer, *table.payee, *range(table.payee.max() + 1)})
    assert f"people.parquet: left out {dropped} of 90 rows, of vertices that the graph does not have" in said
    assert list(zip(top["degree"], top["vertex"], strict=True)) == [(-count, vertex) for count, vertex in largest]
    assert top["city"] == [None if vertex % 2 else "Ulm" for vertex in top["vertex"]]
    assert set(top["since"]) == {"2001-01-01T00:00:00"}
    written = pd.read_csv(tmp_path / "out.csv").set_index("vertex")
    assert written.degree[written.degree > 0].to_dict() == degrees.to_dict()
    assert written.city.isna().sum() == sum(vertex % 2 for vertex in written.index)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_conditions_read_columns_that_are_not_kept_before_rows_merge(dgraph, tmp_path, suffix):
    """The answer is that of a table of the rows that pandas chooses, weighted by a column that is not kept either."""
    random = np.random.default_rng(2)
    times = pd.Timestamp("2024-02-20") + pd.to_timedelta(random.integers(0, 40 * 24, 400), unit="h")
    table = pd.DataFrame(
        {
            "from": random.integers(0, 12, 400), "to": random.integers(0, 12, 400), "when": times,
            "amount": random.integers(1, 99, 400),
        }
    )  # fmt: skip
    write = "to_parquet" if suffix == "parquet" else "to_csv"
    getattr(table, write)(tmp_path / f"t.{suffix}", index=False)
    march = table[(table.when.dt.month == 3) & (table.amount > 20)]
    getattr(march, write)(tmp_path / f"march.{suffix}", index=False)
    assert march.duplicated(["from", "to"]).any()
    chosen = f"t.{suffix} --where when=2024-03 --where amount>20"
    for options, wanted in ((f"{chosen} --weight amount", f"march.{suffix} --weight amount"),
                            (f"{chosen} --columns from,to,amount", f"march.{suffix} --columns from,to,amount"),
                            (f"t.{suffix} --where when>2024-02 --where from!=3 --where amount>20 --undirected",
                             f"march.{suffix} --where from!=3 --undirected")):  # fmt: skip
        for words in (f"pagerank {options} -o a.csv -q", f"pagerank {wanted} -o b.csv -q"):
            codes, said = dgraph(words)
            assert codes == [0], said
        a, b = (pd.read_csv(tmp_path / f"{name}.csv").set_index("vertex").pagerank for name in "ab")
        np.testing.assert_allclose(a, b, rtol=1e-9)
    codes, said = dgraph(f"cc t.{suffix} --where colour=red")
    assert codes == [2]
    assert "unknown column of" in said
    assert "amount" in said
    codes, said = dgraph("cc rmat:4 --where colour=red")
    assert "known are source, target, weight" in said


def test_a_name_of_another_library_is_answered_by_the_command(dgraph):
    for word, answer in (
        ("components", "there is cc"),
        ("shortest_path", "there is bfs, or sssp"),
        ("path", "--target"),
    ):
        codes, said = dgraph(f"{word} rmat:4")
        assert codes == [2]
        assert answer in said


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(
    ("condition", "code", "message"),
    [
        ("code=7", 2, "column code holds text, and no value of it equals '7'; nearest to it: '007', '7a'"),
        ("code!=7", 2, "write the text as the column has it, such as 007"),
        ("source=7", 2, "column source holds text, and no value of it equals '7'; nearest to it: '0007'"),
        ("kind=crad", 0, "column kind holds text, and no value of it equals 'crad'; nearest to it: 'card'"),
        ("code=007", 0, ""),
        ("code=", 0, ""),
    ],
)
def test_a_condition_on_text_that_no_value_equals_names_the_nearest(dgraph, tmp_path, condition, code, message, ranks):
    rows = "0007,b,007,card\nb,c,7a,cash\nc,d,,wire\nd,e,010,card\n"
    (tmp_path / "t.csv").write_text(f"source,target,code,kind\n{rows}")
    codes, said = dgraph(f"cc t.csv --ids string --where {condition} --quiet", ranks)
    assert set(codes) == {code}, said
    assert message in said
    assert message or "no value" not in said


@pytest.mark.parametrize(
    ("condition", "sources"),
    [
        ('txt=="=x"', [0]), ('txt="=x"', [0]), ('txt!="=x"', [1, 2, 3, 4]), ('txt=" a "', [1]), ("txt= a ", []),
        ('txt="""q"""', [2]), ("txt=a=b", [3]), ('txt="a=b"', [3]), ('txt=""', [4]), ('n<="2"', [0, 1]),
        ('"n<"="5"', [3]), ('"n<" >= 4 ', [2, 3, 4]), ('weight="3"', [2]),
    ],
)  # fmt: skip
def test_quoted_words_of_a_condition_are_texts_with_signs_blanks_and_marks(tmp_path, condition, sources):
    """Row v of the file goes from v to v + 5."""
    rows = '0,5,1,=x,1,2\n1,6,2," a ",2,3\n2,7,3,"""q""",3,4\n3,8,4,a=b,4,5\n4,9,5,,5,6\n'
    (tmp_path / "t.csv").write_text(f"source,target,weight,txt,n,n<\n{rows}")
    graph = load_chosen(Graph.load, str(tmp_path / "t.csv"), [condition], {})
    assert sorted(graph.to_pandas().source.tolist()) == sources


@pytest.mark.parametrize("condition", ['txt="a', 'txt="a"b', 'txt="', '"txt=a', '"t"xt=a', '"a"="b"="c"'])
def test_marks_that_do_not_quote_a_whole_word_are_refused(dgraph, tmp_path, condition):
    (tmp_path / "t.csv").write_text("source,target,txt\n0,1,a\n")
    codes, said = dgraph(f"cc t.csv --where {condition}")
    assert codes == [2]
    assert "does not quote all of the word; close it at the end" in said


def test_conditions_and_largest_rows_are_refused_by_name(dgraph, tmp_path):
    rows = "1,2,2024-03-01,card,true\n2,3,2024-04-01,cash,false\n3,4,,,true\n"
    (tmp_path / "t.csv").write_text(f"source,target,paid,how,big\n{rows}")
    for options, message in (
        ("--where paid", "write a column, one of"),
        ("--where paid>May", "needs a time"),
        ("--where big=maybe", "needs true or false"),
        ("--where source<x", "the column source holds numbers, needs a number to compare with, and got 'x'"),
        ("--where how=5", "column how holds text, and no value of it equals '5'; none is near to it"),
        ("--where how<card", "holds text, which is compared by = and !="),
        ("--where hov=card", "did you mean 'how'?"),
        ("--top 2 --quiet", "--top 2 prints rows, and --quiet nothing"),
        ("--top 0", "--top 0, but it is 1 or more"),
        ("--attributes t.csv", "give --top or --output"),
        ("--attributes absent.csv -o out.txt", "out.txt has room for one column"),  # before the load
        ("--top 2 --attributes t.json", "read from .csv, .parquet and .arrow"),
        ("--top 2 --format gap", "--top prints rows"),
    ):
        codes, said = dgraph(f"degrees t.csv --keep paid,how,big {options}")
        assert codes == [2], options
        assert message in said, said
    codes, said = dgraph("degrees t.csv --keep paid,how,big --where paid<2024-03-15 --top 2")
    assert codes == [0]
    assert "top 1    1: 1" in said
    assert "top 2    2: 1" in said
    codes, said = dgraph("convert t.csv u.csv --keep paid,how --where how=cash")
    assert codes == [0]
    assert (tmp_path / "u.csv").read_text().splitlines()[1:] == ["2,3,2024-04-01T00:00:00.000000,cash"]
    for condition in ("how=", "paid="):
        codes, said = dgraph(f"convert t.csv {condition}.csv --keep paid,how --where {condition}")
        assert codes == [0]
        assert (tmp_path / f"{condition}.csv").read_text().splitlines()[1:] == ["3,4,,"]
