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


class Servers:
    def __init__(self, *, most: int, idle_seconds: float) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._kept: dict[Key, Server] = {}
        self._starting = anyio.Lock()

    async def get(self, machine: Machine, sources: Sequence[Source], profile: SandboxProfile, home: str) -> Server | None:
        """One for exactly this view, started if need be. None if all places are taken by servers with runs."""
        key = _key(sources, profile, home)
        async with self._starting:
            self._drop_ended()
            found = self._kept.pop(key, None)
            if found is None:
                self._make_room(key)
                if len(self._kept) >= self._most:
                    return None
                found = await start_server(machine, sources, profile, home, idle_seconds=self._idle_seconds)
            # Put last: the first one is the one used longest ago.
            self._kept[key] = found
            return found

    def drop(self, server: Server) -> None:
        """It does not answer as it should."""
        for key, kept in list(self._kept.items()):
            if kept is server:
                del self._kept[key]
                kept.close()

    def close(self) -> None:
        for server in self._kept.values():
            server.close()
        self._kept.clear()

    def _drop_ended(self) -> None:
        for server in [kept for kept in self._kept.values() if not kept.is_alive]:
            self.drop(server)

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
