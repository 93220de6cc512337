"""Ways out by the kernel's own doors: each attempt works without the fence and fails inside."""

import platform

import pytest

from tests.kernel.attempts import ATTEMPTS, ONLY_INSIDE
from tests.kernel.fence import Fence, last, outside


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
def test_without_the_fence_the_attempt_succeeds(attempt: str) -> None:
    assert last(outside(attempt, apart=True)) == "done"


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
async def test_inside_the_attempt_fails(attempt: str, fence: Fence) -> None:
    assert last(await fence.python(attempt)) != "done"


@pytest.mark.parametrize("attempt", ONLY_INSIDE.values(), ids=ONLY_INSIDE.keys())
async def test_what_the_host_may_forbid_anyway_is_forbidden_inside(attempt: str, fence: Fence) -> None:
    assert last(await fence.python(attempt)) != "done"


FOREIGN = {
    "the 32-bit door": "code = b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3'",
    "the x32 table": "code = b'\\xb8\\x27\\x00\\x00\\x40\\x0f\\x05\\xc3'",
}
JUMP = """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(code)
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print('done')
"""
ON_X86 = {name: code for name, code in FOREIGN.items() if platform.machine() == "x86_64"}


@pytest.mark.parametrize("code", ON_X86.values(), ids=ON_X86.keys())
async def test_another_architectures_calls_end_the_process(code: str, fence: Fence) -> None:
    assert "signal 31" in await fence.python(f"{code}\n{JUMP}")


async def test_ordinary_work_is_not_hindered(fence: Fence) -> None:
    assert await fence.python("""
import subprocess, threading, socket, tempfile, multiprocessing
near, far = socket.socketpair()
server = socket.create_server(('127.0.0.1', 0)); socket.create_connection(server.getsockname())
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
os.chmod(tempfile.mkstemp()[1], 0o755)
assert subprocess.run(['ls', '/'], capture_output=True, check=True).stdout
print('worked')
""") == "worked"  # fmt: skip
