"""Texts that compile in parts: each kernel is in one part, and the parts have the kernels of the whole text."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from kernel_sizes import texts

from dgraph.algorithms.cdlp import CommunityLabels
from dgraph.backend.cuda.codegen import module_text
from dgraph.backend.cuda.codegen.kernel_parts import in_parts, parts
from dgraph.backend.cuda.device import nvrtc
from dgraph.backend.cuda.device.compiled_module import Module
from dgraph.program import trace

pytestmark = pytest.mark.mpi_skip
TEXT = """#define OWN_KERNEL KERNEL_OF(2)
DEVICE int helper(int x) {
    return x + 1;
}
KERNEL small(i64) {
}
KERNEL large(i64 x) {
    helper(2);
}
OWN_KERNEL own(i64) {
    helper(1); helper(1);
}
KERNEL_BY(64, 2) bounded(i64) {
}"""


def kernels(text):
    return re.findall(r"^\w*KERNEL\S* (?:\d+\) )?(\w+)\(i64", text, re.MULTILINE)


def compiled_kernels(codes):
    """Return the names of kernels in machine code: each has a section ``.text.NAME``."""
    return sorted(name for code in codes for name in set(re.findall(rb"\0\.text\.(?!__cuda)(\w+)(?=\0)", code)))


def test_each_kernel_is_in_one_part():
    cut = parts(in_parts(TEXT, 3), 8)
    assert sorted(sorted(kernels(text)) for text in cut) == [["bounded", "small"], ["large"], ["own"]]
    assert kernels(cut[0]) == ["own"]  # the largest: NVRTC parses one text at a time
    assert all(f"DEVICE void {name}(" in cut[0] for name in {"small", "large", "own", "bounded"} - {*kernels(cut[0])})
    assert all("DEVICE int helper" in text for text in cut)


@pytest.mark.parametrize(("number", "most", "expected"), [(3, 2, 2), (9, 16, 4), (3, 1, 1), (1, 8, 1)])
def test_there_are_no_more_parts_than_cores_and_kernels(number, most, expected):
    assert len(parts(in_parts(TEXT, number), most)) == expected


def test_a_long_kernel_is_in_the_largest_part():
    cut = parts(in_parts(TEXT.replace("KERNEL small(", "LONG_KERNEL small("), 4), 8)
    assert next(kernels(text) for text in cut) == ["small"]


def test_texts_without_a_mark_stay_whole():
    assert parts(TEXT, 8) == [TEXT]


def marked():
    yield "labels", module_text.round_kernels(trace(CommunityLabels(), None), module_text.ModuleFlags())
    yield from ((name, text) for name, text in texts() if name in ("build_rmat", "components"))


@pytest.mark.parametrize(("name", "text"), list(marked()), ids=[name for name, _ in marked()])
def test_parts_have_the_kernels_of_the_whole(name, text):
    def compiled(part):
        return nvrtc.compiled(part, "sm_90", "part", quick=True)

    cut = parts(text, 64)
    assert len(cut) > 1
    with ThreadPoolExecutor(2) as pool:
        whole, *codes = pool.map(compiled, [text, *cut])
    assert compiled_kernels(codes) == compiled_kernels([whole])
    assert len(compiled_kernels([whole])) > 3
    assert max(map(len, codes)) < 0.7 * len(whole)
    assert all(b"\0env\0" in code for code in codes)


class Refused(Exception):
    pass


class Driver:
    """Modules of a GPU's driver: a code is the name of its only kernel."""

    CUDADriverError = Refused

    def __init__(self):
        self.cuda = self.function = self.driver = self.runtime = self
        self.memcpyHostToDevice, self.copied, self.launched = 1, [], []

    def Module(self):
        return Code(self)

    def get_current_stream(self):
        return self

    ptr = 7

    def memcpyAsync(self, to, _, size, *rest):
        self.copied.append((to, size))

    def launchKernel(self, function, *rest):
        self.launched.append(function)


class Code:
    def __init__(self, driver):
        self.driver = driver

    def load(self, code):
        self.name = code.decode()[len(".text.") :].split("\0")[0]

    def get_global_var(self, name):
        return len(self.name)

    def get_function(self, name):
        if name != self.name:
            raise Refused
        return type("Function", (), {"ptr": name})


def test_a_module_of_parts_launches_each_kernel_and_fills_each_env():
    driver = Driver()
    module = Module(driver, [b".text.a\0ab", b".text.bb\0", b".text.ccc\0"])
    module.set_environment(np.zeros(2, np.uint64))
    assert driver.copied == [(1, 16), (2, 16), (3, 16)]
    for name in ("bb", "a", "ccc"):
        module.launch(name, 1)
    assert driver.launched == ["bb", "a", "ccc"]
    with pytest.raises(Refused):
        module.launch("missing", 1)
