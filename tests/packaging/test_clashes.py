"""A package named ``partitioning`` or ``launch`` before ours on the path is reported with its file."""

import os
import subprocess
import sys

import pytest
from children import ROOT

from dgraph._support.clashes import clash


@pytest.mark.starts_children
@pytest.mark.parametrize(("package", "command"), [("partitioning", "import dgraph"), ("launch", "import dgraph.cli")])
def test_another_package_is_told_with_its_file(package, command, tmp_path):
    (tmp_path / package).mkdir()
    other = tmp_path / package / "__init__.py"
    other.write_text("")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    words, env = [sys.executable, "-c", command], {**os.environ, "PYTHONPATH": path}
    ended = subprocess.run(words, env=env, capture_output=True, text=True, cwd=tmp_path)
    text = " ".join((ended.stdout + ended.stderr).split())
    assert f"needs its own package '{package}'" in text
    assert str(other) in text.replace(" ", "") or str(other) in text


def test_no_clash_here():
    assert clash("partitioning") == clash("launch") == ""
    assert "no such package" in clash("a_package_that_nobody_has")
