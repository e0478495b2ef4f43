"""Separators, decimal commas, comments and line ends of edge lists: read as written, or refused by file and line."""

import gzip
import re

import pytest
from loading import agreed, share, written
from plain_tables import zstd
from simulated import on_ranks

from dgraph.errors import DataError, UsageError
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions

NAMED = {"ids": "string"}
PACKINGS = {"plain": bytes, "gzip": gzip.compress, "zstd": lambda text: zstd().compress(text)}


def edges(path, ranks=1, **options):
    """Return the edges with original ids or names, and the facts of the load."""

    def work(comm):
        block = load(str(path), comm, LoadOptions(**options))
        _, _, src, dst = share(block, comm)
        if block.ids.names is not None:
            src, dst = (block.ids.names.of(ends, comm).tolist() for ends in (block.sources(), block.targets))
        weights = [] if block.weights is None else [block.weights.tolist()]
        return list(zip(src, dst, *weights, strict=True)), block.facts

    parts, facts = zip(*agreed(on_ranks(ranks, work)), strict=True)
    return sorted(edge for part in parts for edge in part), facts[0]


NUMBERS = [(1, 2, 0.5), (2, 3, 1.5e3)]
WORDS = [("a", "b", 0.5), ("b", "c", 1.5e3)]
DECIMAL = ["1{0}2{0}0,5\n2{0}3{0}1,5e3\n", "source{0}target{0}weight\n1{0}2{0}0,5\n2{0}3{0}1,5e3\n"]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.tsv"])
@pytest.mark.parametrize("separator", [";", " ", "|", "\t", " ; "])
@pytest.mark.parametrize("header", [0, 1])
def test_a_fraction_is_never_cut(header, separator, name, packing, ranks, tmp_path):
    numbers = DECIMAL[header].format(separator)
    words = numbers.replace(f"1{separator}2", f"a{separator}b")
    words = words.replace(f"2{separator}3", f"b{separator}c")
    for text, options, wanted in ((numbers, {}, NUMBERS), (words, NAMED, WORDS)):
        path = written(tmp_path, name, PACKINGS[packing](text.encode()))
        for columns in (None, "1,2,3", *(["source,target,weight"] if header else [])):
            with pytest.raises(DataError, match=r"a\.(csv|txt|tsv):[12]: .*--decimal ,"):
                edges(path, ranks, columns=columns, **options)
            spelled = separator.strip() or separator
            with pytest.raises(DataError, match=r"a\.(csv|txt|tsv):[12]: .*--decimal ,"):
                edges(path, ranks, columns=columns, separator=spelled, **options)
            assert edges(path, ranks, columns=columns, decimal=",", **options)[0] == wanted


READ = [
    ("Anna Smith,Ben Kerr\n", NAMED, [("Anna Smith", "Ben Kerr")]),
    ("Anna Smith\tBen Kerr\t2.5\n", NAMED, [("Anna Smith", "Ben Kerr", 2.5)]),
    ('"Smith, J";"Kerr, B"\n', NAMED, [("Smith, J", "Kerr, B")]),
    ('"Smith, J" "Kerr, B"\n', NAMED, [("Smith, J", "Kerr, B")]),
    ('a,b,"0,5"\n', NAMED | {"decimal": ","}, [("a", "b", 0.5)]),
    ('1,2,"0,5"\n', {"decimal": ","}, [(1, 2, 0.5)]),
    ("1.5;b;1.234\n", NAMED, [("1.5", "b", 1.234)]),
    ("1, 2 , 0.5\n", {}, [(1, 2, 0.5)]),
    ("1|2\n", {}, [(1, 2)]),
    ("1 2\t1\t99\n2 3\t1\t98\n", {"columns": "1,2,3"}, [(1, 2, 1), (2, 3, 1)]),
    ("1 \t 2\n3  4\n", {}, [(1, 2), (3, 4)]),
    ("1,2\n", {"separator": ","}, [(1, 2)]),
    ("1\t2\n", {"separator": "tab"}, [(1, 2)]),
    ("1,2,\n2,3,x\n", {"columns": "1,2"}, [(1, 2), (2, 3)]),
    ("u,v,note\n1,2,\n2,3,a b\n", {}, [(1, 2), (2, 3)]),
    ("\tsource\ttarget\n0\t5\t6\n", {"columns": "source,target"}, [(5, 6)]),
    ('1\t2\n\t\n\t# a "remark\n2\t3\n \t\n\t', {}, [(1, 2), (2, 3)]),
]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(("text", "options", "wanted"), READ)
def test_separators_that_fit_are_used(text, options, wanted, ranks, tmp_path):
    assert edges(written(tmp_path, "a.txt", text), ranks, **options)[0] == wanted


