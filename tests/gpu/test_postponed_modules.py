"""A first run on several GPUs does without the large modules, whose kernels run many rounds in one launch."""

import threading

import pytest
from emulated import Device, needs_compiler
from gpu_ranks import run
from test_cuda_exchange import PROGRAMS, check, mesh

from dgraph.algorithms.cc import UnionFindLabels
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.round_kernels.machine import GpuMachine
from dgraph.backend.cuda.round_kernels.module_set import LARGE
from dgraph.engine.rounds import context

pytestmark = [pytest.mark.mpi_skip, needs_compiler]


class Background:
    """Stand-in for the cache folder: postponed and awaited texts, and whether the former are compiled on a rank."""

    def __init__(self, compiled):
        self.compiled, self.texts, self.launches, self.awaited = compiled, [], [], []


@pytest.fixture
def background(monkeypatch):
    folder, across = Background(lambda: False), GpuMachine.run_device_rounds
    launch = GpuMachine.launch

    def run_device_rounds(self, limit):
        folder.launches.append("multi_gpu_rounds")
        across(self, limit)

    def counted(self, *calls):
        folder.launches += [call[1] for call in calls if call[1] in LARGE]
        launch(self, *calls)

    monkeypatch.setattr(Device, "postpones", True)
    monkeypatch.setattr(Device, "ready", lambda *_: folder.compiled(), raising=False)
    monkeypatch.setattr(Device, "postpone", lambda _, texts: folder.texts.extend(texts), raising=False)
    monkeypatch.setattr(Device, "prepare", lambda _, texts: folder.awaited.extend(texts))
    monkeypatch.setattr(GpuMachine, "run_device_rounds", run_device_rounds)
    monkeypatch.setattr(GpuMachine, "launch", counted)
    return folder


def endings(texts):
    return {next(name for name in LARGE if called.endswith(name)) for _, called in texts}


@pytest.mark.parametrize("name", ["level", "dist", "label", "core", "rank"])
@pytest.mark.parametrize("options", [{}, {"host_rounds": True}])
def test_answers_are_the_same_without_large_modules(background, name, options):
    (results,) = run(3, mesh(), [PROGRAMS[name]], options=GpuPlan(**options))
    check([results], [name])
    assert not background.launches
    assert background.awaited
    assert not any(called.endswith(LARGE) for _, called in background.awaited)
    assert bool(background.texts) == (name != "rank")
    choices = [choice for choice in results[0][2].choices if choice["what"] == "small rounds"]
    assert bool(choices) == (name != "rank")


def test_components_by_trees_do_without_them(background):
    (results,) = run(3, mesh(), [UnionFindLabels()], options=GpuPlan())
    check([results], ["label"])
    assert background.texts
    assert not background.launches


def test_loops_of_hosts_are_not_compiled_where_gpus_pack_messages(background, monkeypatch):
    prepared = []
    monkeypatch.setattr(context, "compiles", lambda size: True)
    monkeypatch.setattr("dgraph.engine.sync.prepare", prepared.append)
    monkeypatch.setattr(Device, "compiled", lambda *_: False)
    for direct in (True, False):
        (results,) = run(2, mesh(), [PROGRAMS["level"]], direct=direct, options=GpuPlan())
        check([results], ["level"])
    assert not prepared


def test_one_rank_that_lacks_them_is_enough(background):
    first = threading.current_thread

    def compiled():
        names.append(first().name)
        return names[-1] == names[0]

    names = []
    background.compiled = compiled
    (results,) = run(2, mesh(), [PROGRAMS["level"]], options=GpuPlan())
    check([results], ["level"])
    assert len(set(names)) == 2
    assert background.texts
    assert not background.launches


def test_a_later_program_of_the_same_process_takes_them(background):
    background.compiled = lambda: len(background.texts) >= 2 * len(endings(background.texts)) > 0
    results = run(2, mesh(), [PROGRAMS["level"], PROGRAMS["level"]], direction="push", options=GpuPlan())
    check(results, ["level", "level"])
    assert background.launches
    assert endings(background.texts) == set(background.launches)


def test_a_schedule_that_the_user_named_waits_for_them(background):
    (results,) = run(2, mesh(), [PROGRAMS["level"]], direction="push", options=GpuPlan(schedule="persistent"))
    check([results], ["level"])
    assert background.launches
    assert not background.texts
