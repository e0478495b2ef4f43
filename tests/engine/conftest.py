"""Fixtures of the tests of the engine."""

from pathlib import Path

import pytest

from dgraph.comm import world


@pytest.fixture
def shared(tmp_path):
    """Folder of rank 0, on all ranks."""
    return Path(world().bcast_json(str(tmp_path)))
