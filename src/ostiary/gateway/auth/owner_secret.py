"""The owner's own secrets: the gateway's token or password, and the token of this run."""

from collections.abc import Callable
from typing import Literal

from ostiary.gateway.asgi import Scope
from ostiary.gateway.auth.failures import FailureBudget
from ostiary.gateway.auth.place import client_address, is_local
from ostiary.gateway.auth.rules import AccessRules
from ostiary.gateway.auth.secret import digest, same
from ostiary.gateway.errors import ApiError

Kind = Literal["token", "password", "run"]


class OwnerSecret:
    """Who guesses is shut out for a while, but never the owner: the run's token (256 bits, nobody guesses it) is compared always,
    the gateway's token always when the connection is really local. A password, being short, waits like any guess.
    """

    def __init__(
        self,
        *,
        token: Callable[[], str],
        password: Callable[[], str],
        run_token: str,
        mode: Callable[[], Literal["token", "password"]],
        failures: FailureBudget,
    ) -> None:
        self._token = token
        self._password = password
        self._run_token = run_token
        self._mode = mode
        self._failures = failures

    def check(self, scope: Scope, rules: AccessRules, *, token: str = "", password: str = "", bearer: str = "") -> Kind:
        """Which secret it is. A `bearer` may be any of them. Raises ApiError 401, or 429 if too many were wrong."""
        address = client_address(scope, rules)
        barred = self._failures.wait(address)
        found = self._match(token or bearer, password or bearer, barred=bool(barred), near=is_local(scope))
        if found is not None:
            return found
        wait = self._failures.count(address)
        if wait:
            raise ApiError(429, "Too many wrong tokens; wait before the next try.", code="too_many_failures", retry_after=wait)
        what = "password" if self._mode() == "password" else "token"
        raise ApiError(401, f"Send the gateway's {what} as 'Authorization: Bearer <{what}>'.", code="invalid_api_key")

    def current(self) -> bytes:
        """Changes when the secret that lets in changes."""
        mode = self._mode()
        return mode.encode() + digest(self._password() if mode == "password" else self._token())

    def _match(self, token: str, password: str, *, barred: bool, near: bool) -> Kind | None:
        """Everything that may count is compared, so that the time does not tell which came close."""
        by_password = self._mode() == "password"
        is_run = same(token, self._run_token)
        is_token = same(token, self._token()) and not by_password and (near or not barred)
        is_password = same(password, self._password()) and by_password and not barred
        if is_run:
            return "run"
        return "token" if is_token else "password" if is_password else None
