"""Ways out by the kernel's own doors: each attempt works without the fence and fails inside."""

import platform

import pytest

from tests.kernel.fence import Fence, last, outside

# Each says "done" when it has done what must not be possible.
ATTEMPTS = {
    "vsock": "socket.socket(40, socket.SOCK_STREAM); print('done')",
    "packet socket": "socket.socket(17, socket.SOCK_RAW); print('done')",
    "netlink audit": "socket.socket(16, socket.SOCK_RAW, 9); print('done')",
    "trace a child": """
pid = os.fork()
if pid == 0:
    libc.ptrace(0, 0, 0, 0); os._exit(ctypes.get_errno())
print('done' if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 else 'held')
""",
    "read another's memory": """
word = ctypes.create_string_buffer(b'word')
there = ctypes.create_string_buffer(4)
vectors = [struct.pack('QQ', ctypes.addressof(one), 4) for one in (there, word)]
print('done' if call('process_vm_readv', os.getpid(), vectors[0], 1, vectors[1], 1, 0) == 4 else 'held')
""",
    "mount": "call('mount', b'tmpfs', b'/mnt', b'tmpfs', 0, b''); print('done')",
    "mount by the new way": "call('fsopen', b'tmpfs', 0); print('done')",
    "copy a mount": "call('open_tree', -100, b'/mnt', 1); print('done')",
    "change root": "call('chroot', b'/mnt'); print('done')",
    "add a key": "call('add_key', b'user', b'name', b'value', 5, -2); print('done')",
    "read the keyring": "call('keyctl', 0, -3, 1); print('done')",
    "io_uring": "call('io_uring_setup', 1, ctypes.create_string_buffer(120)); print('done')",
    "user namespace": "call('unshare', 0x10000000); print('done')",
    "user namespace by clone": """
pid = call('clone', 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
print('done')
""",
    "user namespace by clone3": """
pid = call('clone3', struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
if pid == 0:
    os._exit(0)
print('done')
""",
    "network namespace": "call('unshare', 0x40000000); print('done')",
    "join a namespace": "call('setns', os.open('/proc/self/ns/uts', 0), 0); print('done')",
    "file by handle": "call('name_to_handle_at', -100, b'/', struct.pack('Ii', 128, 0) + bytes(128), bytes(4), 0); print('done')",
    "descriptor of another": "call('pidfd_getfd', os.pidfd_open(os.getpid()), 0, 0); print('done')",
    "limits of another": """
pid = os.fork()
if pid == 0:
    import time; time.sleep(5); os._exit(0)
call('prlimit64', pid, 7, 0, ctypes.create_string_buffer(16)); print('done'); os.kill(pid, 9)
""",
    "file that changes identity": """
open('/tmp/ostiary-set-id', 'w').close(); os.chmod('/tmp/ostiary-set-id', 0o4755)
os.unlink('/tmp/ostiary-set-id'); print('done')
""",
    "file made with another identity": """
os.close(os.open('/tmp/ostiary-set-id', os.O_CREAT | os.O_WRONLY, 0o4755))
print('done' if os.stat('/tmp/ostiary-set-id').st_mode & 0o4000 else 'held'); os.unlink('/tmp/ostiary-set-id')
""",
    "open by a way the filter cannot judge": "call('openat2', -100, b'/', struct.pack('3Q', 0, 0, 0), 24); print('done')",
    "host name": "call('unshare', 0x4000000); print('done')",
    "secret memory": "call('memfd_create', b'x', 0); call('userfaultfd', 1); print('done')",
}
# The kernel here may lack them altogether, or a setting of it may forbid them: there is nothing to compare with.
ONLY_INSIDE = {
    "bpf": "call('bpf', 0, ctypes.create_string_buffer(128), 128); print('done')",
    "performance counters": "call('perf_event_open', ctypes.create_string_buffer(128), 0, -1, -1, 0); print('done')",
    "typing into a terminal": "import fcntl, pty; far, near = pty.openpty(); fcntl.ioctl(near, 0x5412, b'x'); print('done')",
    "kernel log": "import ctypes; n = libc.klogctl(10, None, 0); print('done' if n >= 0 else 'PermissionError')",
    "load a module": "call('finit_module', 0, b'', 0); print('done')",
    "a call newer than the list": "libc.syscall(467); print('done' if ctypes.get_errno() != 38 else 'held')",
    "set the clock": "call('clock_settime', 0, struct.pack('qq', 0, 0)); print('done')",
}


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
