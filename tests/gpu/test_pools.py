"""Unused GPU memory is given back before anything is refused: pools over a simulated CuPy, graphs on emulated GPUs."""

import gc
import weakref
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from emulated import Device, needs_compiler
from flat_run import flat_run

from dgraph.backend.cuda.backend import CudaBackend
from dgraph.backend.cuda.device import device as cuda
from dgraph.backend.cuda.device import pools
from dgraph.backend.cuda.device.ipc_memory import WHOLE
from dgraph.backend.cuda.gpu_options import GpuPlan
from dgraph.backend.cuda.graph_build import BuiltGraph
from dgraph.backend.cuda.graph_build.build_memory import demand
from dgraph.comm import SerialComm
from dgraph.errors import UsageError
from dgraph.graph.load_options import LoadOptions

pytestmark = pytest.mark.mpi_skip
TOTAL = 64 * WHOLE


class Pool:
    """Stand-in for CuPy's pool: memory refers to it weakly, and becomes invalid if the pool is freed first."""

    def __init__(self, gpu):
        self.gpu, self.kept, self.used, self.limit = gpu, 0, 0, 0
        self.weak = weakref.ref(self)  # shared by all memory: gc would clear a weak reference inside garbage first
        weakref.finalize(self, gpu.ended, self.__dict__)

    def malloc(self, size):
        taken = max(size - self.kept, 0)
        if taken > self.gpu.free or 0 < self.limit < self.total_bytes() + taken:
            raise MemoryError(f"{size} bytes")
        self.gpu.free -= taken
        self.kept += taken - size
        self.used += size
        return Memory(self, size)

    def free_all_blocks(self):
        self.gpu.free += self.kept
        self.kept = 0

    def set_limit(self, size):
        self.limit = size

    def free_bytes(self):
        return self.kept

    def used_bytes(self):
        return self.used

    def total_bytes(self):
        return self.used + self.kept


class Memory:
    def __init__(self, pool, size):
        self.pool, self.size, self.ptr = pool.weak, size, 4096

    def __del__(self):
        pool = self.pool()
        if pool is not None:
            pool.used -= self.size
            pool.kept += self.size


class Gpu:
    """Stand-in for CuPy with one GPU."""

    CUDARuntimeError = RuntimeError

    def __init__(self):
        self.free, self.lost = TOTAL, 0
        self.spare = Pool(self)
        self.get_default_memory_pool = lambda: self.spare
        self.__version__ = "14.0"
        runtime = SimpleNamespace(
            CUDARuntimeError=RuntimeError, malloc=self.raw, free=self.returned, memset=lambda *_: None,
            deviceSynchronize=lambda: None, driverGetVersion=lambda: 13000,
            getDeviceProperties=lambda _: {"name": b"a GPU", "multiProcessorCount": 2, "major": 9, "minor": 0},
        )  # fmt: skip
        self.cuda = SimpleNamespace(
            Device=self.device, MemoryPool=lambda: Pool(self), runtime=runtime, set_allocator=self.allocate_by,
            get_allocator=lambda: self.alloc, UnownedMemory=lambda *of: of, MemoryPointer=lambda *of: of,
        )  # fmt: skip
        self.alloc = self.spare.malloc

    def device(self, number):
        context = nullcontext()
        context.use, context.__class__.mem_info = lambda: None, property(lambda _: (self.free, TOTAL))
        return context

    def allocate_by(self, allocator):
        self.alloc = allocator

    def raw(self, size):
        if size > self.free:
            raise RuntimeError("out of memory")
        self.free -= size
        return 4096

    def returned(self, address):
        self.free += 4 * WHOLE

    def ended(self, pool):
        self.free += pool["kept"] + pool["used"]
        self.lost += pool["used"]


@pytest.fixture
def gpu(monkeypatch):
    fake = Gpu()
    monkeypatch.setattr(cuda, "cupy", lambda: fake)
    monkeypatch.setattr(pools, "_pools", {})
    gc.collect()
    gc.disable()
    yield fake
    gc.enable()
    assert not fake.lost, "memory went while somebody used it"


def using(gpu, allocator="pool", memory=None):
    device = cuda.CudaDevice(0, allocator)
    device.cap(memory)
    device.use()
    return device


def garbage(gpu, size):
    """Allocate memory that only a reference cycle holds."""
    cycle = [gpu.alloc(size)]
    cycle.append(cycle)


