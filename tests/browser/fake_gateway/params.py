"""What each method takes, as strictly as the original."""

from typing import Any

from ostiary.gateway.protocol import chat, config, connect, devices, models, sessions, system, usage
from ostiary.gateway.protocol.shape import Nothing
from tests.browser import fake_house
from tests.browser.fake_gateway import vault

PARAMS: dict[str, Any] = {
    "connect": connect.Connect,
    "health": Nothing,
    "status": Nothing,
    "system-presence": Nothing,
    "commands.list": Nothing,
    "models.list": models.ListModels,
    "models.auth.list": Nothing,
    "models.auth.set": models.SetProfile,
    "models.auth.delete": models.DeleteProfile,
    "models.set": models.SetModel,
    "sessions.list": sessions.ListSessions,
    "sessions.get": sessions.OfSession,
    "sessions.patch": sessions.PatchSession,
    "sessions.reset": sessions.ChangeSession,
    "sessions.delete": sessions.ChangeSession,
    "sessions.branch": sessions.BranchSession,
    "sessions.events": sessions.ListEvents,
    "sessions.subscribe": sessions.Subscribe,
    "sessions.unsubscribe": sessions.Unsubscribe,
    "chat.history": chat.GetHistory,
    "chat.send": chat.Send,
    "chat.abort": chat.Abort,
    "usage.summary": usage.Summarise,
    "config.get": Nothing,
    "config.schema": Nothing,
    "config.patch": config.PatchConfig,
    "config.apply": config.ApplyConfig,
    "logs.tail": system.Tail,
    "device.pair.list": Nothing,
    "device.pair.approve": devices.Approve,
    "device.pair.reject": devices.OfRequest,
    "device.revoke": devices.OfDevice,
    **fake_house.PARAMS,
    **vault.PARAMS,
}
