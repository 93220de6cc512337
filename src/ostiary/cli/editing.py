"""A text in the person's own editor, in a file that nobody else can read."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from ostiary.contracts.errors import BadInput

_USUAL = ("editor", "nano", "vim", "vi")


def edited(name: str, before: bytes) -> bytes:
    """What the file holds when the editor has ended. Raises BadInput if there is no editor, or it failed: then the text is
    kept where the message says."""
    command = _editor()
    file = keep_aside(name, before)
    folder = file.parent
    keep = False
    try:
        try:
            code = subprocess.run([*command, str(file)], check=False).returncode
        except OSError as error:
            raise BadInput(f"{command[0]} cannot be started: {error.strerror}", hint="Set EDITOR to your editor.") from None
        after = file.read_bytes() if file.exists() else before
        if code:
            keep = after != before
            where = f" Your text is kept in {file}." if keep else ""
            raise BadInput(f"{command[0]} ended with {code}, so nothing was written.{where}")
        return after
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def keep_aside(name: str, content: bytes) -> Path:
    """A new file in a folder of its own that nobody else can look into. Raises BadInput."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="ostiary-"))
        # An editor knows the kind of a text by its ending.
        file = folder / (name if name.isprintable() and not name.startswith("-") and len(name.encode()) < 200 else "document.txt")
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
    except OSError as error:
        raise BadInput(f"no file can be made to edit the text in: {error.strerror}", hint="Check TMPDIR.") from None
    return file


def _editor() -> list[str]:
    said = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    if said.strip():
        try:
            return shlex.split(said)
        except ValueError as error:
            raise BadInput(f"the editor {said!r} cannot be understood: {error}", hint="Check VISUAL and EDITOR.") from None
    found = next((name for name in _USUAL if shutil.which(name)), "")
    if not found:
        raise BadInput("there is no editor", hint="Set EDITOR, for example: EDITOR=nano")
    return [found]
