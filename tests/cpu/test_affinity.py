"""Threads per rank: the rank's share of the cores it may use, and the warning if the launcher binds it to fewer."""

import os
import sys

import pytest
from children import run

from dgraph._support import affinity
from dgraph.backend.cpu.backend import CpuBackend

pytestmark = pytest.mark.mpi_skip


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    monkeypatch.setattr(affinity, "quota", lambda: None)


@pytest.mark.parametrize(
    ("masks", "shares"),
    [
        ([0b1111] * 2, [2, 2]),  # no rank is bound
        ([0b1111] * 3, [1, 1, 1]),
        ([0b1] * 3, [1, 1, 1]),  # more ranks than cores
        ([0b11, 0b1100], [2, 2]),  # bound to sockets
        ([0b1, 0b10, 0b100, 0b1000], [1, 1, 1, 1]),  # bound to cores
        ([0b111111, 0b11], [5, 1]),  # two of six cores are shared
    ],
)
def test_a_core_is_divided_among_the_ranks_that_may_use_it(masks, shares):
    assert [affinity.share(masks, mine) for mine in masks] == shares


def test_a_control_group_may_allow_less(monkeypatch):
    monkeypatch.setattr(affinity, "quota", lambda: 5.0)
    assert affinity.share([0xFF] * 2, 0xFF) == 2


@pytest.mark.parametrize(
    ("launcher", "open_mpi", "masks", "told"),
    [
        (32, True, [0b1, 0b10], "bound this rank to 1 of 32 cores, its share would be 16"),
        (32, True, [0xFFFF, 0xFFFF << 16], ""),
        (2, True, [0b1, 0b10], ""),
        (0, True, [0b1, 0b10], ""),  # the launcher's process is not visible
        (32, False, [0b1, 0b10], ""),  # other launchers bind only on request
    ],
)
def test_open_mpi_that_binds_is_told_with_the_cure(launcher, open_mpi, masks, told, monkeypatch):
    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE", raising=False)
    if open_mpi:
        monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setattr(affinity, "_launcher_mask", lambda: (1 << launcher) - 1)
    monkeypatch.setattr(affinity, "mask", lambda: masks[0])
    backend = CpuBackend(None, len(masks), masks)
    assert told in backend.warning
    assert ("--bind-to none" in backend.warning) == bool(told)
    assert backend.threads == masks[0].bit_count()


@pytest.mark.parametrize("open_mpi", [True, False])
def test_the_launcher_is_found_above_a_shell_and_lends_its_cores(open_mpi, tmp_path):
    """Check the cores of launcher and rank: ``mpirun``, here a link to a shell, may use all cores, its child one."""
    shell = tmp_path / "mpirun"
    shell.symlink_to("/bin/sh")
    core = min(os.sched_getaffinity(0))
    code = (
        f"import os; os.sched_setaffinity(0, [{core}])\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from dgraph._support.affinity import _launcher_mask, cores, unbound\n"
        "with unbound(), ThreadPoolExecutor(1) as pool:\n"
        "    compiling = pool.submit(cores).result()\n"
        "print(cores(), _launcher_mask().bit_count(), compiling)\n"
    )
    (tmp_path / "look.py").write_text(code)
    started = "OMPI_COMM_WORLD_SIZE=2 " if open_mpi else ""
    ran = run([shell, "-c", f"sh -c '{started}{sys.executable} {tmp_path}/look.py; true'; true"], tmp_path / "logs")
    every = affinity.cores()
    assert ran.logs()[0].split() == ["1", str(every), str(every if open_mpi else 1)], ran.story()
