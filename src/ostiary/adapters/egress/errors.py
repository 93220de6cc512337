"""What can go wrong with a request that was allowed. A request that was not is contracts.errors.EgressRefused."""

from typing import Literal

from ostiary.contracts.errors import OstiaryError

Failure = Literal["name", "connect", "certificate", "timeout", "cut", "too_large", "protocol"]


class EgressFailed(OstiaryError):
    """The other side could not be found or reached, took too long, stopped midway or sent too much; `failure` says which."""

    def __init__(self, message: str, *, failure: Failure, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.failure = failure
