"""The way out for what the assistant chooses: one judge's rules for fetching, browsing and commands, as they are now."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ostiary.adapters.egress import Egress
from ostiary.assembly.newest import Newest
from ostiary.assembly.rules import Rules
from ostiary.assembly.web import egress_rules
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import OWNER, Principal

if TYPE_CHECKING:
    from ostiary.adapters.egress import AgentProfile, EgressRules

log = logging.getLogger("ostiary.egress")

SOCKET = "egress.sock"
_LONGEST_SOCKET = 100
_PROFILES = 32


class Outlet:
    """`ports` are those the gateway listens on: no tool ever reaches them."""

    def __init__(self, egress: Egress, newest: Newest, home: Path) -> None:
        self._egress = egress
        self._newest = newest
        self.path = str(home / SOCKET)
        self._profiles: dict[tuple[int, frozenset[int], str], AgentProfile] = {}
        self._changed = anyio.Event()
        self.ports: set[int] = set()
        self.is_open = False
        newest.follow(self._follow)

    @property
    def socket(self) -> str:
        """Where commands and the browser find the proxy; empty if there is none."""
        return self.path if self.is_open else ""

    def profile_of(self, role: str) -> "AgentProfile":
        """Raises BadInput if a rule cannot be understood."""
        key = (self._newest.rules.generation, self._ports(), role)
        found = self._profiles.get(key)
        if found is None:
            if len(self._profiles) >= _PROFILES:
                self._profiles.clear()
            found = self._profiles[key] = self._egress.agent(self._rules(role))
        return found

    async def refuses(self, url: str, principal: Principal) -> str:
        """Why somebody's browser may not open this, else empty."""
        try:
            self.profile_of(principal.role).check(url)
        except OstiaryError as error:
            return str(error)
        return ""

    async def serve(self) -> None:
        """The proxy for commands and the browser, until cancelled; anew with every change of the rules."""
        if len(self.path) > _LONGEST_SOCKET:
            log.warning("commands and the browser have no network: the path %s is too long for a socket", self.path)
            return
        while True:
            self._changed = anyio.Event()
            try:
                async with self._egress.proxy(self._rules(OWNER), self.path):
                    self.is_open = True
                    await self._changed.wait()
            except (OstiaryError, OSError) as error:
                log.warning("commands and the browser have no network: %s", error)
                await self._changed.wait()
            finally:
                self.is_open = False

    def _follow(self, rules: Rules) -> None:
        self._changed.set()

    def _ports(self) -> frozenset[int]:
        port = self._newest.live.current.config.gateway.port
        return frozenset({port, *self.ports} - {0})

    def _rules(self, role: str) -> "EgressRules":
        return egress_rules(self._newest.live.current.config.tools.web, role, control_ports=self._ports())
