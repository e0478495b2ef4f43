"""Specs of generated graphs: parsing, canonical form, and messages about invalid specs."""

import numpy as np
import pytest
from loading import loaded

from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.graph.generate import DEFAULT, GENERATORS, generate, is_generator


def whole(spec):
    return generate(spec, SerialComm())


@pytest.mark.parametrize(
    "spec",
    [
        "rmat:6",
        "rmat:6,symmetric,a=.4,b=.3,c=1e-1,permute=0,edge_factor=2.5,seed=9223372036854775807",
        "kron:5",
        "uniform:6,symmetric=1",
        "grid:4x3,torus,directed",
        "road:9x8,drop=0.30,seed=007",
        "star:9",
        "tree:14,arity=3",
        "smallworld:20,p=.3,k=6",
    ],
)
def test_name_spells_the_options_and_makes_the_same_graph(spec):
    raw = whole(spec)
    again = whole(raw.facts.name)
    assert again.facts.name == raw.facts.name
    assert np.array_equal(again.src, raw.src)
    assert np.array_equal(again.dst, raw.dst)
    assert again.directed == raw.directed


def test_names():
    assert whole("rmat:3").facts.name == "rmat:3,edge_factor=16,seed=1,a=0.57,b=0.19,c=0.19,permute=1"
    assert whole("uniform:03,symmetric=1,edge_factor=.5").facts.name == "uniform:3,edge_factor=0.5,seed=1,symmetric"
    assert whole("uniform:3,symmetric=0").facts.name == "uniform:3,edge_factor=16,seed=1"
    assert whole("grid:2x3,torus").facts.name == "grid:2x3,torus"
    assert whole("grid:2x3").facts.notes == ["generated grid of 2 x 3"]


def test_register():
    assert GENERATORS["grid"].form == "grid:ROWSxCOLS[,torus][,directed]"
    for name, generator in GENERATORS.items():
        assert generator.name == name
        assert generator.help
        assert all(option.help for option in generator.options.values())


def test_is_generator():
    assert is_generator(DEFAULT)
    assert is_generator("grid:")
    assert not is_generator("rmat")
    assert not is_generator("graph.gr")
    assert not is_generator("C:rmat")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("rmt:4", "unknown generator 'rmt': did you mean 'rmat'?"),
        ("rmat:", "no size"),
        ("rmat:x", "the size 'x', where an integer from 0 to 40"),
        ("rmat:41", "from 0 to 40"),
        ("rmat:-1", "from 0 to 40"),
        ("rmat:1e1", "from 0 to 40"),
        ("rmat:٣", "from 0 to 40"),
        ("rmat:4,", "'' is not an option"),
        ("rmat:4,=3", "'=3' is not an option"),
        ("rmat:4,sed=3", "did you mean 'seed'? known are a, b, c, edge_factor, noise, permute, seed, symmetric"),
        ("star:4,seed=3", "star has no options"),
        ("rmat:4,seed", "seed takes an integer from 0"),
        ("rmat:4,seed=", "seed takes an integer from 0"),
        ("rmat:4,seed=1.5", "seed takes an integer from 0"),
        ("rmat:4,seed=-1", "seed takes an integer from 0"),
        ("rmat:4,seed=9999999999999999999", "to 9223372036854775807"),
        ("rmat:4,seed=1,seed=1", "seed is given twice"),
        ("rmat:4,a=nan", "a takes a number from 0 to 1"),
        ("rmat:4,a=inf", "a takes a number from 0 to 1"),
        ("rmat:4,a=1.1", "a takes a number from 0 to 1"),
        ("rmat:4,a=.9", "a + b + c is 1.28"),
        ("rmat:4,permute=yes", "permute takes 0 or 1"),
        ("rmat:4,symmetric=", "symmetric takes 0 or 1"),
        ("rmat:40,edge_factor=1048576", "can be numbered"),
        ("grid:4", "such as 512x512"),
        ("grid:4x", "such as 512x512"),
        ("grid:0x4", "such as 512x512"),
        ("grid:2x2x2", "such as 512x512"),
        ("grid:2097152x1048576", "at most 2**40 vertices"),
        ("star:0", "a number of vertices from 1"),
        ("path:9999999999999", "a number of vertices from 1 to 2**40"),
        ("complete:1099511627776", "can be numbered"),
        ("tree:4,arity=0", "arity takes an integer from 1"),
        ("smallworld:4", "give an even k below 4"),
        ("smallworld:9,k=3", "give an even k below 9"),
    ],
)
def test_bad_specs(spec, said):
    with pytest.raises(UsageError) as caught:
        whole(spec)
    assert said in str(caught.value)
    assert spec.split(":")[0] in str(caught.value)


def test_bad_values_are_told_the_form():
    with pytest.raises(UsageError) as caught:
        whole("tree:4,arity=two")
    assert str(caught.value).endswith("write tree:N[,arity=2]")


@pytest.mark.parametrize("ranks", [1, 3])
def test_a_graph_that_memory_cannot_hold_is_refused_before_it_is_made(monkeypatch, ranks):
    """1.5 lists of 16 edges a vertex, 8 bytes an edge: 12 MiB for rmat:16, for any number of ranks on the host."""
    told = r"rmat:16: its 1,048,576 edges take 0\.0 GiB or more .* 0\.0 GiB are free on .* for \d of \d ranks"
    monkeypatch.setattr("dgraph.graph.build.collective_checks.free_memory", lambda: (12 << 20) - 1)
    monkeypatch.setattr("dgraph.graph.generate.generate", lambda *_: pytest.fail("generated"))
    with pytest.raises(UsageError, match=told):
        loaded("rmat:16", ranks)
    monkeypatch.undo()
    for free in (12 << 20, None):
        monkeypatch.setattr("dgraph.graph.build.collective_checks.free_memory", lambda free=free: free)
        loaded("rmat:16", ranks)
