"""Why there is no fence here, and what a person can do about it, for the machine at hand."""

from pathlib import Path

from ostiary.contracts.errors import SandboxUnavailable, ToolError

_INSTALL = {
    "debian": "sudo apt-get install -y bubblewrap",
    "ubuntu": "sudo apt-get install -y bubblewrap",
    "fedora": "sudo dnf install -y bubblewrap",
    "rhel": "sudo dnf install -y bubblewrap",
    "arch": "sudo pacman -S --noconfirm bubblewrap",
    "alpine": "sudo apk add bubblewrap",
    "suse": "sudo zypper install -y bubblewrap",
}
_APPARMOR = """\
This system lets only named programs make user namespaces. Allow bubblewrap, as root:
    printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' \
> /etc/apparmor.d/bwrap && apparmor_parser -r /etc/apparmor.d/bwrap"""
_CLONE = "User namespaces are switched off. As root: sysctl -w kernel.unprivileged_userns_clone=1"
_NONE = "This system allows no user namespaces. As root: sysctl -w user.max_user_namespaces=15000"
_CONTAINER = """\
Inside a container the host must permit namespaces and an uncovered /proc: start the container with \
--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined, \
or use the docker backend from outside."""
_OLD = "bubblewrap is too old: version 0.8 or newer is needed."


def missing(root: Path = Path("/")) -> SandboxUnavailable:
    return SandboxUnavailable(
        "Commands are not run: bubblewrap (bwrap) is not installed.", hint=f"Install it: {install_line(root)}"
    )


def install_line(root: Path = Path("/")) -> str:
    """The line for this distribution, or the general word."""
    facts = _os_release(root)
    for name in (facts.get("ID", ""), *facts.get("ID_LIKE", "").split()):
        if name.split("-")[0] in _INSTALL:
            return _INSTALL[name.split("-")[0]]
    return "install the package bubblewrap with your system's package manager"


def failed(words: str, root: Path = Path("/")) -> SandboxUnavailable:
    """`words` are bubblewrap's own."""
    said = " ".join(words.split())[:300]
    return SandboxUnavailable(
        f"Commands are not run: the sandbox cannot be set up here ({said or 'no reason was given'}).", hint=_hint(said, root)
    )


def not_begun(words: str) -> SandboxUnavailable | ToolError:
    """A command that was never started: for want of its directory, which the caller chose, or for want of a fence."""
    if "chdir" in words:
        return ToolError(f"The working directory is not there ({' '.join(words.split())[:300]}).")
    return failed(words)


def leaks(what: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"Commands are not run: the sandbox does not hold on this machine ({what}).",
        hint="This should not happen: please report it with the output of `uname -a` and `bwrap --version`.",
    )


def _hint(said: str, root: Path) -> str:
    if "Unknown option" in said:
        return f"{_OLD} Update it: {install_line(root)}"
    if _number(root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1:
        return _APPARMOR
    if _number(root / "proc/sys/kernel/unprivileged_userns_clone") == 0:
        return _CLONE
    if _number(root / "proc/sys/user/max_user_namespaces") == 0:
        return _NONE
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists() or "mount proc" in said:
        return _CONTAINER
    return "Run `bwrap --ro-bind / / --unshare-all true` as the gateway's user to see what the system forbids."


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _os_release(root: Path) -> dict[str, str]:
    try:
        lines = (root / "etc/os-release").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip("\"'") for name, _, value in (line.partition("=") for line in lines)}
