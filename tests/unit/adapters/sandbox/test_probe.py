"""The canaries believe only what they have seen, and do no harm where nothing holds."""

import os
import platform
import re
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.sandbox.probe import try_canaries
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.sandbox import Command, Exit, SandboxProfile

HELD = b"ok: workspace\nok: writable\nok: no new privileges\nok: filter\nok: user\nok: no capabilities\nok: done\n"


async def probe(folder: Path, output: bytes, code: int | None = 0) -> None:
    async def run(command: Command, profile: SandboxProfile) -> Exit:
        return Exit(code=code, output=output)

    await try_canaries(run, folder / "state")


async def test_a_fence_that_held_is_believed(tmp_path: Path) -> None:
    await probe(tmp_path, HELD)
    assert os.listdir(tmp_path / "state") == []


@pytest.mark.parametrize("line", HELD.splitlines(keepends=True))
async def test_whatever_was_not_seen_did_not_hold(line: bytes, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="not seen"):
        await probe(tmp_path, HELD.replace(line, b""))


@pytest.mark.parametrize("more", [b"leak: a file outside is there\n", b"sh: something strange\n"])
async def test_anything_strange_is_a_leak(more: bytes, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="does not hold"):
        await probe(tmp_path, HELD + more)


@pytest.mark.parametrize("code", [1, None])
async def test_a_bad_end_is_a_leak(code: int | None, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable):
        await probe(tmp_path, HELD, code)


async def test_without_a_fence_the_canaries_find_it_and_change_nothing(tmp_path: Path) -> None:
    left: list[list[str]] = []
    before = platform.node()

    async def run(command: Command, profile: SandboxProfile) -> Exit:
        assert {
            target for target in re.findall(r">\s*([^\s;&]+)", command.argv[2]) if not target.startswith("/dev/null")
        } == set()
        where = profile.mounts[0].source
        done = await anyio.run_process(
            list(command.argv), cwd=where, env={"PATH": "/usr/bin:/bin", "LEFT": "x", **command.env}, check=False
        )
        left.append(os.listdir(where))
        return Exit(code=done.returncode, output=done.stdout + done.stderr)

    with pytest.raises(SandboxUnavailable, match="leak: a file outside is there"):
        await try_canaries(run, tmp_path / "state")
    assert left == [["inside"]]
    assert platform.node() == before