def test_a_device_leaves_with_its_last_user_and_so_does_its_memory(gpu):
    for _ in range(5):
        device = using(gpu)
        array = gpu.alloc(TOTAL // 2)
        del array, device
        assert gpu.free == TOTAL
        assert not pools._pools


def test_devices_of_a_gpu_share_pinned_memory_and_texts(gpu):
    first, second = using(gpu), using(gpu)
    assert first._uploads.pinned is second._uploads.pinned
    assert first.texts is second.texts


def test_an_array_keeps_the_pool_that_it_came_from(gpu):
    device = using(gpu)
    array = gpu.alloc(1000)
    del device
    assert gpu.free == TOTAL - 1000
    del array
    using(gpu)
    assert not pools._pools
    assert gpu.free == TOTAL


def test_garbage_of_another_graph_is_given_back_before_a_refusal(gpu):
    old = using(gpu)
    garbage(gpu, 30 * WHOLE)
    kept = gpu.alloc(10 * WHOLE)
    _ = gpu.alloc(5 * WHOLE), gpu.spare.malloc(2 * WHOLE)
    device = using(gpu)
    del _
    assert device.free() == TOTAL - 47 * WHOLE
    assert device.free(TOTAL - 47 * WHOLE) == TOTAL - 47 * WHOLE, "nothing was wanting"
    demand(54 * WHOLE, device, "a graph")
    assert device.free() == 54 * WHOLE
    assert device.elsewhere() == 10 * WHOLE
    with pytest.raises(UsageError, match=r"113,246,208 are free on a GPU, where other graphs .* hold 20,971,520"):
        demand(54 * WHOLE + 1, device, "a graph")
    del kept, old
    demand(TOTAL, device, "a graph")
    assert device.elsewhere() == 0


@pytest.mark.parametrize("raw", [False, True])
def test_an_allocation_that_was_not_planned_makes_room_for_itself(gpu, raw):
    old = using(gpu)
    garbage(gpu, 40 * WHOLE)
    device = using(gpu)
    if raw:
        assert device.raw.malloc(64 * WHOLE) == 4096
    else:
        array = gpu.alloc(64 * WHOLE)
        assert device.used() == device.peak == array.size
    with pytest.raises((MemoryError, RuntimeError)):
        old.raw.malloc(1)


def test_memory_of_a_device_that_is_gone_is_nobody_elses(gpu):
    device = using(gpu)
    del device
    array = gpu.alloc(100)
    assert gpu.spare.used == array.size


def test_a_limit_holds_for_all_graphs_of_the_process(gpu):
    """The limit is 32 of 64 blocks; another graph holds 10 blocks as arrays and 4 as messages."""
    other = using(gpu)
    array, address = gpu.alloc(10 * WHOLE), other.raw.malloc(4 * WHOLE)
    device = using(gpu, memory=0.5)
    assert device.limit == 32 * WHOLE
    assert device.free() == 18 * WHOLE
    demand(18 * WHOLE, device, "a graph")
    with pytest.raises(UsageError, match=r"37,748,736 are free on a GPU within the limit of 67,108,864 \(memory="):
        demand(18 * WHOLE + 1, device, "a graph")
    mine = gpu.alloc(17 * WHOLE)
    with pytest.raises(MemoryError):
        gpu.alloc(2 * WHOLE)
    other.raw.free(address)
    assert device.free() == 5 * WHOLE
    more = gpu.alloc(5 * WHOLE)
    assert device.free() == 0
    device.cap(None)
    del array, mine, more
    assert gpu.alloc(60 * WHOLE).size == 60 * WHOLE


def test_a_limit_makes_unused_blocks_go_before_it_refuses(gpu):
    device = using(gpu, memory=f"{20 * WHOLE}")
    old = using(gpu)
    kept = gpu.alloc(15 * WHOLE)
    del kept
    assert old.held_bytes() == 15 * WHOLE
    device.use()
    assert device.free(20 * WHOLE) == 20 * WHOLE
    assert gpu.alloc(20 * WHOLE).size == 20 * WHOLE


def test_the_allocator_of_the_process_serves_arrays_and_is_set_back(gpu):
    theirs = Pool(gpu)
    gpu.cuda.set_allocator(theirs.malloc)
    device = using(gpu, "cupy", 30 * WHOLE)
    ours = gpu.alloc(20 * WHOLE)
    assert (theirs.used, device.used(), device.peak, device.held_bytes()) == (20 * WHOLE, *[20 * WHOLE] * 3)
    assert device.free() == 10 * WHOLE
    with pytest.raises(MemoryError):
        gpu.alloc(11 * WHOLE)
    other = using(gpu)
    pooled = gpu.alloc(WHOLE)
    assert pooled.pool is other.pool.weak
    device.leave()
    assert gpu.alloc == theirs.malloc
    del ours
    assert (theirs.used, device.used(), device.free()) == (0, 0, 29 * WHOLE)
    with device.using():
        assert gpu.alloc != theirs.malloc
    assert gpu.alloc == theirs.malloc


@pytest.fixture
def no_gc():
    gc.disable()
    yield
    gc.enable()


@needs_compiler
@pytest.mark.parametrize(("name", "spec"), [
    ("bfs", "rmat:5"), ("sssp", "rmat:5"), ("cc", "rmat:5"), ("cc", "grid:5x5"), ("kcore", "rmat:5"),
    ("pagerank", "rmat:5"),
])  # fmt: skip
@pytest.mark.parametrize("validate", [True, False])
def test_a_graph_and_its_runs_leave_without_a_collection(no_gc, name, spec, validate):
    """Check that no reference cycle holds the graph, the machines of a run, or the device."""
    device = Device()
    graph = BuiltGraph.from_spec(spec, SerialComm(), device, "auto", LoadOptions())
    backend = CudaBackend(0, 1, True, GpuPlan(), device)
    parameters = {"source": 1} if name in ("bfs", "sssp") else {}
    flat_run(name, graph, backend=backend, validate=validate, **parameters)
    runs = [weakref.ref(reference) for reference in [backend, *(graph for _, graph, _ in backend._graphs.values())]]
    assert len(runs) == 2
    del backend
    assert not any(reference() for reference in runs)
    left = [
        weakref.ref(reference) for reference in (device, graph, *(part.local for part in graph.partitions.values()))
    ]
    del graph, device
    assert not any(reference() for reference in left)


class Crowded(Device):
    """Device that frees memory if the caller states its demand."""

    def free(self, wanted=0):
        return 1 << 30 if wanted > self.memory else self.memory


@needs_compiler
@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("memory", [0, 2_000, 10_000, 40_000])
def test_whoever_asks_what_is_free_says_what_it_wants(built, memory):
    comm, device = SerialComm(), Crowded(memory=memory)
    graph = BuiltGraph.from_spec("star:300", comm, device, "auto", LoadOptions()) if built else "star:300"
    ran = flat_run("bfs", graph, comm=comm, source=1, backend=CudaBackend(0, 1, True, GpuPlan(), device))
    assert ran.report["ranks"][0]["gpu_memory"]["renumbered"], "there is room for that"
