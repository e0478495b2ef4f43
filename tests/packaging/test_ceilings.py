"""Code lines and vague names by package stay below the ceilings of ``ceilings.toml``."""

import pytest

from benchmarks import code_structure
from benchmarks.code import listed
from benchmarks.code_ceilings import FILE, above, counts, written

pytestmark = pytest.mark.mpi_skip


def test_no_package_is_above_a_ceiling():
    messages = above(counts(), FILE.read_text())
    assert not messages, "\n".join(messages)


def test_an_unpacked_archive_lists_the_files_that_no_program_wrote(tmp_path):
    kept = ["README.md", "dgraph/graph/build/clean.py", "dgraph/run.py"]
    for name in (*kept, "build/a.py", "dgraph/__pycache__/run.pyc", ".github/a.yml", "x.egg-info/PKG-INFO", "PKG-INFO"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert sorted(listed(tmp_path)) == kept


def test_a_count_above_its_ceiling_is_named():
    tables = {
        "code_lines": {"dgraph/cli": 20, "launch": 5},
        "names_of_what_happened": {"launch": 3},
        "names_that_say_nothing": {"launch": 0},
    }
    text = written(tables)
    assert above(tables, text) == []
    assert '"dgraph/cli" = 22\n' in text
    tables["code_lines"] |= {"dgraph/cli": 23, "dgraph/new": 1}
    tables["names_of_what_happened"]["launch"] = 4
    assert [message.partition(", at most")[0] for message in above(tables, text)] == [
        "dgraph/cli: 23 code lines", "dgraph/new: 1 code lines", "launch: 4 names of what happened",
    ]  # fmt: skip


TEXT = '''"""The found rows."""
found = np.add.at(x, rows)  # each of them
rows[at] = f(data=found.known, text="made", more=\'\'\'item "held\'\'\')
'''


def test_names_in_texts_and_comments_do_not_count():
    files = {"dgraph/graph/build/a.py": TEXT, "dgraph/backend/cuda/x/b.py": "tmp = 1\n", "partitioning/c.cuh": "found"}
    assert code_structure.vague_names(files, code_structure.HAPPENED) == {"dgraph/backend/cuda": 0, "dgraph/graph": 4}
    assert code_structure.vague_names(files, code_structure.EMPTY) == {"dgraph/backend/cuda": 1, "dgraph/graph": 1}
