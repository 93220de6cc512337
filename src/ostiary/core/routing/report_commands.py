"""Commands that report: /status, /context, /usage, /tools."""

from collections.abc import Callable, Mapping, Sequence

from ostiary.contracts.engine import SessionView
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.model import ModelRef, Usage
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.core.routing.model_commands import current_model

USAGE_MODES = ("off", "tokens", "full")
_TOP = 8
_HIDDEN = ("model", "profile")


async def status(call: CommandCall, house: Callable[[], str]) -> CommandReply:
    """How the house stands is for its owner; others read about their conversation alone."""
    seen = await call.controls.view(call.session)
    model = current_model(call, seen)
    profile = seen.settings.get("profile", "")
    lines = [
        f"**Model** `{model}`" + (f" (profile `{profile}`)" if profile else ""),
        f"**Context** {_of_window(seen.context_tokens, _window(call, seen, model))}",
        f"**Conversation** `{seen.key}` · {seen.turns:,} turns · {seen.messages:,} messages",
        f"**Now** {_doing(seen)}",
        f"**Used** {usage_line(seen.usage)}",
    ]
    standing = house() if call.principal.is_owner else ""
    lines += [f"**House** {standing}"] if standing else []
    settings = " · ".join(f"{name} {value}" for name, value in sorted(seen.settings.items()) if name not in _HIDDEN)
    return CommandReply(text="\n".join([*lines, f"**Settings** {settings}"] if settings else lines))


async def context(call: CommandCall) -> CommandReply:
    word = call.args.lower() or "list"
    if word not in ("list", "detail"):
        raise BadInput(f"/context does not know {call.args[:40]!r}", hint="Use /context list or /context detail.")
    seen = await call.controls.view(call.session)
    if "prompt" not in seen.context_report:
        return CommandReply(text="Nothing has been sent to the model yet in this conversation.")
    return CommandReply(text=format_context(seen.context_report, detailed=word == "detail"))


def _summarised(history: Mapping[str, object]) -> str:
    times = _int(history.get("compactions"))
    if not times:
        return ""
    how_often = "once" if times == 1 else f"{times} times"
    return f", summarised {how_often} (~{_int(history.get('summary')):,} of the tokens)"


def format_context(report: Mapping[str, object], *, detailed: bool) -> str:
    """What was sent, as the prompt's own account has it. Entries of an unexpected shape count as nothing."""
    prompt, history = _mapping(report.get("prompt")), _mapping(report.get("history"))
    tools, skills = _sized(report.get("tools")), _sized(report.get("skills"))
    tokens, spoken = _int(prompt.get("tokens")), _int(history.get("tokens"))
    schemas = sum(size for _, size in tools)
    lines = [
        f"**System prompt** {_int(prompt.get('characters')):,} characters (~{tokens:,} tokens)",
        f"**Tool schemas** {schemas:,} characters (~{_tokens(schemas):,} tokens), {len(tools)} tools",
        f"**History** {_int(history.get('messages')):,} messages (~{spoken:,} tokens){_summarised(history)}",
        f"**In all** {_of_window(tokens + _tokens(schemas) + spoken, _int(report.get('window')))}",
        "",
        "**Files**",
        *(_file_line(_mapping(each)) for each in _items(report.get("files"))),
    ]
    if not _items(report.get("files")):
        lines.append("- none")
    if skills:
        lines.append(f"**Skills** {sum(size for _, size in skills):,} characters, {len(skills)} skills")
    if detailed:
        lines += ["", "**Largest tools**", *_largest(tools)]
        lines += ["", "**Largest skills**", *_largest(skills)] if skills else []
    elif tools:
        lines.append("**Tools** " + ", ".join(name for name, _ in tools))
    return "\n".join(lines)


async def usage(call: CommandCall) -> CommandReply:
    word = call.args.lower()
    seen = await call.controls.view(call.session)
    if word == "cost":
        return CommandReply(text=f"This conversation so far: {usage_line(seen.usage)}, in {seen.turns:,} turns.")
    if not word:
        now = seen.settings.get("usage", "off")
        return CommandReply(
            text=f"Usage under replies is **{now}**. Set it with `/usage off`, `tokens` or `full`; `/usage cost` sums up."
        )
    if word not in USAGE_MODES:
        raise BadInput(f"/usage does not know {call.args[:40]!r}", hint="Use off, tokens, full or cost.")
    await call.change({"usage": "" if word == "off" else word})
    told = {
        "off": "Replies come without usage.",
        "tokens": "Replies show their tokens.",
        "full": "Replies show tokens, model and cost.",
    }
    return CommandReply(text=told[word])


def usage_line(used: Usage) -> str:
    if not (used.input or used.output or used.cache_read or used.cache_write):
        return "nothing yet"
    parts = [f"{used.input:,} tokens in", f"{used.output:,} out"]
    if used.cache_read or used.cache_write:
        parts.append(f"cache {used.cache_read:,} read, {used.cache_write:,} written")
    parts.append(f"${used.cost:.4f}" if used.cost is not None else "cost unknown")
    return " · ".join(parts)


def _window(call: CommandCall, seen: SessionView, model: str) -> int:
    try:
        return call.catalogue.facts(ModelRef.parse(model)).context_window
    except OstiaryError:
        return _int(seen.context_report.get("window"))


def _of_window(tokens: int, window: int) -> str:
    return f"{tokens:,} of {window:,} tokens ({tokens / window:.0%})" if window > 0 else f"{tokens:,} tokens"


def _doing(seen: SessionView) -> str:
    doing = f"waiting for {seen.waiting_for}" if seen.waiting_for else "answering" if seen.running_turn else "idle"
    return f"{doing}, {seen.queued} queued" if seen.queued else doing


def _file_line(entry: Mapping[str, object]) -> str:
    name, raw, injected = entry.get("name", "?"), _int(entry.get("raw")), _int(entry.get("injected"))
    if entry.get("missing"):
        return f"- {name}: missing"
    if entry.get("truncated"):
        return f"- {name}: truncated, {injected:,} of {raw:,} characters"
    return f"- {name}: {injected:,} characters" + (f" of {raw:,}" if raw != injected else "")


def _largest(sized: Sequence[tuple[str, int]]) -> list[str]:
    ranked = sorted(sized, key=lambda each: -each[1])
    lines = [f"- {name}: {size:,} characters (~{_tokens(size):,} tokens)" for name, size in ranked[:_TOP]]
    if len(ranked) > _TOP:
        lines.append(f"- … and {len(ranked) - _TOP} more, {sum(size for _, size in ranked[_TOP:]):,} characters")
    return lines or ["- none"]


def _sized(value: object) -> list[tuple[str, int]]:
    return [(str(_mapping(each).get("name", "?")), _int(_mapping(each).get("characters"))) for each in _items(value)]


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _tokens(characters: int) -> int:
    return (characters + 3) // 4


def report_commands(house: Callable[[], str]) -> tuple[Command, ...]:
    """`house` says in one line how the house stands; empty where there is nothing to say."""
    return (
        Command(
            name="status",
            summary="Model, context, what is running",
            authority="own",
            is_shortcut=True,
            run=lambda call: status(call, house),
        ),
        Command(name="context", usage="[list | detail]", summary="What was sent to the model", run=context),
        Command(name="usage", usage="[off | tokens | full | cost]", summary="Show tokens and cost under replies", run=usage),
    )
