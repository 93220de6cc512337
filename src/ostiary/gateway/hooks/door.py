"""Where deliveries arrive: proven, measured, read, marked as outside, and handed to the session the configuration names."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ostiary.contracts.engine import Engine, Submission
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import EXTERNAL, Principal, SessionKey
from ostiary.contracts.messages import Address, InboundMessage, UserId
from ostiary.contracts.model import ModelCatalogue
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Store
from ostiary.gateway.asgi import App, Receive, Scope, Send, read_body, respond
from ostiary.gateway.auth import Gate
from ostiary.gateway.auth.place import client_address
from ostiary.gateway.auth.secret import digest, same
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.hooks.once import Once
from ostiary.gateway.hooks.outside import spotlight
from ostiary.gateway.hooks.payloads import Asked, parse_agent, parse_object, parse_wake
from ostiary.gateway.hooks.proof import by_token, given_token, headers_of, refuse_token_in_url, shown_headers, to_be_verified
from ostiary.gateway.hooks.rules import Hook, HookRules
from ostiary.gateway.hooks.signature import is_signed
from ostiary.gateway.hooks.template import whole
from ostiary.gateway.hooks.throttle import Throttle
from ostiary.gateway.limits import Limits

log = logging.getLogger("ostiary.hooks")

CHANNEL = "hook"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delivery:
    hook: Hook
    headers: Mapping[str, str]
    payload: dict[str, Any]
    body: bytes


class Hooks:
    """`rules` is asked at each request and gives None while no hook is served: then nothing is here."""

    def __init__(
        self,
        *,
        engine: Engine,
        store: Store,
        catalogue: ModelCatalogue,
        gate: Gate,
        rules: Callable[[], HookRules | None],
        now: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._catalogue = catalogue
        self._gate = gate
        self._rules = rules
        self._now = now
        self._throttle = Throttle(monotonic)
        self._once = Once(store, now)

    def page(self, path: str) -> App | None:
        """What serves this path, None if it is no hook's. It checks its own tokens, so ask here before the gate identifies."""
        rules = self._rules()
        if rules is None or not rules.token() or not path.startswith(f"{rules.path}/"):
            return None
        name = path.removeprefix(f"{rules.path}/")

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await self._serve(rules, name, scope, receive, send)

        return serve

    async def _serve(self, rules: HookRules, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise ApiError(405, "Use POST here.", code="method_not_allowed")
        refuse_token_in_url(scope)
        headers = headers_of(scope)
        hooks = rules.for_path(name) if _NAME.fullmatch(name) else ()
        token = given_token(scope)
        proven = by_token(token, hooks)
        signed = to_be_verified(headers, hooks)
        if not proven and not signed:
            self._refuse(rules, scope, token, is_known=bool(hooks))
        if proven:
            self._throttle.take(proven[0].name, requests=rules.requests, window=rules.window)
        _check_type(headers)
        body = await self._read(rules, scope, receive)
        if not proven:
            now = self._now()
            proven = tuple(hook for hook in signed if hook.signature and is_signed(hook.signature, headers, body, now))
            if not proven:
                self._refuse(rules, scope, "", is_known=True)
            self._throttle.take(proven[0].name, requests=rules.requests, window=rules.window)
        payload = parse_object(body)
        delivery = _Delivery(hook=_chosen(proven, payload), headers=headers, payload=payload, body=body)
        await self._take(rules, delivery, send)

    async def _read(self, rules: HookRules, scope: Scope, receive: Receive) -> bytes:
        """A signature is proven by the body alone, so strangers are read too: a few at once, short, and not for long."""
        with self._throttle.reading(client_address(scope, self._gate.rules())):
            return await read_body(scope, receive, Limits(body_bytes=rules.max_body_bytes, body_seconds=rules.body_seconds))

    async def _take(self, rules: HookRules, delivery: _Delivery, send: Send) -> None:
        hook = delivery.hook
        self._gate.came_in(f"{CHANNEL}:{hook.name}", "webhook")
        asked = self._asked(rules, delivery)
        session = self._session(rules, hook, asked)
        key = delivery.headers.get("idempotency-key", "")
        id = await self._once.id_of(hook, delivery.body, key=key, window=rules.dedupe_seconds)
        accepted = await self._engine.submit(
            Submission(
                message=InboundMessage(
                    id=f"{CHANNEL}:{hook.name}:{id}",
                    address=hook.reply_to or Address(channel=CHANNEL, account="default", chat=hook.name),
                    sender=UserId(channel=CHANNEL, stable_id=hook.name),
                    text=spotlight(hook.name, asked.text),
                    at=self._now(),
                ),
                principal=Principal(user=UserId(channel=CHANNEL, stable_id=hook.name), role=EXTERNAL),
                session=session,
                instructions=hook.instructions,
                directives=self._directives(hook, asked, session.agent),
                untrusted_source=f"{CHANNEL}:{hook.name}",
            )
        )
        log.info("hook %s: %s, message %s", hook.name, accepted.status, accepted.item)
        status = 200 if hook is rules.wake or accepted.status == "duplicate" else 202
        await respond(send, status, {"ok": True, "status": accepted.status, "runId": str(accepted.item or "")})

    def _asked(self, rules: HookRules, delivery: _Delivery) -> Asked:
        hook = delivery.hook
        if hook is rules.wake:
            return parse_wake(delivery.payload)
        if hook is rules.agent:
            return parse_agent(delivery.payload)
        most = rules.max_body_bytes
        if hook.template is None:
            return Asked(text=whole(delivery.payload, most))
        return Asked(text=hook.template.render(delivery.payload, headers=shown_headers(delivery.headers, hook), most=most))

    def _session(self, rules: HookRules, hook: Hook, asked: Asked) -> SessionKey:
        """Another agent has the hook's session of its own; which one it is was never the caller's to say."""
        if not asked.agent or asked.agent == hook.session.agent:
            return hook.session
        if asked.agent not in rules.agents:
            raise ApiError(403, "agentId: hooks.allowedAgentIds does not name this agent.", code="not_allowed", param="agentId")
        return SessionKey(asked.agent, hook.session.scope)

    def _directives(self, hook: Hook, asked: Asked, agent: str) -> Mapping[str, str]:
        model = asked.model or hook.model
        try:
            chosen = str(self._catalogue.choose(agent, model).primary) if model else ""
        except OstiaryError as error:
            raise ApiError(400, f"model: {sentence(error)}", code="model_not_found", param="model") from None
        seconds = asked.timeout_seconds or hook.timeout_seconds
        given = {"model": chosen, "thinking": asked.thinking or hook.thinking, "timeout": str(seconds) if seconds else ""}
        return {name: value for name, value in given.items() if value}

    def _refuse(self, rules: HookRules, scope: Scope, token: str, *, is_known: bool) -> NoReturn:
        """Raises ApiError. Only who has the token learns which hooks there are."""
        if not is_known and same(token, rules.token()):
            raise ApiError(404, "There is no such hook.", code="not_found")
        wait = self._gate.failures.count(client_address(scope, self._gate.rules()), digest(token) if token else b"")
        if wait:
            raise ApiError(429, "Too many wrong tokens; wait before the next try.", code="too_many_failures", retry_after=wait)
        raise ApiError(401, "Send the hook's token or its signature as a header.", code="invalid_api_key", is_early=True)


def _chosen(proven: Sequence[Hook], payload: Mapping[str, Any]) -> Hook:
    """Among hooks that were proven, the payload's `source` may tell which one it is for."""
    source = payload.get("source")
    for hook in proven:
        if not hook.source or hook.source == source:
            return hook
    raise ApiError(404, "source: no hook here is for it.", code="not_found", param="source")


def _check_type(headers: Mapping[str, str]) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise ApiError(415, "Content-Type: expected application/json.", code="invalid_value")
