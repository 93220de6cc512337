"""Nothing of the host but the system can be read, nothing but the workspace written."""

import os
import socket
from pathlib import Path

import pytest

from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command, Mount, SandboxProfile
from tests.kernel.fence import SECRET, Fence, last, more, outside

WAYS = {
    "its path": "print(open(sys.argv[1]).read())",
    "the root of a process": """
for pid in filter(str.isdigit, os.listdir('/proc')):
    try:
        print(open(f'/proc/{pid}/root{sys.argv[1]}').read())
    except OSError as error:
        print(error)
""",
    "dots": "print(open('../../../../../..' + sys.argv[1]).read())",
    "a link of its own": "os.path.lexists('link') or os.symlink(sys.argv[1], 'link'); print(open('link').read())",
    "a second name": "os.link(sys.argv[1], 'second'); print(open('second').read()); os.unlink('second')",
    "a descriptor left open": """
for fd in os.listdir('/proc/self/fd') + ['../../1/fd/' + str(n) for n in range(20)]:
    try:
        print(open(f'/proc/self/fd/{fd}{sys.argv[1]}').read(), os.listdir(f'/proc/self/fd/{fd}'))
    except OSError:
        pass
print(open(sys.argv[1]).read())
""",
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_without_the_fence_the_secret_is_read(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text(SECRET)
    assert SECRET in outside(way, str(tmp_path / "secret"))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_a_secret_beside_the_workspace_is_not_there(way: str, fence: Fence) -> None:
    assert SECRET not in await fence.python(way, str(fence.workspace.parent / "secret"))


async def test_the_hosts_environment_is_nowhere(fence: Fence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTIARY_CANARY", SECRET)
    said = await fence.shell("env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' '\\n'")
    assert SECRET not in said
    assert "HOME=/workspace" in said


def test_without_the_fence_the_environment_is_read() -> None:
    look = "print([open(f'/proc/{pid}/environ').read() for pid in (os.getpid(),)])"
    assert SECRET in outside(look, env={"OSTIARY_CANARY": SECRET})


@pytest.mark.parametrize(
    "path",
    [
        "/usr/x",
        "/x",
        "/etc/x",
        "/dev/x",
        "/run/x",
        "/var/x",
        "/proc/sys/kernel/hostname",
        "/proc/sysrq-trigger",
        "/etc/passwd",
        "/bin/sh",
    ],
)
async def test_nothing_else_can_be_written(path: str, fence: Fence) -> None:
    assert await fence.shell(f"{{ echo x >> {path}; }} 2>/dev/null && echo written || echo held") == "held"


async def test_core_pattern_cannot_be_opened_for_writing(fence: Fence) -> None:
    opened = "os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY); print('done')"
    assert last(await fence.python(opened)) != "done"


async def test_mounts_cannot_be_made_writable(fence: Fence) -> None:
    again = "call('mount', b'none', sys.argv[1].encode(), b'', 0x1020, b''); print('done')"
    assert {last(await fence.python(again, place)) for place in ("/usr", "/", "/dev", "/proc/sys")} == {
        "PermissionError: [Errno 1] Operation not permitted"
    }


async def test_a_read_only_mount_is_read_only(fence: Fence, tmp_path: Path) -> None:
    real = tmp_path / "agent"
    real.mkdir()
    (real / "note").write_text("real")
    mounts = (*fence.profile.mounts, Mount(source=str(real), target="/agent"))
    fence.profile = SandboxProfile(mounts=mounts, workdir="/workspace", limits=fence.profile.limits)
    said = await fence.shell(
        "cat /agent/note; echo x > /agent/note; rm -f /agent/note; mv /agent /workspace/a; chmod 777 /agent; touch /agent/new"
    )
    assert said.startswith("real")
    assert [path.name for path in real.iterdir()] == ["note"]
    assert (real / "note").read_text() == "real"


@pytest.mark.parametrize(
    "device", ["mem", "kmem", "port", "kvm", "vsock", "fuse", "loop0", "vda", "sda", "net/tun", "uinput", "kmsg"]
)
async def test_no_device_of_the_host_is_there(device: str, fence: Fence) -> None:
    assert await fence.shell(f"test -e /dev/{device} && echo there || echo none") == "none"


async def test_no_device_can_be_made(fence: Fence) -> None:
    assert "done" not in await fence.python("os.mknod('/workspace/disk', 0o060666, os.makedev(254, 0)); print('done')")


async def test_sockets_of_the_host_cannot_be_reached(fence: Fence, tmp_path: Path) -> None:
    reach = """
def attempt(family, address):
    try:
        with socket.socket(family) as one:
            one.settimeout(2); one.connect(address)
        return 'reached'
    except OSError:
        return 'held'
port, path, name = int(sys.argv[1]), sys.argv[2], sys.argv[3]
print([attempt(*each) for each in [(2, ('127.0.0.1', port)), (2, ('0.0.0.0', port)), (1, path), (1, chr(0) + name)]])
"""
    name = f"ostiary-canary-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        # Short: the kernel allows a path of 107 bytes, and a directory of its own would be too long.
        path = f"/tmp/{name}"
        unix.bind(path)
        abstract.bind(f"\0{name}")
        unix.listen()
        abstract.listen()
        arguments = (str(tcp.getsockname()[1]), path, name)
        without, inside = outside(reach, *arguments), await fence.python(reach, *arguments)
        os.unlink(path)
    assert without == str(["reached"] * 4)
    assert inside == str(["held"] * 4)


async def test_links_in_the_workspace_are_not_followed_when_it_is_handed_over(fence: Fence, tmp_path: Path) -> None:
    before = (tmp_path / "secret").stat()
    (tmp_path / "folder").mkdir()
    kept = (tmp_path / "folder").stat().st_uid
    (fence.workspace / "link").symlink_to(tmp_path / "secret")
    (fence.workspace / "way").symlink_to(tmp_path / "folder")
    (fence.workspace / "second").hardlink_to(tmp_path / "secret")
    assert await fence.shell("echo ok") == "ok"
    after = (tmp_path / "secret").stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)
    assert (tmp_path / "folder").stat().st_uid == kept


RACE = """
import os, sys
while True:
    for _ in range(100):
        os.mkdir('a'); os.rmdir('a'); os.symlink(sys.argv[1], 'a'); os.unlink('a')
    print('swapped', flush=True)
"""


async def test_a_racing_command_cannot_lead_the_hand_over_outside(fence: Fence, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text(SECRET)
    before = (tmp_path / "folder" / "file").stat().st_uid
    race = Command(argv=("/usr/bin/python3", "-c", RACE, str(tmp_path / "folder")))
    async with fence.sandbox.start(race, fence.profile) as racing:
        await more(racing, 0)
        said = [await fence.shell("echo ok") for _ in range(8)]
    assert b"swapped" in (await racing.wait()).output
    assert said == ["ok"] * 8
    assert (tmp_path / "folder" / "file").stat().st_uid == before


async def test_a_link_cannot_be_mounted(fence: Fence, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    profile = SandboxProfile(
        mounts=(Mount(source=str(tmp_path / "link"), target="/workspace", writable=True),), workdir="/workspace"
    )
    with pytest.raises(ToolError, match="cannot be mounted"):
        await fence.sandbox.run(_command("true"), profile)


@pytest.mark.parametrize(
    "target", ["/", "/usr/x", "/proc", "/dev/shm", "relative", "/a/../usr", "/workspace/", "/etc", "//usr", "/a\0b"]
)
async def test_the_systems_places_cannot_be_mounted_over(target: str, fence: Fence) -> None:
    profile = SandboxProfile(mounts=(Mount(source=str(fence.workspace), target=target, writable=True),), workdir="/tmp")
    with pytest.raises(ToolError):
        await fence.sandbox.run(_command("true"), profile)


def _command(text: str) -> Command:
    return Command(argv=("/bin/sh", "-c", text))
