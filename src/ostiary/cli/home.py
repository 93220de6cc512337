"""Which state directory this is about."""

import os
from pathlib import Path


def home(given: Path | None = None) -> Path:
    """`--home` if it was given, else OSTIARY_HOME, else ~/.ostiary. Raises BadInput."""
    if given is not None:
        os.environ["OSTIARY_HOME"] = str(given.expanduser().absolute())
    from ostiary.assembly.config.paths import state_directory

    return state_directory(os.environ)
