"""Nothing of the host, and nothing that chooses which code runs."""

import pytest

from ostiary.adapters.sandbox.environment import home, inside
from ostiary.contracts.errors import ToolError
from ostiary.contracts.sandbox import Command, Mount, SandboxProfile

WORKSPACE = SandboxProfile(mounts=(Mount(source="/x", target="/workspace", writable=True),), workdir="/workspace/deep")


def seen(profile: SandboxProfile = WORKSPACE, *, pty: bool = False, **env: str) -> dict[str, str]:
    return dict(inside(Command(argv=("x",), env=env, pty=pty), profile))


def test_a_command_sees_this_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    assert set(seen()) == {"PATH", "HOME", "LANG", "TERM", "TMPDIR", "XDG_CACHE_HOME"}
    assert (seen()["HOME"], seen()["TERM"], seen(pty=True)["TERM"]) == ("/workspace", "dumb", "xterm-256color")


def test_what_the_caller_gives_is_there() -> None:
    assert seen(GREETING="hello", lower_1="x")["GREETING"] == "hello"


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD", "ld_preload", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "BASH_FUNC_x%%", "SHELLOPTS",
        "PS4", "PROMPT_COMMAND", "IFS", "NODE_OPTIONS", "NODE_PATH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "PYTHONSTARTUP",
        "PYTHONPATH", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "RUBYOPT", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "GCONV_PATH",
        "GLIBC_TUNABLES", "MAKEFLAGS", "PAGER", "GIT_PAGER", "EDITOR", "LESSOPEN", "HTTP_PROXY", "https_proxy", "NO_PROXY",
        "PATH", "HOME", "TERM", "TERMINFO", "LANG", "LC_ALL", "SSL_CERT_FILE", "OPENSSL_CONF", "CURL_HOME", "XDG_CONFIG_HOME",
        "TMPDIR",
    ],
)  # fmt: skip
def test_these_are_refused(name: str) -> None:
    with pytest.raises(ToolError):
        seen(**{name: "x"})


@pytest.mark.parametrize("name", ["", "A=B", "A B", "1A", "A\0", "Ä", "A" * 200, "A\n"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ToolError, match="no name"):
        seen(**{name: "x"})


@pytest.mark.parametrize("value", ["a\0b", "x" * 40_000])
def test_a_value_the_kernel_cannot_take_is_refused(value: str) -> None:
    with pytest.raises(ToolError, match="too long or not text"):
        seen(A=value)


def test_too_many_are_refused() -> None:
    with pytest.raises(ToolError, match="At most"):
        seen(**{f"A{number}": "x" for number in range(300)})


def test_the_proxy_is_named_only_where_there_is_one() -> None:
    proxied = SandboxProfile(mounts=(), workdir="/tmp", network="proxy", proxy_socket="/s")
    assert seen(proxied)["https_proxy"] == seen(proxied)["HTTP_PROXY"] == "http://127.0.0.1:3128"
    assert not [name for name in seen() if "proxy" in name.lower()]


@pytest.mark.parametrize(
    ("targets", "workdir", "expected"),
    [
        ([("/w", True)], "/w", "/w"),
        ([("/w", True), ("/w/in", True)], "/w/in/x", "/w/in"),
        ([("/w", True)], "/work", "/tmp"),
        ([("/w", False)], "/w", "/tmp"),
        ([], "/tmp", "/tmp"),
    ],
)
def test_home_is_the_writable_place_it_works_in(targets: list[tuple[str, bool]], workdir: str, expected: str) -> None:
    mounts = tuple(Mount(source="/x", target=target, writable=writable) for target, writable in targets)
    assert home(SandboxProfile(mounts=mounts, workdir=workdir)) == expected
