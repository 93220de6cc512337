from collections.abc import Mapping
from pathlib import Path

from ostiary.contracts.sandbox import Command, Mount, Sandbox, SandboxLimits, SandboxProfile


class Place:
    """A sandbox and one directory it may write."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder

    def profile(self, **limits: float) -> SandboxProfile:
        mount = Mount(source=str(self.folder), target="/workspace", writable=True)
        return SandboxProfile(mounts=(mount,), workdir="/workspace", limits=SandboxLimits(**limits))  # type: ignore[arg-type]

    def command(self, text: str, *, stdin: bytes = b"", pty: bool = False, env: Mapping[str, str] | None = None) -> Command:
        return Command(argv=("/bin/sh", "-c", text), stdin=stdin, pty=pty, env=env or {})
