"""The configuration file and the devices."""

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.browser.fake_gateway.wire import Refused, Socket

if TYPE_CHECKING:
    from tests.browser.fake_gateway.gateway import FakeGateway


class Settings:
    def __init__(self, gateway: "FakeGateway") -> None:
        self.gateway = gateway

    def _config(self, text: str) -> Any:
        from ostiary.assembly.config.load import understand
        from ostiary.contracts.errors import ConfigInvalid

        try:
            return understand(text, {}, source=Path("ostiary.json5"))
        except ConfigInvalid as error:
            raise Refused("INVALID_PARAMS", str(error), hint=error.hint) from None

    def _hash(self) -> str:
        return hashlib.sha256(self.gateway.config_text.encode()).hexdigest()

    async def on_config_get(self, socket: Socket, params: dict[str, Any]) -> Any:
        from ostiary.assembly.config.explain import explain, shown

        loaded = self._config(self.gateway.config_text)
        return {
            "hash": self._hash(), "config": shown(loaded), "text": self.gateway.config_text, "problem": "",
            "sources": ["/home/ana/.ostiary/ostiary.json5"], "generation": 3,
            "origins": {each.path: each.origin for each in explain(loaded)},
        }  # fmt: skip

    async def on_config_schema(self, socket: Socket, params: dict[str, Any]) -> Any:
        from ostiary.assembly.config.json_schema import export

        return export()

    async def on_config_patch(self, socket: Socket, params: dict[str, Any]) -> Any:
        from ostiary.assembly.config import edit

        if params["hash"] != self._hash():
            raise Refused("CONFLICT", "The file was changed by somebody else.", hint="Read it again.")
        path = tuple(params["path"].split("."))
        before = self.gateway.config_text
        text = edit.unset(before, path) if params.get("unset") else edit.set_value(before, path, params["value"])
        self._config(text)
        self.gateway.config_text = text
        return {"hash": self._hash(), "generation": 4}

    async def on_config_apply(self, socket: Socket, params: dict[str, Any]) -> Any:
        if params["hash"] != self._hash():
            raise Refused("CONFLICT", "The file was changed by somebody else.", hint="Read it again.")
        self._config(params["text"])
        self.gateway.config_text = params["text"]
        return {"hash": self._hash(), "generation": 4}

    async def on_device_pair_list(self, socket: Socket, params: dict[str, Any]) -> Any:
        return {"pending": self.gateway.pending, "devices": self.gateway.devices}

    async def on_device_pair_approve(self, socket: Socket, params: dict[str, Any]) -> Any:
        found = next((row for row in self.gateway.pending if row["id"] == params["id"]), None)
        if found is None:
            raise Refused("NOT_FOUND", "There is no such request.")
        self.gateway.pending.remove(found)
        self.gateway.devices.append(
            {
                **found,
                "id": found["deviceId"],
                "kind": "device",
                "scopes": params.get("scopes") or found["scopes"],
                "createdAt": time.time(),
                "lastSeen": time.time(),
                "current": False,
            }
        )
        return {"deviceId": found["deviceId"], "scopes": params.get("scopes") or found["scopes"]}

    async def on_device_pair_reject(self, socket: Socket, params: dict[str, Any]) -> Any:
        self.gateway.pending = [row for row in self.gateway.pending if row["id"] != params["id"]]
        return {"ok": True}

    async def on_device_revoke(self, socket: Socket, params: dict[str, Any]) -> Any:
        self.gateway.devices = [row for row in self.gateway.devices if row["id"] != params["id"]]
        return {"ok": True}
