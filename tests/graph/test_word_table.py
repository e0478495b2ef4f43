"""Words get the codes that a dict gives them, and stand in the order of their bytes."""

from itertools import pairwise

import numpy as np
import pytest

from dgraph.comm import SerialComm
from dgraph.graph.formats import word_table
from dgraph.graph.formats.word_table import WordTable


def coded(table, words):
    """Code words (list of bytes) that stand in a text with other letters around them."""
    text = np.frombuffer(b"?" + b"?".join(words) + b"?", np.uint8)
    ends = np.cumsum([len(word) + 1 for word in words], dtype=np.int64)
    spans = np.stack([ends - [len(word) for word in words], ends], axis=1) if words else np.empty((0, 2), np.int64)
    return table.codes(text, spans).tolist()


def test_words_whose_hashes_agree_in_slots_stay_apart(monkeypatch):
    """Some pairs of 2^18 words have a hash that leads to one slot of eight, and equal bits in the slot."""
    monkeypatch.setattr(word_table, "compiles", lambda size: True)
    words, pairs = {}, []
    for number in range(1 << 18):
        word = b"%d" % number
        key = word_table._hash(np.frombuffer(word, np.uint8), 0, len(word))
        other = words.setdefault((key >> 35, key & 7), word)
        pairs += [(other, word)] if other != word else []
    assert len(pairs) > 2
    for one, other in pairs:
        table = WordTable()
        assert coded(table, [one, b"x"]) == [0, 1]
        assert coded(table, [other, one, other, b"x"]) == [2, 0, 2, 1]
        assert coded(table, [one, other]) == [0, 2]


def test_compiled_words_get_the_codes_of_a_dict(monkeypatch):
    """A table grows within a piece and between pieces; empty words, and bytes of any value."""
    monkeypatch.setattr(word_table, "compiles", lambda size: True)
    random, table, listed, codes = np.random.default_rng(11), WordTable(), [], []
    for size in (1, 0, 2_000, 7, 3_000):
        words = [random.bytes(length) for length in random.integers(0, 3, size)]
        words += [random.integers(97, 104, length, np.uint8).tobytes() for length in random.integers(1, 31, size)]
        codes += coded(table, words)
        listed += words
    distinct = list(dict.fromkeys(listed))
    assert [distinct[code] for code in codes] == listed
    letters, offsets = table.texts
    assert [letters[low:high].tobytes() for low, high in pairwise(offsets)] == distinct
    assert distinct[-1] in table
    assert b"other" not in table


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
@pytest.mark.parametrize("many", [False, True])
def test_codes_become_positions_of_sorted_words(many, kind, monkeypatch):
    monkeypatch.setattr(word_table, "compiles", lambda size: many)
    monkeypatch.setattr(word_table, "CHUNK", 3)
    table, words = WordTable(), [b"b", b"a", b"b", b"ccc", b"d", b"a", b"e"]
    codes = coded(table, words[:3]) + coded(table, words[3:])
    assert codes == [0, 1, 0, 2, 3, 1, 4]
    names, (gids,) = table.number([np.array(codes, kind)], SerialComm())
    assert names.here[gids].tolist() == words
    assert gids.dtype == np.uint32
    assert coded(table, words[1:2]) == [0]


@pytest.mark.parametrize("few", [0, 1, 3, 20])
def test_a_table_goes_on_with_the_codes_of_a_dict(few, monkeypatch):
    listed = [b"%d" % (number % 20) for number in range(40)]
    monkeypatch.setattr(word_table, "compiles", lambda size: size > few * word_table.DEAR)
    table = WordTable()
    assert coded(table, listed[:few]) + coded(table, listed[few:]) == [number % 20 for number in range(40)]


@pytest.mark.parametrize("size", [0, 1, 3000])
def test_words_are_in_the_order_of_their_bytes(size):
    """Words of one to 30 bytes, some with a common beginning, bytes above 127 among them."""
    random = np.random.default_rng(3)
    words = np.array([b"http://" + random.bytes(length) for length in random.integers(0, 3, size)], "S30")
    words[1::3] = [random.bytes(length) for length in random.integers(1, 30, words[1::3].size)]
    for part in (words, np.repeat(words[:1], size)):
        assert np.array_equal(part[word_table.word_order(part)], np.sort(part))
