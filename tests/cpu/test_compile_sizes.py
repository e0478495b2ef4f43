"""A first run waits for no more compilation than on record: 10 % above it fails."""

import json

import pytest
from compile_sizes import RECORD, measured

pytestmark = [pytest.mark.exhaustive]


def test_nothing_compiles_a_tenth_more_than_on_record():
    record, larger = json.loads(RECORD.read_text()), []
    for name, (functions, lines) in measured().items():
        most = record.get(name, [0, 0])
        if functions > 1.1 * most[0] or lines > 1.1 * most[1]:
            larger.append(f"{name}: {functions} functions of {lines} lines, on record {most[0]} of {most[1]}")
    assert not larger, "make less compile, or write the record: python tests/support/compile_sizes.py"
