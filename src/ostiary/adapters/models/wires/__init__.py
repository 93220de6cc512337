"""Model wires: how each kind of provider is spoken to. `make_wire` imports only the one that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ostiary.adapters.models.apis import APIS, LONG_TAIL
from ostiary.adapters.models.wires.wire import Compat, Endpoint, Facts, ListedModel, Wire
from ostiary.contracts.errors import EgressRefused, ModelMisconfigured

if TYPE_CHECKING:
    from ostiary.adapters.egress import Egress, Limits

__all__ = ["APIS", "LONG_TAIL", "Compat", "Endpoint", "Facts", "ListedModel", "Wire", "make_wire"]


def make_wire(
    api: str,
    base_url: str,
    headers: Mapping[str, str],
    egress: Egress,
    facts: Facts,
    *,
    limits: Limits | None = None,
    compat: Compat | None = None,
) -> Wire:
    """The wire named `api` to one endpoint. Raises ModelMisconfigured for an unknown api or an address that cannot be used.

    `compat` overrides what the OpenAI chat wire assumes of the server by its host name.
    """
    if api.startswith(LONG_TAIL):
        from ostiary.adapters.models.wires.longtail import make_long_tail

        return make_long_tail(api.removeprefix(LONG_TAIL), base_url, headers, egress, facts, limits=limits)
    if api not in APIS:
        raise ModelMisconfigured(
            f"There is no wire {api[:60]!r}.", hint=f"api is one of {', '.join(APIS)}, {LONG_TAIL}<provider>."
        )
    if api == "ollama":
        base_url = base_url.rstrip("/").removesuffix("/v1")
    try:
        origin = egress.configured(base_url)
    except EgressRefused as error:
        raise ModelMisconfigured(str(error), hint="Check baseUrl.") from error
    from ostiary.adapters.egress import Limits

    endpoint = Endpoint(origin=origin, facts=facts, headers=dict(headers), limits=limits or Limits(), compat=compat)
    return _builtin(api, endpoint)


def _builtin(api: str, endpoint: Endpoint) -> Wire:
    match api:
        case "openai-completions":
            from ostiary.adapters.models.wires.openai_chat import OpenAIChat

            return OpenAIChat(endpoint)
        case "openai-responses":
            from ostiary.adapters.models.wires.openai_responses import OpenAIResponses

            return OpenAIResponses(endpoint)
        case "anthropic-messages":
            from ostiary.adapters.models.wires.anthropic import AnthropicMessages

            return AnthropicMessages(endpoint)
        case "google-generative-ai":
            from ostiary.adapters.models.wires.gemini import Gemini

            return Gemini(endpoint)
    from ostiary.adapters.models.wires.ollama import Ollama

    return Ollama(endpoint)
