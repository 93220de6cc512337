"""Further ways out: rarer doors of the kernel, rights that a process might keep, and what lies in /proc and /sys."""

import pytest

from tests.kernel.fence import SECRET, Fence, last, outside

# Each says "done" when it has done what must not be possible.
ATTEMPTS = {
    "leave a mount": "call('umount2', b'/mnt', 2); print('done')",
    "exchange the root": """
call('unshare', 0x20000); libc.mount(b'/mnt', b'/mnt', 0, 4096, 0); os.makedirs('/mnt/old', exist_ok=True)
call('pivot_root', b'/mnt', b'/mnt/old'); print('done')
""",
    "another view of mounts": "call('unshare', 0x20000); print('done')",
    "another view of control groups": "call('unshare', 0x2000000); print('done')",
    "another name for the machine": "libc.sethostname(b'x', 1) and sys.exit('held'); print('done')",
    "an address of its own": "s = socket.socket(2, socket.SOCK_RAW, 1); print('done')",
    "a mark on a file that gives rights": """
open('/mnt/marked', 'w').close()
os.setxattr('/mnt/marked', 'security.capability', struct.pack('<5I', 0x2000001, 0xffffffff, 0, 0, 0)); print('done')
""",
    "who shares what": "pid = os.getpid(); call('kcmp', pid, pid, 0, 0, 0); print('done')",
}
# The kernel here may lack them altogether, or a setting of it may forbid them: there is nothing to compare with.
ONLY_INSIDE = {
    "crypto of the kernel": "socket.socket(38, socket.SOCK_SEQPACKET); print('done')",
    "watch files of all": "call('fanotify_init', 0, 0); print('done')",
    "real time": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print('done')",
    "before all others": "os.setpriority(os.PRIO_PROCESS, 0, -1); print('done')",
    "more processes": "import resource as r; r.setrlimit(r.RLIMIT_NPROC, (-1, -1)); print('done')",
    "more memory": "import resource as r; r.setrlimit(r.RLIMIT_AS, (-1, -1)); print('done')",
    "larger files": "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (-1, -1)); print('done')",
    "another user": "os.setuid(0 if os.getuid() else 1); print('done')",
    "another group": "os.setgroups([0]); print('done')",
    "swap": "libc.swapon(b'/tmp/x', 0) and sys.exit('held'); print('done')",
    "restart": "libc.reboot(0) and sys.exit('held'); print('done')",
    "records of processes": "libc.acct(b'/tmp/x') and sys.exit('held'); print('done')",
    "ports of the machine": "libc.iopl(3) and sys.exit('held'); print('done')",
    "a device of control groups": "open('/sys/fs/cgroup/cgroup.procs', 'a'); print('done')",
    "a helper of the kernel": "open('/sys/kernel/uevent_helper', 'w'); print('done')",
    "its own score": "os.write(os.open('/proc/self/oom_score_adj', 1), b'-1000'); print('done')",
    "the map of identities": "os.write(os.open('/proc/self/uid_map', 1), b'0 0 4294967295'); print('done')",
    "physical memory": "open('/proc/kcore', 'rb').read(1); print('done')",
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


@pytest.mark.parametrize("who", ["self", "1"])
async def test_no_right_is_left_and_none_can_be_gained(who: str, fence: Fence) -> None:
    """Nor has the first process more, whose memory a command may be able to change."""
    said = await fence.shell(f"cat /proc/{who}/status")
    facts = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    assert {facts[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")


async def test_a_crash_leaves_no_image_of_the_memory(fence: Fence) -> None:
    said = await fence.python("import resource; print(resource.getrlimit(resource.RLIMIT_CORE), flush=True); os.abort()")
    # One byte, not none: to a program of the host that takes images, the kernel gives them unless it is exactly this.
    assert "(1, 1)" in said
    assert not [path for path in fence.workspace.iterdir() if "core" in path.name]


async def test_memory_that_commands_share_ends_with_them(fence: Fence) -> None:
    leave = f"""
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(libc.shmget(4711, 4096, 0o1666), None, 0)
ctypes.memmove(place, b'{SECRET}', {len(SECRET)}); print('left')
"""
    assert last(await fence.python(leave)) == "left"
    assert last(await fence.python("print(libc.shmget(4711, 4096, 0))")) == "-1"
    assert SECRET not in await fence.shell("cat /proc/sysvipc/shm /dev/shm/* /tmp/* 2>/dev/null; true")


async def test_names_without_end_are_stopped(fence: Fence) -> None:
    """Empty files cost memory of the machine too."""
    many = """
made = 0
try:
    for made in range(3_000_000):
        os.close(os.open(f'/tmp/{made}', os.O_CREAT))
except OSError as error:
    print('stopped')
"""
    said = await fence.python(many)
    assert last(said) == "stopped" or said.startswith("nothing")


@pytest.mark.parametrize("path", ["/proc/kallsyms", "/proc/modules", "/proc/keys", "/proc/timer_list", "/proc/sched_debug"])
async def test_the_kernel_tells_nothing_of_itself(path: str, fence: Fence) -> None:
    said = await fence.shell(f"head -c 4000 {path} 2>/dev/null | grep -v ' 0000000000000000 \\|^0000000000000000 ' | head -3")
    assert "ffff" not in said
