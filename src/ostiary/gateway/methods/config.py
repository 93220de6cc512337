"""The configuration, by whoever may administer the house."""

import msgspec

from ostiary.gateway.methods.services import Call, ConfigDesk, Services
from ostiary.gateway.protocol.config import ApplyConfig, ConfigChanged, ConfigSchema, ConfigView, PatchConfig
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.shape import Nothing


async def get_config(call: Call[Nothing]) -> ConfigView:
    """What is in force and what the file says, secrets masked."""
    return _desk(call.services).view()


async def get_schema(call: Call[Nothing]) -> ConfigSchema:
    """What may be configured, with hints for forms."""
    return _desk(call.services).schema()


async def patch_config(call: Call[PatchConfig]) -> ConfigChanged:
    """Set or remove one value, if the file is still the one that was read."""
    asked, desk = call.params, _desk(call.services)
    if asked.unset == (asked.value is not msgspec.UNSET):
        details = {"path": "value", "expected": "value or unset"}
        raise MethodError("INVALID_PARAMS", "Give either value or unset.", details=details)
    if asked.unset:
        generation = await desk.unset(asked.path, hash=asked.hash)
    else:
        generation = await desk.set(asked.path, asked.value, hash=asked.hash)
    return ConfigChanged(hash=desk.view().hash, generation=generation)


async def apply_config(call: Call[ApplyConfig]) -> ConfigChanged:
    """Replace the file, if it is still the one that was read. What does not validate is never written."""
    desk = _desk(call.services)
    generation = await desk.apply(call.params.text, hash=call.params.hash)
    return ConfigChanged(hash=desk.view().hash, generation=generation)


def _desk(services: Services) -> ConfigDesk:
    assert services.config is not None
    return services.config


METHODS = (
    Method("config.get", Nothing, ConfigView, "admin", get_config, needs="config"),
    Method("config.schema", Nothing, ConfigSchema, "admin", get_schema, needs="config"),
    Method("config.patch", PatchConfig, ConfigChanged, "admin", patch_config, has_effect=True, needs="config"),
    Method("config.apply", ApplyConfig, ConfigChanged, "admin", apply_config, has_effect=True, needs="config"),
)
