"""The ways out for what the assistant chooses: for every set of rules one judge, for fetching, browsing and commands alike."""

import logging
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ostiary.adapters.egress import Egress
from ostiary.assembly.newest import Newest
from ostiary.assembly.rules import Rules
from ostiary.assembly.web import egress_rules
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.identity import OWNER, Principal

if TYPE_CHECKING:
    from ostiary.adapters.egress import AgentProfile, EgressRules

log = logging.getLogger("ostiary.egress")

SOCKET = "egress"
_LONGEST_SOCKET = 100
_PROFILES = 32


class Outlet:
    """No tool ever reaches the ports that the gateway listens on, whoever allows them."""

    def __init__(self, egress: Egress, newest: Newest, home: Path) -> None:
        self._egress = egress
        self._newest = newest
        self._home = home
        self._profiles: dict[tuple[int, frozenset[int], str], AgentProfile] = {}
        self._changed = anyio.Event()
        self._own_ports: frozenset[int] = frozenset()
        self._doors: dict[EgressRules, str] = {}
        newest.follow(self._follow)

    @property
    def ports(self) -> frozenset[int]:
        """Those the gateway listens on, as far as it has said so."""
        return self._own_ports

    def keep_off(self, port: int) -> None:
        """The gateway listens on it."""
        was = self._ports()
        self._own_ports |= {port}
        if self._ports() != was:
            self._changed.set()

    def socket_of(self, role: str) -> str:
        """Where commands and the browser of this role find the proxy that keeps its rules; empty if there is none."""
        return self._doors.get(self._rules(role), "")

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
        """The proxies for commands and the browser, until cancelled; anew with every change of the rules."""
        while True:
            self._changed = anyio.Event()
            try:
                async with AsyncExitStack() as stack:
                    for number, rules in enumerate(self._sets()):
                        path = self._place(number)
                        await stack.enter_async_context(self._egress.proxy(rules, path))
                        self._doors[rules] = path
                    await self._changed.wait()
            except (OstiaryError, OSError) as error:
                log.warning("commands and the browser have no network: %s", error)
                await self._changed.wait()
            finally:
                self._doors.clear()

    def _sets(self) -> "list[EgressRules]":
        """Every different set of rules there is: the owner's, a stranger's, and those of the roles that have their own."""
        by_role = self._newest.live.current.config.tools.web.by_role
        return list(dict.fromkeys(self._rules(role) for role in (OWNER, "", *sorted(by_role))))

    def _place(self, number: int) -> str:
        """Raises BadInput."""
        path = str(self._home / (f"{SOCKET}-{number}.sock" if number else f"{SOCKET}.sock"))
        if len(path) > _LONGEST_SOCKET:
            raise BadInput(f"the path {path} is too long for a socket")
        return path

    def _follow(self, rules: Rules) -> None:
        self._changed.set()

    def _ports(self) -> frozenset[int]:
        port = self._newest.live.current.config.gateway.port
        return (self._own_ports | {port}) - {0}

    def _rules(self, role: str) -> "EgressRules":
        return egress_rules(self._newest.live.current.config.tools.web, role, control_ports=self._ports())
