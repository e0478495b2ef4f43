"""Mutated files: threads, pieces, plain lines and bitmaps change nothing of a graph, its counts or a message."""

import os

import pytest
from reader_fuzz import one

READS = int(os.environ.get("DGRAPH_FUZZ_READS", "1500"))


def test_shortcuts_change_nothing(tmp_path):
    _agree(range(60), tmp_path)


@pytest.mark.exhaustive
@pytest.mark.timeout(0)
def test_shortcuts_change_nothing_of_many_inputs(tmp_path):
    _agree(range(1_000_000, 1_000_000 + READS), tmp_path)


def _agree(seeds, folder):
    runs = [one(seed, folder) for seed in seeds]
    differences = [difference for *_, difference in runs if difference]
    assert not differences, "\n".join(differences)
    assert sum(valid for _, valid, _ in runs) > len(runs) // 4
