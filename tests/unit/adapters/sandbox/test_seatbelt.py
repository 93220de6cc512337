"""The profile for macOS, as text: what it names is allowed, and it names little."""

import re
from pathlib import Path

import pytest

from ostiary.adapters.sandbox.seatbelt import Seatbelt, profile_text
from ostiary.contracts.errors import SandboxUnavailable
from ostiary.contracts.sandbox import Command, Mount, SandboxProfile

PROFILE = SandboxProfile(
    mounts=(Mount(source="/data/w", target="/workspace", writable=True), Mount(source="/data/a", target="/agent")),
    workdir="/workspace",
)
TEXT = profile_text(PROFILE, "/data/tmp")


def rule(name: str) -> str:
    return next(line for line in TEXT.splitlines() if line.startswith(f"({name} ") or line == f"({name})")


def test_everything_is_refused_first() -> None:
    assert TEXT.splitlines()[:2] == ["(version 1)", "(deny default)"]


def test_only_the_writable_mount_and_the_temporary_directory_are_written() -> None:
    assert re.findall(r'subpath "([^"]+)"', rule("allow file-write*")) == ["/data/tmp", "/data/w"]


def test_people_and_secrets_are_not_read() -> None:
    readable = re.findall(r'subpath "([^"]+)"', rule("allow file-read*"))
    assert {"/data/w", "/data/a", "/data/tmp"} <= set(readable)
    assert not [path for path in readable if path.startswith(("/Users", "/private/etc/master", "/Library/Keychains", "/Volumes"))]
    assert "/" not in readable


def test_there_is_no_network() -> None:
    assert rule("deny network*")
    assert "allow network" not in TEXT


def test_no_file_changes_who_runs_it_and_nothing_outside_gets_a_name_inside() -> None:
    assert rule("deny file-write-setugid")
    assert rule("deny file-link")


def test_only_its_own_processes_are_signalled() -> None:
    assert rule("allow signal") == "(allow signal (target same-sandbox))"


def test_parentheses_balance() -> None:
    bare = re.sub(r'"(\\.|[^"\\])*"', "", TEXT)
    assert bare.count("(") == bare.count(")")


@pytest.mark.parametrize("source", ['/a") (allow default) ("', "/a\\", '/a"', "/a\nb"])
def test_a_path_cannot_end_its_own_quotation(source: str) -> None:
    text = profile_text(SandboxProfile(mounts=(Mount(source=source, target="/w", writable=True),), workdir="/w"), "/t")
    bare = re.sub(r'"(\\.|[^"\\])*"', "", text)
    assert "allow default" not in bare
    assert bare.count("(") == bare.count(")")
    assert len(text.splitlines()) == len(TEXT.splitlines())


async def test_where_there_is_no_seatbelt_nothing_runs(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="not here"):
        await Seatbelt(state=tmp_path, program=str(tmp_path / "absent")).run(Command(argv=("true",)), PROFILE)


async def test_a_seatbelt_that_holds_nothing_is_not_believed(tmp_path: Path) -> None:
    program = tmp_path / "sandbox-exec"
    program.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    program.chmod(0o755)
    with pytest.raises(SandboxUnavailable, match="does not hold"):
        await Seatbelt(state=tmp_path / "state", program=str(program)).probe()