REFUSED = [
    ("a;b,c\n", NAMED, "a.csv:1: .*by ',' or by ';'.*--separator , .*--separator ';'"),
    ("1 2,3\n", {}, "a.csv:1: .*by ',' or by blanks.*--separator ' '"),
    ("a|b\tc\n", NAMED, r"a.csv:1: .*by tabs or by '\|'.*--separator tab"),
    ("1,2\n3,4\n5 6\n", {}, "a.csv:3: .*a blank follows column 1, and ',' stands between"),
    ("1,2,0,5\n", {}, "a.csv:1: .*goes on after column 3"),
    ("source,target,weight\n1,2,0,5\n", {"columns": "source,target,weight"}, "a.csv:1: .*a header of 3 columns"),
    ("a,b\nc,d\ne f\n", NAMED, "a.csv:3: .*a column is missing; columns are separated by ','"),
    ("a b\nc,d\n", NAMED, "a.csv: most lines have 1 column;.*--separator"),
]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_separators_that_may_be_either_are_refused(text, options, message, ranks, tmp_path):
    with pytest.raises(DataError, match=message):
        edges(written(tmp_path, "a.csv", text), ranks, **options)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("mark", ["#", "%"])
@pytest.mark.parametrize("packing", PACKINGS)
def test_names_that_begin_with_marks_are_data(packing, mark, ranks, tmp_path):
    text = f"{mark} hashtags\nsource,target\n{mark}ai,{mark}ml\n{mark}ml,nlp\npython,{mark}ai\n"
    graph, facts = edges(written(tmp_path, "a.csv", PACKINGS[packing](text.encode())), ranks, ids="string")
    assert graph == sorted([(f"{mark}ai", f"{mark}ml"), (f"{mark}ml", "nlp"), ("python", f"{mark}ai")])
    assert (facts.lines_dropped, facts.warnings) == (0, [])


HIDDEN = [
    ("#a,#b\nc,#a\n", NAMED, 1, "line 1, '#a,#b'"),
    ("a b\n#c d\nb c\n", NAMED | {"comment": "#"}, 1, "line 2, '#c d'"),
    ("1 2\n# 3 4\n5 6\n#7 8\n", {}, 2, "line 2, '# 3 4'.* 1 more"),
    ("% 3 4\n1 2\n", {}, 1, "line 1, '% 3 4'"),
    ("1,2,3\n#3,4,5\n5,6,7\n", {}, 1, "line 2, '#3,4,5'"),
    ("1 2\n3 4\n", {}, 0, ""),
    ("1\t2\n\t#3\t4\n5\t6\n", {}, 1, r"line 2, '\\t#3\\t4'"),
    ("# Nodes: 4 Edges: 2\n# FromNodeId\tToNodeId\n1\t2\n3\t4\n", {}, 0, ""),
    ("% sym weighted\n% 2 4 4\n1 2 9\n3 4 9\n", {}, 0, ""),
    ("1 2\n# a remark\n3 4\n", {}, 0, ""),
]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(("text", "options", "count", "words"), HIDDEN)
def test_skipped_lines_that_may_be_edges_are_counted_and_shown(text, options, count, words, ranks, tmp_path):
    facts = edges(written(tmp_path, "a.txt", text), ranks, **options)[1]
    assert facts.lines_dropped == count
    assert len(facts.warnings) == (count > 0)
    if count:
        assert re.search(f"{words}.*--comment ''", facts.warnings[0])


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("suffix", ["el", "wel", "cedge"])
def test_fixed_columns_have_the_same_comments(suffix, ranks, tmp_path):
    line = {"el": "1 2\n", "wel": "1 2 3\n", "cedge": "0 1 2 3\n"}[suffix]
    path = written(tmp_path, f"a.{suffix}", f"{line}#{line}")
    assert edges(path, ranks)[1].lines_dropped == 1
    with pytest.raises(DataError, match=":2: "):
        edges(path, ranks, comment="")


def test_no_line_is_a_comment(tmp_path):
    assert edges(written(tmp_path, "a.csv", "#a,#b\n%c,d\n"), ids="string", comment="")[0] == [
        ("#a", "#b"),
        ("%c", "d"),
    ]
    with pytest.raises(DataError, match=r"a\.txt:1: got '# 1'"):
        edges(written(tmp_path, "a.txt", "# 1\n1 2\n"), comment="")


ENDS = ["\r\r\n", "\n\r", "\r", "\r\n\r"]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("text", ["a b|b c|c a|", "1 2|2 3|3 1|", "a,b,1|b,c,2|c,a,3|", "source,target|a,b|b,c|"])
def test_line_ends_of_other_kinds_are_refused(text, end, packing, ranks, tmp_path):
    options = {} if text[0] == "1" else NAMED
    for ends in ([end] * 9, ["\n", *[end] * 9]):
        content = "".join(line + ends[place] for place, line in enumerate(text.split("|")[:-1]))
        path = written(tmp_path, "a.txt", PACKINGS[packing](content.encode()))
        with pytest.raises(DataError, match=r"a\.txt:[1-4]: .*carriage return"):
            edges(path, ranks, **options)


def test_wrong_options_are_refused(tmp_path):
    path = written(tmp_path, "a.txt", "1 2\n")
    for options, words in (({"separator": ""}, "separator ''"), ({"separator": "::"}, "separator '::'"),
                           ({"comment": "//"}, "comment '//'"), ({"decimal": "'"}, "decimal mark")):  # fmt: skip
        with pytest.raises(UsageError, match=words):
            edges(path, **options)
