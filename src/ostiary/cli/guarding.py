"""The secret guard for a command that takes text out of the house or brings it in."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostiary.core.policy.secrets import Guard


def house_guard() -> "Guard":
    """It knows every secret that this house holds. Raises OstiaryError if those cannot be read: then nothing goes out."""
    from ostiary.assembly.config.load import load
    from ostiary.assembly.config.secret import environment
    from ostiary.assembly.credential_key import open_credentials
    from ostiary.assembly.known import KnownSecrets
    from ostiary.assembly.machine import SystemClock
    from ostiary.cli.home import home
    from ostiary.core.policy.secrets import Guard

    credentials = open_credentials(home())
    merged = environment(load(home(), os.environ).config.env, os.environ, credentials)
    return Guard(KnownSecrets(credentials, merged, SystemClock()), state=(str(home()),))
