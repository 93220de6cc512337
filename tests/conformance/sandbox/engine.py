"""A container engine small enough to read, for machines without one: it takes Docker's words and keeps them with bubblewrap.

It refuses what it does not know, so that a changed argument list is noticed. Called as `docker`, by path; its state lies
beside it.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

STATE = Path(__file__).resolve().parent / "containers"
PLAIN = {"--rm", "--init", "--interactive", "--read-only", "--tty"}
VALUED = {
    "--pull", "--name", "--hostname", "--network", "--cap-drop", "--security-opt", "--ipc", "--user", "--memory", "--memory-swap",
    "--pids-limit", "--ulimit", "--shm-size", "--tmpfs", "--mount", "--env", "--workdir", "--entrypoint",
}  # fmt: skip
SYSTEM = ["--ro-bind", "/usr", "/usr"]
for top in ("bin", "lib", "lib64"):
    SYSTEM += ["--symlink", f"usr/{top}", f"/{top}"]


def parse(words: list[str]) -> tuple[set[str], dict[str, list[str]], list[str]]:
    flags: set[str] = set()
    options: dict[str, list[str]] = {name: [] for name in VALUED}
    rest = list(words)
    while rest and rest[0].startswith("--"):
        word = rest.pop(0)
        if word in PLAIN:
            flags.add(word)
        else:
            options[word].append(rest.pop(0))
    return flags, options, rest[1:]


def fenced(flags: set[str], options: dict[str, list[str]], command: list[str]) -> list[str]:
    """The same fence in bubblewrap's words: each of Docker's makes its part of it."""
    uid, _, gid = options["--user"][0].partition(":")
    mounts = [dict(part.partition("=")[::2] for part in each.split(",")) for each in options["--mount"]]
    made = as_root(uid, mounts) if os.geteuid() == 0 else []
    made += ["bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--uid", uid, "--gid", gid, *SYSTEM]
    made += ["--proc", "/proc", "--dev", "/dev", *(["--unshare-net"] if options["--network"] == ["none"] else [])]
    made += ["--unshare-ipc"] if options["--ipc"] == ["private"] else []
    made += ["--cap-drop", "ALL"] if options["--cap-drop"] == ["ALL"] else ["--cap-add", "ALL"]
    for each in options["--tmpfs"]:
        made += ["--perms", "1777", "--tmpfs", each.partition(":")[0]]
    for facts in mounts:
        made += ["--ro-bind" if "readonly" in facts else "--bind", facts["source"], facts["target"]]
    made += ["--clearenv"]
    for each in options["--env"]:
        name, given, value = each.partition("=")
        made += ["--setenv", name, value if given else os.environ[name]]
    made += ["--remount-ro", "/dev", "--remount-ro", "/"] if "--read-only" in flags else []
    made += ["--chdir", options["--workdir"][0], "--seccomp", str(filter_fd()), "--"]
    return [*made, *(["setsid", "--ctty", "--wait"] if "--tty" in flags else []), *command]


def as_root(uid: str, mounts: list[dict[str, str]]) -> list[str]:
    """An engine reaches every directory; here other names are given to those that only root can reach."""
    text = "mount -t tmpfs -o mode=0755 engine /mnt"
    for number, facts in enumerate(mounts):
        text += f" && mkdir /mnt/{number} && mount --bind '{facts['source']}' /mnt/{number}"
        facts["source"] = f"/mnt/{number}"
    made = ["unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", f'{text} && exec "$@"', "sh"]
    return [*made, "setpriv", "--reuid", uid, "--regid", uid, "--clear-groups", "--"]


def filter_fd() -> int:
    """What an engine filters by default; the rest of its list does not matter here."""
    from ostiary.adapters.sandbox.seccomp import filter_for

    fd = os.memfd_create("filter", 0)
    os.set_inheritable(fd, True)
    os.write(fd, filter_for())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def run(words: list[str]) -> int:
    flags, options, command = parse(words)
    container = STATE / options["--name"][0]
    child = subprocess.Popen(fenced(flags, options, command), close_fds=False, env={"PATH": "/usr/bin:/bin"})
    container.write_text(str(child.pid))
    code = child.wait()
    container.unlink(missing_ok=True)
    return code if code >= 0 else 128 - code


def kill(words: list[str]) -> int:
    container = STATE / words[2]
    if not container.exists():
        return 1
    number = getattr(signal, f"SIG{words[1]}")
    for pid in below(int(container.read_text())):
        if name_of(pid) not in ("bwrap", "setsid", ""):
            send(pid, number)
    return 0


def send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def below(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in children for found in below(int(child)))]


def remove(words: list[str]) -> int:
    container = STATE / words[-1]
    if container.exists():
        for pid in below(int(container.read_text())):
            send(pid, signal.SIGKILL)
        container.unlink(missing_ok=True)
    return 0


def show(words: list[str]) -> int:
    name = words[-1].removeprefix("name=^/?").removesuffix("$")
    print("\n".join(path.name for path in STATE.iterdir() if path.name == name))
    return 0


if __name__ == "__main__":
    STATE.mkdir(exist_ok=True)
    sys.exit({"run": run, "kill": kill, "rm": remove, "ps": show}[sys.argv[1]](sys.argv[2:]))
