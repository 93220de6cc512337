"""The fork server's program, compiled once by the machine's own compiler. Without a compiler there is none, and every command
gets a sandbox of its own, as safe and some milliseconds slower."""

import hashlib
import os
import shutil
import stat
import subprocess
from importlib import resources
from pathlib import Path

_SOURCES = ("server.c", "run.c", "forward.c", "enter.c")
_HEADERS = ("fence.h",)
_FLAGS = ("-O2", "-std=gnu11", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-fPIE", "-s", "-Wl,-z,relro,-z,now")
# A program that brings its library along starts sooner; not every machine has the library in that form.
_KINDS = ("-static-pie", "-pie")
_SECONDS = 60


def server_program(state: Path) -> Path | None:
    """The program below `state`, made if it is not there yet. None if it cannot be made here; never raises for that."""
    texts = {name: resources.files(__package__).joinpath("native", name).read_bytes() for name in (*_SOURCES, *_HEADERS)}
    digest = hashlib.sha256(b"\0".join(texts[name] for name in sorted(texts))).hexdigest()[:16]
    program = state / f"fence-{digest}"
    if _is_ours(program):
        return program
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        for kind in _KINDS:
            if _compile(compiler, kind, texts, program):
                break
    except (OSError, subprocess.SubprocessError):
        return None
    return program if _is_ours(program) else None


def _compile(compiler: str, kind: str, texts: dict[str, bytes], program: Path) -> bool:
    folder = program.parent / f".build-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        for name, text in texts.items():
            (folder / name).write_bytes(text)
        made = folder / "fence"
        command = [compiler, *_FLAGS, kind, "-o", str(made), *_SOURCES]
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "TMPDIR": str(folder)}
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
        )
        if done.returncode != 0:
            return False
        made.chmod(0o555)
        # In one step, so that a gateway starting beside us never sees half of it.
        made.replace(program)
        return True
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_ours(program: Path) -> bool:
    """A plain file that nobody but us could have put there or changed."""
    try:
        found, folder = program.lstat(), program.parent.lstat()
    except OSError:
        return False
    closed = not (found.st_mode & 0o022) and not (folder.st_mode & 0o022)
    return stat.S_ISREG(found.st_mode) and closed and found.st_uid == folder.st_uid == os.geteuid()
