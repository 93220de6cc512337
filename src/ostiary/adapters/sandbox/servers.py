"""The fork servers that are kept: few, each for one view of the host, each gone a minute after its last run."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import anyio

from ostiary.adapters.sandbox.machine import Machine, check_socket
from ostiary.adapters.sandbox.served import Server, start_server
from ostiary.adapters.sandbox.view import Source
from ostiary.contracts.sandbox import SandboxProfile

Key = tuple[Any, ...]


class Servers:
    """With `most` 0 none is kept: each command gets one of its own."""

    def __init__(self, *, most: int, idle_seconds: float) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._kept: dict[Key, Server] = {}
        self._living: set[Server] = set()
        self._starting = anyio.Lock()

    async def take(
        self, machine: Machine, sources: Sequence[Source], profile: SandboxProfile, home: str, *, fresh: bool = False
    ) -> Server:
        """One for exactly this view, to be given back. Where all places are taken by servers with runs it is used once.

        Raises SandboxUnavailable, ToolError."""
        key = _key(sources, profile, home)
        if not fresh and key in self._kept:
            return self._used(key)
        async with self._starting:
            # Another command may have started it meanwhile.
            if not fresh and key in self._kept:
                return self._used(key)
            self._make_room(key)
            is_kept = not fresh and len(self._kept) < self._most
            started = start_server(machine, sources, profile, home, idle_seconds=self._idle_seconds if is_kept else 0.0)
            self._living.add(started)
            started.when_ended(partial(self._ended, started))
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
        if server.busy or server in self._kept.values():
            return
        if server.is_alive:
            # It holds nothing but itself and ends when it hears this; nobody need wait for that.
            server.dismiss()
        else:
            self.drop(server)

    def drop(self, server: Server) -> None:
        """It has ended, or does not answer as it should."""
        self._forget(server)
        self._living.discard(server)
        server.close()

    def _forget(self, server: Server) -> None:
        self._kept = {key: kept for key, kept in self._kept.items() if kept is not server}

    def _ended(self, server: Server) -> None:
        self._forget(server)
        # Whoever still uses it wants to know what it said.
        if not server.busy:
            self.drop(server)

    def close(self) -> None:
        for server in tuple(self._living):
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
