"""Launch: start a compiled SPMD function on the waiting threads of a team, and join them, without the interpreter.

Python threads that wake each other one by one through the interpreter lock take 25 µs each. Here a thread waits inside
:func:`serve`: it polls its state, then sleeps on a semaphore. A function ``f(t, team, threads, …)`` begins as thread 0
with :func:`begin`, which publishes the call and sets the states, and ends with :func:`end`, which polls the states.
"""

import numpy as np

from dgraph._support.compiled import njit
from dgraph.backend.cpu.threads.atomics import (
    INNER,
    OPTIONS,
    SPINS,
    SPLICED,
    compare_and_swap,
    load_acquire,
    offset,
    sched_yield,
    swap,
    usleep,
)
from partitioning.arrays.lazy_numba import LazyModule, external, intrinsic

ir, types, cgutils = map(LazyModule, ("llvmlite.ir", "numba.types", "numba.core.cgutils"))

FUNCTION, ARGUMENTS, THREADS = 0, 1, 8
"""Words of a team (int64): addresses of a function and of its arguments; from THREADS on, STRIDE words a thread."""

STRIDE, STATE, SEMAPHORE = 16, 0, 8
"""Words of a thread: its state, and its semaphore on another cache line."""

WAITS, RUNS, LEAVES, SLEEPS = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
"""States: the thread polls; is to run, or runs; is to return to Python; sleeps, or is about to."""

YIELDS = 2000
"""Times that a waiting thread yields its core before it sleeps: about a millisecond, as OpenMP's do."""


@external
def sem_wait(types):
    """Wait until a semaphore is above 0, and subtract 1."""
    return types.int32(types.CPointer(types.int64))


@external
def sem_post(types):
    """Add 1 to a semaphore; one of its waiting threads goes on."""
    return types.int32(types.CPointer(types.int64))


def _entry(context):
    """Return the LLVM type of a started function: Numba's calling convention, arguments' address and thread."""
    return context.call_conv.get_function_type(types.int64, (types.voidptr, types.int64))


@intrinsic
def publish(typing, team):
    """Store in the team's words the addresses of the calling function, for any first argument t, and of its arguments.

    The function is called by Python and returns an int64. The addresses are valid until it returns.
    """

    def generate(context, builder, signature, args):
        own, entry, word = builder.function, _entry(context), ir.IntType(64)
        arguments = own.args[3:]  # after pointers to the result and to an error, and t
        packed = cgutils.alloca_once(builder, ir.LiteralStructType([argument.type for argument in arguments]))
        for i, argument in enumerate(arguments):
            builder.store(argument, cgutils.gep_inbounds(builder, packed, 0, i))
        outer = ir.Function(builder.module, entry, f"{own.name}.thread")
        outer.linkage = "internal"
        inside = ir.IRBuilder(outer.append_basic_block())
        struct = inside.bitcast(outer.args[2], packed.type)
        values = [inside.load(cgutils.gep_inbounds(inside, struct, 0, i)) for i in range(len(arguments))]
        inside.ret(inside.call(own, [outer.args[0], outer.args[1], outer.args[3], *values]))
        words = context.make_array(signature.args[0])(context, builder, args[0]).data
        for place, address in ((FUNCTION, outer), (ARGUMENTS, packed)):
            builder.store(builder.ptrtoint(address, word), builder.gep(words, [word(place)]))
        return context.get_dummy_value()

    return types.void(team), generate


@intrinsic
def call_published(typing, team, t):
    """Call the published function as thread ``t``."""

    def generate(context, builder, signature, args):
        words, word = context.make_array(signature.args[0])(context, builder, args[0]).data, ir.IntType(64)
        entry = _entry(context)
        function, packed = (builder.load(builder.gep(words, [word(place)])) for place in (FUNCTION, ARGUMENTS))
        returned, error = (cgutils.alloca_once(builder, kind.pointee) for kind in entry.args[:2])
        arguments = returned, error, builder.inttoptr(packed, entry.args[2]), args[1]
        builder.call(builder.inttoptr(function, entry.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(team, t), generate


@njit(**INNER)
def set_state(team, t, state):
    """Set the state of a waiting thread, and wake it if it sleeps."""
    place = THREADS + STRIDE * t
    if swap(team, place + STATE, state) == SLEEPS:
        sem_post(offset(team, place + SEMAPHORE))


@njit(**SPLICED)
def begin(t, team, threads):
    """Start the calling function on threads 1 .. threads-1, if it runs as thread 0."""
    if t == 0 and threads > 1:
        publish(team)
        for other in range(1, threads):
            set_state(team, other, RUNS)


@njit(**SPLICED)
def end(t, team, threads):
    """Wait, as thread 0, until the function has ended on threads 1 .. threads-1."""
    if t == 0 and threads > 1:
        join(team, threads)


@njit(**INNER)
def join(team, threads):
    """Wait until no thread runs."""
    for t in range(1, threads):
        polls = 0
        while load_acquire(team, THREADS + STRIDE * t + STATE) == RUNS:
            polls += 1
            if polls > SPINS + YIELDS:
                usleep(np.uint32(20))
            elif polls > SPINS:
                sched_yield()


@njit(**INNER)
def rouse_one(team, t):
    """Let a sleeping thread poll again."""
    place = THREADS + STRIDE * t
    if compare_and_swap(team, place + STATE, SLEEPS, WAITS):
        sem_post(offset(team, place + SEMAPHORE))


@njit(**OPTIONS)
def rouse(team):
    """Wake thread 1, which wakes the others: a launch soon after finds them polling."""
    rouse_one(team, 1)


@njit(**OPTIONS)
def serve(team, t, size):
    """Run published functions as thread ``t`` of ``size`` until the state is LEAVES; once woken, wake two others."""
    place = THREADS + STRIDE * t
    while True:
        polls = 0
        state = load_acquire(team, place + STATE)
        while state in (WAITS, SLEEPS):
            polls += 1
            if polls > SPINS + YIELDS:
                if state == SLEEPS or compare_and_swap(team, place + STATE, WAITS, SLEEPS):
                    if sem_wait(offset(team, place + SEMAPHORE)) == 0:
                        polls = 0
                        for other in range(2 * t, min(2 * t + 2, size)):
                            rouse_one(team, other)
                    else:
                        usleep(np.uint32(100))  # a signal came, or the system has named semaphores only, as macOS
            elif polls > SPINS:
                sched_yield()
            state = load_acquire(team, place + STATE)
        if state == RUNS:
            call_published(team, t)
        swap(team, place + STATE, WAITS)
        if state == LEAVES:
            return


@njit(**OPTIONS)
def dismiss(team, threads):
    """Let all threads return to Python."""
    for t in range(1, threads):
        set_state(team, t, LEAVES)


def compile_serve() -> None:
    """Compile what waiting threads and their dismissal call, or load it from the cache folder."""
    team = np.zeros(THREADS + STRIDE, np.int64)
    team[THREADS + STATE] = LEAVES
    serve(team, 0, 0)
    dismiss(team, 0)
    rouse(np.zeros(THREADS + 2 * STRIDE, np.int64))
