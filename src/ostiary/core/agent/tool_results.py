"""What becomes of a call: the result as it is kept, and what is told where there is none."""

import json
from collections.abc import Callable, Mapping

from ostiary.contracts.content import Label, ToolCall, Trust
from ostiary.contracts.errors import BadInput, Conflict
from ostiary.contracts.events import ToolFate, ToolResulted
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Effect, ToolResult, ToolSpec
from ostiary.core.sessions.session import SYSTEM_LABEL

INTERRUPTED = "Interrupted before a result was recorded: it may have happened. Check before doing it again."
SKIPPED = "Skipped: the user sent a new message before this call began."
STOPPED = "Stopped by the user: it may have happened."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """`parallel` calls run side by side; an answer with more than `per_answer` has the rest refused."""

    parallel: int = 8
    per_answer: int = 32
    result_chars: int = 8192
    detail_chars: int = 65_536
    seconds: float = 120.0


def failure(call: ToolCall, text: str, fate: ToolFate) -> ToolResulted:
    return ToolResulted(call_id=call.id, name=call.name, text=text, is_error=True, fate=fate, label=SYSTEM_LABEL)


def resulted(
    call: ToolCall,
    spec: ToolSpec,
    result: ToolResult,
    fate: ToolFate,
    seconds: float,
    *,
    limits: ToolLimits,
    redact: Callable[[str], str],
) -> ToolResulted:
    """A tool's result as the journal keeps it: without secrets, no longer than allowed, labelled by where it comes from."""
    label = Label(trust=Trust.UNTRUSTED if spec.untrusted_output else Trust.SYSTEM, sources=(f"tool:{spec.name}",))
    return ToolResulted(
        call_id=call.id,
        name=call.name,
        text=cap_text(storable(redact(result.text)), limits.result_chars),
        is_error=result.is_error,
        fate=fate,
        label=label if result.label is None else label.join(result.label),
        details=_kept(result.details, limits.detail_chars, redact),
        images=result.images,
        seconds=seconds,
    )


def not_kept(spec: ToolSpec, result: ToolResult, error: BadInput | Conflict) -> ToolResult:
    """What is told when somebody else wrote first, or the store cannot hold what was to be written. A command has run all the
    same: doing it again may do harm."""
    if Effect.EXECUTE not in spec.effects:
        advice = error.hint if isinstance(error, BadInput) else "Read it again, then try again."
        return ToolResult(text=f"Nothing was changed: {error}. {advice}".rstrip(), is_error=True)
    said = f"{result.text}\n\nIt has run, but the files it changed were not kept: {error}."
    return ToolResult(text=said, is_error=True, label=result.label)


def storable(text: str) -> str:
    """Without halves of characters, which no journal and no wire can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _kept(details: Mapping[str, object], limit: int, redact: Callable[[str], str]) -> Mapping[str, object]:
    """What people read is worth keeping, but never worth losing the result over."""
    if not details:
        return {}
    try:
        text = json.dumps(details, ensure_ascii=False)
        if len(text.encode("utf-8", "replace")) > limit:
            return {"omitted": "too long to keep"}
        clean = redact(storable(text))
        return details if clean == text else _reread(clean)
    except (TypeError, ValueError, RecursionError):
        return {"omitted": "not plain data"}


def _reread(text: str) -> Mapping[str, object]:
    """Raises ValueError if taking the secret out has torn the shape."""
    read = json.loads(text)
    return read if isinstance(read, dict) else {"omitted": "a secret"}


def cap_text(text: str, limit: int) -> str:
    """Head and tail with the number of characters left out between them."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    head = limit - tail
    return f"{text[:head]}\n[… {len(text) - limit} characters left out …]\n{text[-tail:]}"
