"""Providers without a wire of their own, through pydantic-ai's direct API: api name `pydantic-ai:<provider>`.

It costs a second of import and some fifty megabytes, so nothing here is imported before such a provider is used. Its HTTP
still goes through `egress`: a provider whose client cannot be given our transport is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from ostiary.adapters.egress import EgressFailed, Limits
from ostiary.adapters.egress.redact import redact
from ostiary.adapters.models.wires.answer import Answer, AnswerFull
from ostiary.adapters.models.wires.encoding import pack_replay, to_json
from ostiary.adapters.models.wires.errors import from_egress, read_error, refusal, said
from ostiary.adapters.models.wires.terms import refused
from ostiary.adapters.models.wires.thinking import check_reasons
from ostiary.adapters.models.wires.wire import Facts, ListedModel, Wire
from ostiary.contracts.errors import EgressRefused, ModelError, ModelMisconfigured, ModelUnavailable
from ostiary.contracts.model import ModelEvent, ModelRef, ModelRequest, StopReason, Usage

if TYPE_CHECKING:
    from ostiary.adapters.egress import Egress

MakeModel = Callable[[str, str], Any]
"""From a model's name and a secret, a pydantic-ai model."""

_STOPS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_calls",
    "content_filter": "refusal",
}
PROOF = ("id", "signature", "provider_name", "provider_details")
_MISSING = "pydantic-ai is not installed."
_INSTALL = "Install the extra: pip install 'ostiary[providers]'."


def make_long_tail(
    provider: str, base_url: str, headers: Mapping[str, str], egress: Egress, facts: Facts, *, limits: Limits | None = None
) -> Wire:
    """Raises ModelMisconfigured if the library is not installed or the provider is not one that egress can carry."""
    try:
        from ostiary.adapters.models.wires.longtail_http import model_maker
    except ImportError as error:
        raise ModelMisconfigured(_MISSING, hint=_INSTALL) from error
    return LongTail(provider, model_maker(provider, base_url, headers, egress, limits or Limits()), facts)


class LongTail:
    """`make_model` is asked for each attempt: the secret is lent for one use."""

    def __init__(self, provider: str, make_model: MakeModel, facts: Facts) -> None:
        self._name = f"pydantic-ai:{provider}"
        self._make_model = make_model
        self._facts = facts

    def stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._stream(request, ref, secret)

    async def list_models(self, secret: str) -> tuple[ListedModel, ...]:
        raise ModelMisconfigured(f"{self._name} has no list of models.", hint="Name the model in the configuration.")

    @asynccontextmanager
    async def _stream(self, request: ModelRequest, ref: ModelRef, secret: str) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        from pydantic_ai.direct import model_request_stream

        from ostiary.adapters.models.wires.longtail_messages import to_messages, to_parameters, to_settings

        facts = self._facts(ref)
        check_reasons(facts, request.thinking)
        if request.form is not None:
            raise refused("response_format", ref, "does not take a form for its answer here")
        messages = to_messages(request, ref, self._name, sees_images=facts.sees_images)
        entered = False
        try:
            opened = model_request_stream(
                self._make_model(ref.model, secret),
                messages,
                model_settings=to_settings(request, facts),
                model_request_parameters=to_parameters(request),
            )
            async with opened as streamed:
                entered = True
                yield self._events(streamed, ref, secret)
                entered = False
            return
        except Exception as error:
            # What the caller raised while it held the stream is the caller's; only ours is translated.
            if entered or isinstance(error, ModelError):
                raise
            failed = translated(error, ref.provider, secret)
        # Raised out here so that the library's error, which may quote the key, does not hang on ours.
        raise failed

    async def _events(self, streamed: Any, ref: ModelRef, secret: str) -> AsyncIterator[ModelEvent]:
        pending: deque[ModelEvent] = deque()
        answer = Answer(pending.append)
        failed: ModelError | None = None
        try:
            async for event in streamed:
                _take(event, answer)
                while pending:
                    yield pending.popleft()
            self._seal(streamed, answer)
        except AnswerFull:
            answer.stop = "length"
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001
            # SDKs raise whatever they like; this is where it becomes one of ours.
            failed = translated(error, ref.provider, secret)
        if failed is not None:
            raise failed
        if answer.stop is None:
            raise ModelUnavailable(f"The answer of {ref.provider} was cut off.")
        while pending:
            yield pending.popleft()
        yield answer.answered(ref, answer.stop)

    def _seal(self, streamed: Any, answer: Answer) -> None:
        """Proofs, counts and the reason to stop are complete only in the finished response."""
        response = streamed.get()
        for index, part in enumerate(response.parts):
            block = answer.known(index)
            fields = {name: value for name in PROOF if (value := getattr(part, name, None)) is not None}
            if block is not None and fields and part.part_kind in ("thinking", "tool-call"):
                block.replay = pack_replay(self._name, **fields)
        answer.usage = _usage(response.usage)
        # For OpenAI's family the library makes a reason up when the server gave none; the server's own is in the details.
        invented = "openai" in type(streamed).__module__ and "finish_reason" not in (streamed.provider_details or {})
        if streamed.finish_reason is not None and not invented:
            answer.stop = _STOPS.get(streamed.finish_reason, "other")


def _take(event: Any, answer: Answer) -> None:
    match event.event_kind:
        case "part_start":
            part = event.part
            match part.part_kind:
                case "text":
                    answer.text(event.index, part.content)
                case "thinking":
                    answer.thinking(event.index, part.content)
                case "tool-call":
                    block = answer.call(event.index)
                    block.name, block.provider_id = part.tool_name, part.tool_call_id
                    answer.arguments(block, _arguments(part.args))
        case "part_delta":
            delta = event.delta
            match delta.part_delta_kind:
                case "text":
                    answer.text(event.index, delta.content_delta)
                case "thinking":
                    answer.thinking(event.index, delta.content_delta or "")
                case "tool_call":
                    block = answer.call(event.index)
                    block.name += delta.tool_name_delta or ""
                    answer.arguments(block, _arguments(delta.args_delta))


def _arguments(args: object) -> str:
    return args if isinstance(args, str) else to_json(args).decode() if args else ""


def _usage(usage: Any) -> Usage:
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    return Usage(
        input=max(usage.input_tokens - read - written, 0), output=usage.output_tokens, cache_read=read, cache_write=written
    )


def translated(error: BaseException, who: str, secret: str) -> ModelError:
    """The library's errors as ours, without the secret."""
    from pydantic_ai import exceptions

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, EgressFailed | EgressRefused):
            return from_egress(who, cause)
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, exceptions.ModelHTTPError):
        body = error.body
        what = read_error(redact(body, (secret,))) if isinstance(body, str) else said(body)
        made = refusal(who, what, status=error.status_code, headers=error.headers or {})
        made.args = (redact(str(made), (secret,)),)
        return made
    words = redact(" ".join(str(error).split())[:300], (secret,))
    if isinstance(error, exceptions.UserError | ImportError):
        return ModelMisconfigured(f"{who} cannot be used: {words}")
    if isinstance(error, exceptions.UnexpectedModelBehavior):
        return ModelUnavailable(f"{who} sent an answer that cannot be read: {words}")
    return ModelUnavailable(f"{who} is not available: {words or type(error).__name__}")
