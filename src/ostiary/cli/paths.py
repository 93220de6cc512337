"""Places on the disk as people name them."""

from pathlib import Path

from ostiary.contracts.errors import BadInput


def path(text: str) -> Path:
    """Raises BadInput for an empty name: an unset variable gives one, and it does not mean the folder one stands in."""
    if not text.strip():
        raise BadInput("the name of a folder or file is empty", hint="Write . for the folder you are in.")
    return Path(text)
