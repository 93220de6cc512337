"""From the configuration of webhooks to the rules their door reads."""

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ostiary.assembly.config.secret import SecretSource, resolve
from ostiary.contracts.errors import ConfigInvalid
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.messages import Address
from ostiary.core.routing.scopes import hook_scope
from ostiary.gateway.auth.secret import check_secret_strength, same
from ostiary.gateway.hooks.rules import Hook, HookRules, Reveal, SignatureRules
from ostiary.gateway.hooks.template import compile_template

if TYPE_CHECKING:
    from ostiary.assembly.config.hooks import HookMapping, Hooks, HookSignature
    from ostiary.assembly.house import House

log = logging.getLogger("ostiary.hooks")

_RESERVED = "agent:"


class NewestHooks:
    """The rules of the newest configuration, compiled once for each. None while hooks are off."""

    def __init__(self, house: "House") -> None:
        self._house = house
        self._made: tuple[Hooks, HookRules | None] | None = None

    def __call__(self) -> HookRules | None:
        newest = self._house.newest
        hooks = newest.live.current.config.hooks
        if self._made is None or self._made[0] is not hooks:
            rules = compile_hooks(hooks, agent=newest.rules.default_agent, reveal=self._reveal) if hooks.enabled else None
            self._made = (hooks, rules)
        return self._made[1]

    def _reveal(self, source: SecretSource, kind: str) -> str:
        """A secret that is missing, weak or the gateway's own opens nothing."""
        try:
            secret = resolve(source, self._house.environ, self._house.credentials).reveal()
        except ConfigInvalid as error:
            log.warning("a hook is not served: %s", error)
            return ""
        if kind == "token" and (check_secret_strength(secret) or same(secret, self._house.token())):
            log.warning("a hook is not served: its token is weak, or the gateway's own")
            return ""
        return secret


def compile_hooks(hooks: "Hooks", *, agent: str, reveal: Callable[[SecretSource, str], str]) -> HookRules:
    """Raises BadInput for a template that the configuration's own checks would have refused."""
    token = _secret(hooks.token, "token", reveal)
    return HookRules(
        token=token,
        wake=Hook(name="wake", session=_session(hooks.default_session_key, "wake", agent), token=token),
        agent=Hook(name="agent", session=_session(hooks.default_session_key, "agent", agent), token=token),
        mapped=tuple(_mapped(mapping, token, agent, reveal) for mapping in hooks.mappings),
        path=hooks.path.rstrip("/"),
        agents=frozenset(hooks.allowed_agent_ids),
        max_body_bytes=hooks.max_body_bytes,
        requests=hooks.rate_limit.max_requests,
        window=hooks.rate_limit.window_ms / 1000,
        dedupe_seconds=float(hooks.dedupe_seconds),
    )


def _mapped(mapping: "HookMapping", token: Reveal, agent: str, reveal: Callable[[SecretSource, str], str]) -> Hook:
    template = mapping.message_template if mapping.action == "agent" else mapping.text_template
    return Hook(
        name=mapping.id,
        session=_session(mapping.session_key, mapping.id, mapping.agent_id or agent),
        token=_secret(mapping.token, "token", reveal) if mapping.token is not None else token,
        path=mapping.match.path,
        source=mapping.match.source,
        template=compile_template(template) if template else None,
        instructions=mapping.instructions,
        model=mapping.model,
        thinking=mapping.thinking,
        timeout_seconds=mapping.timeout_seconds or 0,
        reply_to=Address(channel=mapping.channel, account="default", chat=mapping.to) if mapping.deliver else None,
        signature=_signature(mapping.signature, reveal) if mapping.signature is not None else None,
    )


def _signature(signature: "HookSignature", reveal: Callable[[SecretSource, str], str]) -> SignatureRules:
    return SignatureRules(
        scheme=signature.scheme,
        secret=_secret(signature.secret, "secret", reveal),
        header=signature.header,
        prefix=signature.prefix,
        encoding=signature.encoding,
        timestamp_header=signature.timestamp_header,
        tolerance=float(signature.tolerance_seconds),
    )


def _secret(source: SecretSource | None, kind: str, reveal: Callable[[SecretSource, str], str]) -> Reveal:
    return partial(reveal, source, kind) if source is not None else lambda: ""


def _session(text: str, name: str, agent: str) -> SessionKey:
    if text.startswith(_RESERVED):
        return SessionKey.parse(text)
    return SessionKey.parse(str(SessionKey(agent, text or hook_scope(name))))
