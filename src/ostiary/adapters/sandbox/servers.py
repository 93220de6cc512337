"""The fork servers that are kept: few, each for one view of the host, each gone a minute after its last run."""

import os
from collections.abc import Sequence
from typing import Any

import anyio

from ostiary.adapters.sandbox.machine import Machine, check_socket
from ostiary.adapters.sandbox.served import Server, start_server
from ostiary.adapters.sandbox.view import Source
from ostiary.contracts.sandbox import SandboxProfile

Key = tuple[Any, ...]
_MOST_ENDING = 8


class Servers:
    """With `most` 0 none is kept: each command gets one of its own."""

    def __init__(self, *, most: int, idle_seconds: float) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._kept: dict[Key, Server] = {}
        self._ending: list[Server] = []
        self._starting = anyio.Lock()

    async def take(
        self, machine: Machine, sources: Sequence[Source], profile: SandboxProfile, home: str, *, fresh: bool = False
    ) -> Server:
        """One for exactly this view, to be given back. Where all places are taken by servers with runs it is used once.

        Raises SandboxUnavailable, ToolError."""
        key = _key(sources, profile, home)
        self._drop_ended()
        if not fresh and key in self._kept:
            return self._used(key)
        async with self._starting:
            # Another command may have started it meanwhile.
            if not fresh and key in self._kept:
                return self._used(key)
            self._make_room(key)
            is_kept = not fresh and len(self._kept) < self._most
            started = start_server(machine, sources, profile, home, idle_seconds=self._idle_seconds if is_kept else 0.0)
            if is_kept:
                self._kept[key] = started
            started.busy += 1
            return started

    def _used(self, key: Key) -> Server:
        """Put last: the first one is the one used longest ago."""
        found = self._kept[key] = self._kept.pop(key)
        found.busy += 1
        return found

    def give_back(self, server: Server) -> None:
        server.busy -= 1
        if not server.busy and server not in self._kept.values():
            # It holds nothing but itself and ends when it hears this; nobody need wait for that.
            server.dismiss()
            self._ending.append(server)

    def drop(self, server: Server) -> None:
        """It does not answer as it should."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept is not server}
        server.close()

    def close(self) -> None:
        for server in (*self._kept.values(), *self._ending):
            server.close()
        self._kept.clear()
        self._ending.clear()

    def _drop_ended(self) -> None:
        for server in [kept for kept in self._kept.values() if not kept.is_alive]:
            self.drop(server)
        for server in [each for each in self._ending if not each.is_alive or len(self._ending) > _MOST_ENDING]:
            self._ending.remove(server)
            server.close()

    def _make_room(self, key: Key) -> None:
        """A directory that was made anew has another identity: the server that still holds the old one is of no use."""
        idle = [(kept, server) for kept, server in self._kept.items() if not server.busy]
        for kept, server in idle:
            if kept[0] == key[0]:
                self.drop(server)
        idle = [(kept, server) for kept, server in idle if kept in self._kept]
        if len(self._kept) >= self._most and idle:
            self.drop(idle[0][1])


def _key(sources: Sequence[Source], profile: SandboxProfile, home: str) -> Key:
    limits = profile.limits
    return (
        tuple((source.mount.source, source.mount.target, source.mount.writable) for source in sources),
        tuple(source.identity for source in sources),
        (profile.network, _proxy(profile), home, limits.temporary_bytes, limits.memory_bytes, limits.processes),
    )


def _proxy(profile: SandboxProfile) -> Key:
    """Which socket it is, not only what it is called: a server holds the one that was there when it began."""
    if profile.network != "proxy":
        return ()
    check_socket(profile.proxy_socket)
    found = os.lstat(profile.proxy_socket)
    return (profile.proxy_socket, found.st_dev, found.st_ino, found.st_ctime_ns)
