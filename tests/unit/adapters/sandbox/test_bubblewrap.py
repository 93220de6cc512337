"""The built-in backend around its kernel part: refusing, being without a compiler, keeping few servers."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from ostiary.adapters.sandbox import bubblewrap as module
from ostiary.adapters.sandbox import view
from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
from ostiary.adapters.sandbox.served import Server
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Command, Mount, SandboxProfile

TRUE = Command(argv=("/bin/true",))


def profile(folder: Path) -> SandboxProfile:
    folder.mkdir(exist_ok=True)
    return SandboxProfile(mounts=(Mount(source=str(folder), target="/workspace", writable=True),), workdir="/workspace")


@pytest.fixture
def tools() -> Iterator[Path]:
    """A PATH with what the backend uses, to take things away from; in a place that every user can reach."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for tool in ("bwrap", "setpriv", "unshare", "cc", "as", "ld"):
            found = shutil.which(tool)
            assert found is not None
            (folder / tool).symlink_to(found)
        yield folder


@pytest.fixture
def open_place() -> Iterator[Path]:
    with TemporaryDirectory() as name:
        yield Path(name)


async def test_without_bubblewrap_nothing_runs(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tools / "bwrap").unlink()
    monkeypatch.setenv("PATH", str(tools))
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        with pytest.raises(SandboxUnavailable, match="not installed") as raised:
            await sandbox.run(Command(argv=("/usr/bin/touch", str(tmp_path / "ran"))), profile(tmp_path / "w"))
        with pytest.raises(SandboxUnavailable):
            async with sandbox.start(TRUE, profile(tmp_path / "w")):
                pass
    assert "bubblewrap" in raised.value.hint
    assert not (tmp_path / "ran").exists()


async def test_once_installed_it_is_used_without_a_restart(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    away = (tools / "bwrap").rename(tools / "away")
    monkeypatch.setenv("PATH", str(tools))
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        with pytest.raises(SandboxUnavailable):
            await sandbox.probe()
        away.rename(tools / "bwrap")
        assert (await sandbox.run(TRUE, profile(tmp_path / "w"))).code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions"),
        ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "cannot be set up"),
        ("exit 0", "cannot be set up"),
    ],
)
async def test_a_bubblewrap_that_does_not_fence_is_not_believed(
    text: str, words: str, tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tools / "bwrap").unlink()
    (tools / "bwrap").write_text(f"#!/bin/sh\n{text}\n")
    (tools / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        with pytest.raises(SandboxUnavailable, match=words):
            await sandbox.probe()


async def test_a_weakened_fence_is_found_by_the_canaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = view.fences
    monkeypatch.setattr(view, "fences", lambda: (word for word in whole() if word != "--unshare-net"))
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        with pytest.raises(SandboxUnavailable, match="network interface"):
            await sandbox.probe()


@pytest.mark.parametrize("native", [True, False])
async def test_a_place_that_shows_through_is_found_by_the_canaries(
    native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = view.system
    monkeypatch.setattr(view, "system", lambda: (*whole(), "--ro-bind", "/opt", "/opt"))
    async with aclosing(Bubblewrap(state=tmp_path / "state", native=native)) as sandbox:
        with pytest.raises(SandboxUnavailable, match="leak: /opt is there"):
            await sandbox.probe()


async def test_without_a_compiler_commands_run_all_the_same(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tools / "cc").unlink()
    monkeypatch.setenv("PATH", str(tools))
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        assert (await sandbox.run(TRUE, profile(tmp_path / "w"))).code == 0
        assert len(sandbox._servers._kept) == 0


@pytest.mark.parametrize("native", [True, False])
async def test_a_workspace_everybody_can_reach_is_used(native: bool, open_place: Path, tmp_path: Path) -> None:
    async with aclosing(Bubblewrap(state=tmp_path / "state", native=native)) as sandbox:
        done = await sandbox.run(Command(argv=("/bin/sh", "-c", "echo x > made; id -u")), profile(open_place))
    assert done.output == b"65534\n"
    assert (open_place / "made").read_text() == "x\n"


async def test_the_probe_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    whole = module.try_canaries

    async def counted(*arguments: object, **named: object) -> None:
        seen.append(1)
        await whole(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "try_canaries", counted)
    async with aclosing(Bubblewrap(state=tmp_path / "state", fork_server=False)) as sandbox:
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(sandbox.probe)
        await sandbox.run(TRUE, profile(tmp_path / "w"))
    assert seen == [1]


async def test_servers_are_few_and_kept(tmp_path: Path) -> None:
    async with aclosing(Bubblewrap(state=tmp_path / "state", most_servers=2)) as sandbox:
        for name in ("a", "b", "c", "a"):
            assert (await sandbox.run(TRUE, profile(tmp_path / name))).code == 0
            assert len(sandbox._servers._kept) <= 2
        kept = list(sandbox._servers._kept.values())
        await sandbox.run(TRUE, profile(tmp_path / "a"))
        assert list(sandbox._servers._kept.values()) == kept


async def test_when_all_servers_are_busy_a_command_gets_a_sandbox_of_its_own(tmp_path: Path) -> None:
    sleep = Command(argv=("/bin/sleep", "60"))
    sandbox = Bubblewrap(state=tmp_path / "state", most_servers=1)
    async with aclosing(sandbox), sandbox.start(sleep, profile(tmp_path / "a")):
        assert (await sandbox.run(TRUE, profile(tmp_path / "b"))).code == 0
        assert len(sandbox._servers._kept) == 1


async def test_many_long_commands_keep_no_other_from_running(tmp_path: Path) -> None:
    sleep = Command(argv=("/bin/sleep", "60"))
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox, AsyncExitStack() as held:
        for _ in range(40):
            await held.enter_async_context(sandbox.start(sleep, profile(tmp_path / "a")))
        assert (await sandbox.run(TRUE, profile(tmp_path / "a"))).code == 0
        assert len(sandbox._servers._living) == 1


async def test_an_idle_server_ends_by_itself_and_another_is_started(tmp_path: Path) -> None:
    async with aclosing(Bubblewrap(state=tmp_path / "state", idle_seconds=0.05)) as sandbox:
        await sandbox.run(TRUE, profile(tmp_path / "a"))
        (server,) = sandbox._servers._kept.values()
        await _ended(server)
        assert (await sandbox.run(TRUE, profile(tmp_path / "a"))).code == 0


async def test_a_server_that_was_killed_is_replaced(tmp_path: Path) -> None:
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        await sandbox.run(TRUE, profile(tmp_path / "a"))
        (server,) = sandbox._servers._kept.values()
        os.kill(server._launched.inner, signal.SIGKILL)
        await _ended(server)
        assert (await sandbox.run(TRUE, profile(tmp_path / "a"))).code == 0


async def test_more_commands_than_a_server_has_room_for_wait_and_none_is_lost(tmp_path: Path) -> None:
    begun, said = [], []

    async def run(sandbox: Bubblewrap, number: int) -> None:
        begun.append(number)
        command = Command(argv=("/bin/echo", str(number), "x" * 12_000))
        said.append((await sandbox.run(command, profile(tmp_path / "a"))).output.split()[0])

    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        await sandbox.run(TRUE, profile(tmp_path / "a"))
        (server,) = sandbox._servers._kept.values()
        os.kill(server._launched.inner, signal.SIGSTOP)
        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(run, sandbox, number)
            # Beyond those that were ready none is taken, and the queue of requests overflows.
            with anyio.fail_after(10):
                while len(begun) < 40:  # noqa: ASYNC110 - nothing tells
                    await anyio.sleep(0.01)
            os.kill(server._launched.inner, signal.SIGCONT)
        assert list(sandbox._servers._kept.values()) == [server]
    assert sorted(said) == sorted(str(number).encode() for number in range(40))


async def _ended(server: Server) -> None:
    with anyio.fail_after(10):
        while server.is_alive:  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.01)


async def test_a_directory_made_anew_is_seen_anew(tmp_path: Path) -> None:
    look = Command(argv=("/bin/ls",))
    async with aclosing(Bubblewrap(state=tmp_path / "state")) as sandbox:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "old").touch()
        first = await sandbox.run(look, profile(tmp_path / "a"))
        (tmp_path / "a").rename(tmp_path / "gone")
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "new").touch()
        second = await sandbox.run(look, profile(tmp_path / "a"))
        assert len(sandbox._servers._kept) == 1
    assert (first.output, second.output) == (b"old\n", b"new\n")


