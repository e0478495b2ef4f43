"""Columns that the header of an edge list names: the weight is ``weight`` or what the user names, others are noted."""

import gzip

import pytest
from loading import agreed, loaded, written
from simulated import on_ranks

from dgraph.errors import DataError
from dgraph.graph.load import load
from dgraph.graph.load_options import LoadOptions

INTEGERS = {"ends": [("1", "2"), ("2", "3")]}
WORDS = {"ends": [("a", "b"), ("b", "c")], "ids": "string"}
HEADERS = [
    ("source,target,timestamp", [None, None], "timestamp", ""),
    ("source,target,weight", [7, 8], "", ""),
    ("Source,Target, WEIGHT ", [7, 8], "", ""),
    ("source,target,time,weight", [8, 9], "time", ""),
    ("source,target,weight,time", [7, 8], "time", ""),
    ("source,target,w", [None, None], "w", "--columns source,target,w"),
    ("source,target,Amount", [None, None], "Amount", "--columns source,target,Amount"),
    ("source,target,cost,value", [None, None], "cost, value", "--columns source,target,cost"),
    ("from,to,weights", [None, None], "weights", "--columns from,to,weights"),
    ("who,whom,kind", [None, None], "kind", ""),
    ("source,target", [None, None], "", ""),
]


def facts_and_weights(path, ranks, **options):
    def work(comm):
        block = load(str(path), comm, LoadOptions(**options))
        return [] if block.weights is None else block.weights.tolist(), block.weights is None, block.facts

    parts = agreed(on_ranks(ranks, work))
    unweighted = {part[1] for part in parts}
    assert len(unweighted) == 1
    return parts[0][2], None if unweighted.pop() else sorted(weight for part in parts for weight in part[0])


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("kind", [INTEGERS, WORDS], ids=["integers", "words"])
@pytest.mark.parametrize("packing", ["plain", "gzip"])
@pytest.mark.parametrize(("header", "weights", "unused", "option"), HEADERS)
def test_a_header_names_the_weight(header, weights, unused, option, packing, kind, ranks, tmp_path):
    options = {"ids": kind["ids"]} if "ids" in kind else {}
    rows = [
        ",".join([*ends, *(str(7 + place + line) for place in range(header.count(",") - 1))])
        for line, ends in enumerate(kind["ends"])
    ]
    content = "\n".join([header, *rows, ""]).encode()
    path = written(tmp_path, "a.csv", gzip.compress(content) if packing == "gzip" else content)
    facts, read = facts_and_weights(path, ranks, **options)
    assert read == (None if weights[0] is None else weights)
    assert [note for note in facts.notes if "not used" in note] == ([f"columns not used: {unused}"] if unused else [])
    assert len(facts.warnings) == bool(option)
    if option:
        assert option in facts.warnings[0]
        named = option.partition("--columns ")[2]
        assert facts_and_weights(path, ranks, columns=named, **options)[1] == [7, 8]


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("text", ["1 2 7\n2 3 8\n", "3 2\n1 2 7\n2 3 8\n", "# source target time\n1 2 7\n2 3 8\n"])
def test_without_a_header_the_third_number_is_the_weight(text, ranks, tmp_path):
    path = written(tmp_path, "a.txt", text)
    assert facts_and_weights(path, ranks)[1] == [7, 8]
    if text[0] == "1":
        assert facts_and_weights(path, ranks, ids="string")[1] == [7, 8]


def test_generated_weights_replace_a_column_without_a_warning(tmp_path):
    facts = loaded(written(tmp_path, "a.csv", "source,target,cost\n1,2,7\n"), weights="unit").facts
    assert facts.warnings == []


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("who,whom,when,weight\n1,2,3,4\n", {}, "which are the ends"),
        ("source,target\n1,2,3\n", {}, "a header of 2 columns, and most lines have 3"),
        ("source,target,weight,WEIGHT\n1,2,3,4\n", {}, "both named weight"),
        ("target,source,weight\n1,2,3\n", {}, "--columns 2,1"),
        ("source,target,weight\n1,2,3\n2,3,4,5\n", {}, "a.csv:3: .*goes on after column 3"),
        ("a,b,friend\nc,d,enemy\n", {"ids": "string"}, "the weight 'friend' is not a number"),
    ],
)
def test_headers_that_do_not_say_enough_are_refused(text, options, message, ranks, tmp_path):
    with pytest.raises(DataError, match=message):
        facts_and_weights(written(tmp_path, "a.csv", text), ranks, **options)
