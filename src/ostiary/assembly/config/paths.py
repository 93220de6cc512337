"""Where things lie: the state directory and the files of the configuration in it."""

import re
from collections.abc import Mapping
from pathlib import Path

from ostiary.contracts.errors import BadInput

FILE = "ostiary.json5"
LAST_GOOD = "ostiary.json5.last-good"
LOCK = "config.lock"
CREDENTIALS = "credentials.db"
CREDENTIALS_KEY = "credentials.key"

_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")


def state_directory(environ: Mapping[str, str]) -> Path:
    """`OSTIARY_HOME`, else `~/.ostiary`, or `~/.ostiary-<profile>` when `OSTIARY_PROFILE` names one. Raises BadInput."""
    given = environ.get("OSTIARY_HOME", "").strip()
    if given:
        return Path(given).expanduser().absolute()
    profile = environ.get("OSTIARY_PROFILE", "").strip()
    if profile and _PROFILE.fullmatch(profile) is None:
        raise BadInput(f"OSTIARY_PROFILE is {profile[:40]!r}, which is not a name", hint="Use letters, digits, _ and -.")
    name = f".ostiary-{profile}" if profile and profile != "default" else ".ostiary"
    home = environ.get("HOME", "").strip()
    return (Path(home) if home else Path.home()) / name


def config_path(home: Path, environ: Mapping[str, str]) -> Path:
    """`OSTIARY_CONFIG_PATH`, else `ostiary.json5` in the state directory."""
    given = environ.get("OSTIARY_CONFIG_PATH", "").strip()
    return Path(given).expanduser().absolute() if given else home / FILE
