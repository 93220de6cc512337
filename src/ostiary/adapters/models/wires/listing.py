"""Asking an endpoint which models it has."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from ostiary.adapters.egress import EgressFailed, Limits
from ostiary.adapters.models.wires.errors import from_egress, from_response
from ostiary.adapters.models.wires.wire import Endpoint
from ostiary.contracts.errors import EgressRefused, ModelError, ModelUnavailable

Shape = TypeVar("Shape")

_LIMITS = Limits(connect_seconds=5, idle_seconds=15, total_seconds=30)


async def fetch(
    endpoint: Endpoint, path: str, shape: type[Shape], *, headers: Mapping[str, str], secret_headers: Mapping[str, str]
) -> Shape:
    """One JSON document of the given shape. Raises ModelError."""
    who = str(endpoint.origin.origin)
    secret = {**endpoint.headers, **secret_headers}
    try:
        async with endpoint.origin.get(path, headers, secret_headers=secret, limits=_LIMITS) as response:
            if response.status != 200:
                refused: ModelError = await from_response(who, response)
                raise refused
            return msgspec.json.decode(await response.body(), type=shape)
    except (EgressFailed, EgressRefused) as error:
        raise from_egress(who, error) from error
    except msgspec.DecodeError as error:
        raise ModelUnavailable(f"{who} sent a list of models that cannot be read: {str(error)[:200]}.") from None
