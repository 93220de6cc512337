"""Which backend a name means, and that none means less than a fence."""

import sys
from pathlib import Path

import pytest

from ostiary.adapters.sandbox import BACKENDS, choose_sandbox
from ostiary.contracts.errors import ConfigInvalid, SandboxUnavailable


@pytest.mark.parametrize("name", ["bubblewrap", "docker", "podman", "seatbelt"])
def test_each_name_gives_its_backend(name: str, tmp_path: Path) -> None:
    assert choose_sandbox(name, state=tmp_path).name == name


@pytest.mark.parametrize(("platform", "name"), [("linux", "bubblewrap"), ("darwin", "seatbelt")])
def test_auto_is_what_the_system_has(platform: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert choose_sandbox("auto", state=tmp_path).name == name


@pytest.mark.parametrize("name", ["", "none", "off", "Host", "bwrap", "null", "false"])
def test_a_name_nobody_knows_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        choose_sandbox(name, state=tmp_path)
    assert all(each in raised.value.hint for each in BACKENDS)


def test_no_fence_must_be_asked_for_in_as_many_words(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable):
        choose_sandbox("host", state=tmp_path)
    with pytest.raises(SandboxUnavailable):
        choose_sandbox("host", state=tmp_path, i_accept_no_fence="yes")  # type: ignore[arg-type]
    assert choose_sandbox("host", state=tmp_path, i_accept_no_fence=True).name == "host"
