"""What a process keeps inside: its rights, its memory, what it leaves behind, and what the kernel tells it."""

import pytest

from tests.kernel.fence import SECRET, Fence, last


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