@pytest.fixture
def closed_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.usefixtures("closed_umask")
@pytest.mark.parametrize("native", [True, False])
async def test_devices_are_there_whatever_our_own_umask_is(native: bool, tmp_path: Path) -> None:
    use = Command(
        argv=("/bin/sh", "-c", "echo x > /dev/null && head -c 2 /dev/urandom | wc -c; ls -d /dev/shm /dev/pts/ptmx; umask")
    )
    async with aclosing(Bubblewrap(state=tmp_path / "state", native=native)) as sandbox:
        done = await sandbox.run(use, profile(tmp_path / "w"))
    assert done.output.split() == [b"2", b"/dev/pts/ptmx", b"/dev/shm", b"0022"]


async def test_closing_ends_everything(tmp_path: Path) -> None:
    sandbox = Bubblewrap(state=tmp_path / "state")
    await sandbox.run(TRUE, profile(tmp_path / "a"))
    (server,) = sandbox._servers._kept.values()
    inner = server._launched.inner
    await sandbox.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(inner, 0)


@pytest.mark.parametrize("argv", [(), ("",), ("/bin/echo", "a\0b"), ("/bin/echo", "x" * 200_000)])
async def test_what_the_kernel_cannot_take_is_refused(argv: tuple[str, ...], tmp_path: Path) -> None:
    async with aclosing(Bubblewrap(state=tmp_path / "state", fork_server=False)) as sandbox:
        with pytest.raises(ToolError):
            await sandbox.run(Command(argv=argv), profile(tmp_path / "w"))


@pytest.mark.parametrize("native", [True, False])
async def test_a_working_directory_that_is_not_there_is_an_error_of_the_caller(native: bool, tmp_path: Path) -> None:
    async with aclosing(Bubblewrap(state=tmp_path / "state", native=native)) as sandbox:
        with pytest.raises(ToolError, match="working directory"):
            await sandbox.run(TRUE, replace(profile(tmp_path / "w"), workdir="/nowhere"))
