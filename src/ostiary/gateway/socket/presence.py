"""Who is here: clients by instance, for five minutes after they were last heard of. Command lines are not listed."""

from collections import OrderedDict
from collections.abc import Callable, Iterable

import msgspec

from ostiary.gateway.protocol.connect import Client
from ostiary.gateway.protocol.registry import Scope
from ostiary.gateway.protocol.system import Presence

TTL_SECONDS = 300.0
MOST = 200
GATEWAY = "gateway"


class PresenceTable:
    """Bounded: beyond 200 the one not heard of for longest goes. `version` counts the changes people would see."""

    def __init__(self, *, now: Callable[[], float], version: str, platform: str = "") -> None:
        self._now = now
        self._seen: OrderedDict[str, Presence] = OrderedDict()
        self._gateway = (version, platform)
        self.version = 1

    def arrived(self, instance: str, client: Client, scopes: frozenset[Scope]) -> bool:
        """Gives whether the list has changed."""
        if client.mode == "cli" or instance == GATEWAY:
            return False
        entry = Presence(
            instance_id=instance,
            display_name=client.display_name or client.id,
            mode=client.mode,
            platform=client.platform,
            version=client.version,
            ts=self._ts(),
            reason="connect",
            scopes=sorted(scopes),
        )
        self._keep(instance, entry)
        return True

    def beacon(self, instance: str, text: str, reason: str) -> bool:
        """False if nobody of that name is here."""
        entry = self._seen.get(instance)
        if entry is None:
            return False
        self._keep(instance, msgspec.structs.replace(entry, ts=self._ts(), reason=reason, text=text))
        return True

    def left(self, instance: str) -> bool:
        entry = self._seen.get(instance)
        if entry is None:
            return False
        self._keep(instance, msgspec.structs.replace(entry, ts=self._ts(), reason="disconnect"))
        return True

    def heard(self, instances: Iterable[str]) -> None:
        """They are still connected."""
        ts = self._ts()
        for instance in instances:
            entry = self._seen.get(instance)
            if entry is not None:
                self._seen[instance] = msgspec.structs.replace(entry, ts=ts)
                self._seen.move_to_end(instance)

    def expire(self) -> bool:
        """Gives whether somebody went."""
        oldest = self._ts() - int(TTL_SECONDS * 1000)
        gone = [instance for instance, entry in self._seen.items() if entry.ts < oldest]
        for instance in gone:
            del self._seen[instance]
        self.version += bool(gone)
        return bool(gone)

    def list(self) -> list[Presence]:
        """The gateway itself first, then the most recently heard of."""
        version, platform = self._gateway
        own = Presence(
            instance_id=GATEWAY,
            display_name="Ostiary",
            mode="gateway",
            platform=platform,
            version=version,
            ts=self._ts(),
            reason="self",
            scopes=[],
        )
        return [own, *reversed(self._seen.values())]

    def _keep(self, instance: str, entry: Presence) -> None:
        self._seen[instance] = entry
        self._seen.move_to_end(instance)
        while len(self._seen) > MOST - 1:
            self._seen.popitem(last=False)
        self.version += 1

    def _ts(self) -> int:
        return int(self._now() * 1000)
