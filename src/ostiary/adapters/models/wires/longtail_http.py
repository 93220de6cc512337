"""Giving pydantic-ai's providers our way out. Imports the library: only `longtail` imports this, when it is used."""

import inspect
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from types import ModuleType
from typing import Any

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import infer_model
from pydantic_ai.providers import infer_provider_class

from ostiary.adapters.egress import ConfiguredOrigin, Egress, EgressFailed, Exchange, Limits
from ostiary.contracts.errors import EgressRefused, ModelMisconfigured

_NOT_PASSED_ON = frozenset(("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "user-agent"))


def model_maker(
    provider: str, base_url: str, headers: Mapping[str, str], egress: Egress, limits: Limits
) -> Callable[[str, str], Any]:
    """Raises ModelMisconfigured for a provider that is unknown, not installed, or brings its own connections."""
    try:
        kind: Any = infer_provider_class(provider)
    except (ValueError, UserError, ImportError) as error:
        raise ModelMisconfigured(f"pydantic-ai has no provider {provider[:60]!r} here: {str(error)[:200]}") from error
    return lambda model, secret: infer_model(
        f"{provider}:{model}", provider_factory=lambda _: bridged(kind, base_url, headers, secret, egress, limits)
    )


def bridged(kind: Any, base_url: str, headers: Mapping[str, str], secret: str, egress: Egress, limits: Limits) -> Any:
    """A provider of this class whose every request leaves through `egress`. Raises ModelMisconfigured if it cannot be so."""
    accepted = inspect.signature(kind.__init__).parameters
    name = kind.__name__.removesuffix("Provider")
    if "http_client" not in accepted or "api_key" not in accepted:
        raise ModelMisconfigured(
            f"{name} makes connections of its own, past the gate all requests go through.",
            hint="Use its OpenAI-compatible address with the api openai-completions.",
        )
    if base_url and "base_url" not in accepted:
        raise ModelMisconfigured(f"{name} has a fixed address; leave baseUrl out.")
    if not secret:
        # Without a key the library would look for one in the environment.
        raise ModelMisconfigured(f"{name} needs a key.")
    library = _library(kind)
    bridge = _bridge(library)(headers, secret, limits)
    client = library.AsyncClient(transport=bridge, trust_env=False)
    made = kind(api_key=secret, http_client=client, **({"base_url": base_url} if base_url else {}))
    bridge.origin = egress.configured(base_url or made.base_url)
    return made


def _library(kind: type[Any]) -> ModuleType:
    """Providers are moving from httpx to its successor; each wants the one its module names."""
    names = vars(sys.modules[kind.__module__])
    library = names.get("httpx2") or names.get("httpx") or httpx2
    return library if isinstance(library, ModuleType) else httpx2


def _bridge(library: ModuleType) -> Any:
    """The transport class for one of the two libraries, which differ in nothing but their name."""

    class Body(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __init__(self, exchange: Exchange, response: Any) -> None:
            self._exchange = exchange
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                while chunk := await self._response.read():
                    yield chunk
            except EgressFailed as error:
                raise library.ReadError(str(error)) from error

        async def aclose(self) -> None:
            await self._exchange.__aexit__(None, None, None)

    class Bridge(library.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        """Carries requests to the one configured origin and refuses all others."""

        def __init__(self, headers: Mapping[str, str], secret: str, limits: Limits) -> None:
            self.origin: ConfiguredOrigin | None = None
            self._headers = headers
            self._secret = secret
            self._limits = limits

        async def handle_async_request(self, request: Any) -> Any:
            exchange = self._exchange(request, await request.aread())
            try:
                response = await exchange.__aenter__()
            except EgressFailed as error:
                raise library.ConnectError(str(error)) from error
            headers = {name: value for name, value in response.headers.items() if name not in _NOT_PASSED_ON}
            return library.Response(response.status, headers=headers, stream=Body(exchange, response))

        def _exchange(self, request: Any, body: bytes) -> Exchange:
            origin = self.origin
            if origin is None:
                raise EgressRefused("A request was made before the address was known.")
            root = origin.url("/")[:-1]
            url = str(request.url)
            if not url.startswith(root + "/"):
                raise EgressRefused(f"A request to {request.url.host} is not one to {origin.origin}.")
            sent = {name: value for name, value in request.headers.items() if name not in _NOT_PASSED_ON}
            secret = {name: value for name, value in sent.items() if self._secret in value}
            plain = {name: value for name, value in sent.items() if name not in secret}
            secret |= self._headers
            path = url[len(root) :]
            if request.method == "GET":
                return origin.get(path, plain, secret_headers=secret, limits=self._limits)
            return origin.post(path, body, plain, secret_headers=secret, limits=self._limits)

    return Bridge
