"""The words given to Docker and Podman, and what is made of their failures."""

from pathlib import Path

import pytest

from ostiary.adapters.sandbox.container import Container, arguments
from ostiary.adapters.sandbox.environment import inside
from ostiary.contracts.errors import SandboxUnavailable, ToolError
from ostiary.contracts.sandbox import Command, Mount, SandboxLimits, SandboxProfile

LIMITS = SandboxLimits(memory_bytes=1000, processes=7, file_bytes=500, open_files=9, temporary_bytes=64, seconds=3)
PROFILE = SandboxProfile(
    mounts=(Mount(source="/host/w", target="/workspace", writable=True), Mount(source="/host/a", target="/agent")),
    workdir="/workspace",
    limits=LIMITS,
)


def words(command: Command, profile: SandboxProfile = PROFILE) -> list[str]:
    return arguments("name", "image", "1:1", command, profile, inside(command, profile))


def values(given: list[str], option: str) -> list[str]:
    return [given[place + 1] for place, word in enumerate(given) if word == option]


def test_the_fence_is_whole() -> None:
    given = words(Command(argv=("true",)))
    assert {"--rm", "--init", "--read-only"} <= set(given)
    assert values(given, "--network") == ["none"]
    assert values(given, "--cap-drop") == ["ALL"]
    assert values(given, "--security-opt") == ["no-new-privileges"]
    assert values(given, "--user") == ["1:1"]
    assert values(given, "--pull") == ["never"]
    assert not {"--privileged", "--cap-add", "--device", "--pid", "--volume", "-v", "--publish"} & set(given)


def test_every_limit_is_given() -> None:
    given = words(Command(argv=("true",)))
    assert (values(given, "--memory"), values(given, "--memory-swap"), values(given, "--pids-limit")) == (
        ["1000"],
        ["1000"],
        ["7"],
    )
    assert {"fsize=500", "nofile=9", "core=1"} <= set(values(given, "--ulimit"))
    assert "size=64" in values(given, "--tmpfs")[0]


def test_mounts_are_the_profiles_and_read_only_unless_said() -> None:
    assert values(words(Command(argv=("true",))), "--mount") == [
        "type=bind,source=/host/w,target=/workspace",
        "type=bind,source=/host/a,target=/agent,readonly",
    ]


def test_the_callers_values_are_not_in_the_argument_list() -> None:
    given = words(Command(argv=("true",), env={"TOKEN": "secret-value"}))
    assert "TOKEN" in values(given, "--env")
    assert not [word for word in given if "secret-value" in word]


def test_the_command_comes_last_and_as_it_is() -> None:
    given = words(Command(argv=("sh", "-c", "echo --privileged")))
    assert given[-4:] == ["image", "sh", "-c", "echo --privileged"]


def test_the_network_is_the_proxys_socket_and_nothing_else() -> None:
    proxied = SandboxProfile(mounts=(), workdir="/tmp", network="proxy", proxy_socket="/host/s", limits=LIMITS)
    given = words(Command(argv=("curl",)), proxied)
    assert values(given, "--network") == ["none"]
    assert values(given, "--mount") == ["type=bind,source=/host/s,target=/run/ostiary/proxy.sock,readonly"]
    assert given[-2:] == ["/run/ostiary/proxy.sock", "curl"]


@pytest.mark.parametrize("source", ["/a,readonly=false", '/a"b', "/a\nb"])
def test_a_name_that_would_be_read_as_words_is_refused(source: str) -> None:
    profile = SandboxProfile(mounts=(Mount(source=source, target="/w"),), workdir="/w")
    with pytest.raises(ToolError, match="cannot take"):
        words(Command(argv=("true",)), profile)


async def test_without_the_engine_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxUnavailable, match="podman is not installed"):
        await Container(state=tmp_path / "state", engine="podman").run(Command(argv=("true",)), PROFILE)


async def test_an_engine_that_does_not_answer_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "docker"
    engine.write_text('#!/bin/sh\n[ "$1" = run ] && echo "Cannot connect to the Docker daemon" && exit 125\nexit 0\n')
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailable, match="could not start"):
        await Container(state=tmp_path / "state").probe()


async def test_an_engine_that_fences_nothing_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "docker"
    engine.write_text('#!/bin/sh\n[ "$1" = run ] || exit 0\nwhile [ "$1" != /bin/sh ]; do shift; done\nexec "$@"\n')
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailable, match="does not hold"):
        await Container(state=tmp_path / "state").probe()


async def test_a_container_that_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tmp_path / "docker"
    engine.write_text('#!/bin/sh\n[ "$1" = ps ] && echo 0123abcd\nexit 0\n')
    engine.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SandboxUnavailable, match="could not be removed"):
        await Container(state=tmp_path / "state").probe()
