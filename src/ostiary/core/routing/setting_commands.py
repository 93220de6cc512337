"""Commands that keep a setting for the conversation: /think, /verbose, /reasoning, /queue, /send, /activation."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ostiary.contracts.errors import BadInput
from ostiary.contracts.messages import ChatKind
from ostiary.core.routing.commands import Command, CommandCall, CommandReply, Directive
from ostiary.core.routing.directives import one_of, plain_word

_UNSET = {"default": "", "inherit": ""}
THINKING: Mapping[str, str] = {
    **{level: level for level in ("off", "minimal", "low", "medium", "high", "xhigh")},
    "none": "off", "on": "low", "min": "minimal", "med": "medium", "mid": "medium",
    "max": "high", "highest": "high", "x-high": "xhigh", **_UNSET,
}  # fmt: skip
VERBOSE: Mapping[str, str] = {"on": "on", "full": "full", "off": "off", **_UNSET}
REASONING: Mapping[str, str] = {"on": "on", "off": "off", "stream": "stream", **_UNSET}
SEND: Mapping[str, str] = {"on": "on", "off": "off", **_UNSET}
ACTIVATION: Mapping[str, str] = {"mention": "mention", "always": "always", **_UNSET}

QUEUE_MODES: Mapping[str, str] = {
    **{mode: mode for mode in ("collect", "followup", "steer", "steer-backlog", "interrupt")},
    "follow-up": "followup", "steer+backlog": "steer-backlog", "queue": "steer",
}  # fmt: skip
QUEUE_DROPS = ("old", "new", "summarize")
_QUEUE_WORDS = frozenset({*QUEUE_MODES, "default", "reset"})
_QUEUE_OPTIONS = ("debounce:", "cap:", "drop:")
QUEUE_SETTINGS = ("queue.mode", "queue.debounce_ms", "queue.cap", "queue.drop")
_LONGEST_DEBOUNCE_MS = 600_000
_LARGEST_CAP = 1000
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)?")
_UNITS = {None: 1, "ms": 1, "s": 1000, "m": 60_000}


def _setting(name: str, title: str, values: Mapping[str, str]) -> Callable[[CommandCall], Awaitable[CommandReply]]:
    async def run(call: CommandCall) -> CommandReply:
        if not call.args:
            now = (await call.controls.view(call.session)).settings.get(name, "default")
            return CommandReply(text=f"{title} is **{now}**. Choices: {_choices(values)}.")
        value = _value(call, values)
        await call.change({name: value})
        return CommandReply(text=f"{title} is now **{value}**." if value else f"{title} follows the default again.")

    return run


def _value(call: CommandCall, values: Mapping[str, str]) -> str:
    word = plain_word(call.args)
    if word not in values:
        raise BadInput(f"/{call.name} does not know {call.args[:40]!r}", hint=f"Use {_choices(values)}.")
    return values[word]


def _choices(values: Mapping[str, str]) -> str:
    return ", ".join([*dict.fromkeys(value for value in values.values() if value), "default"])


def _directive(name: str, values: Mapping[str, str]) -> Directive:
    return Directive(takes=one_of(values), settings=lambda call: {name: _value(call, values)})


def queue_settings(words: Sequence[str]) -> dict[str, str]:
    """`<mode> debounce:2s cap:25 drop:old`, in any order, or `default`. Raises BadInput naming the word that is wrong."""
    settings: dict[str, str] = {}
    for word in words:
        settings.update(_queue_word(word.lower()))
    return settings


def _queue_word(word: str) -> dict[str, str]:
    if word in ("default", "reset"):
        return dict.fromkeys(QUEUE_SETTINGS, "")
    if word in QUEUE_MODES:
        return {"queue.mode": QUEUE_MODES[word]}
    name, _, value = word.partition(":")
    if name == "debounce" and (found := _DURATION.fullmatch(value)) is not None:
        milliseconds = round(float(found[1]) * _UNITS[found[2]])
        if milliseconds <= _LONGEST_DEBOUNCE_MS:
            return {"queue.debounce_ms": str(milliseconds)}
    if name == "cap" and value.isascii() and value.isdecimal() and len(value) < 6 and 1 <= int(value) <= _LARGEST_CAP:
        return {"queue.cap": str(int(value))}
    if name == "drop" and value in QUEUE_DROPS:
        return {"queue.drop": value}
    modes = ", ".join(dict.fromkeys(QUEUE_MODES.values()))
    options = f"debounce:2s (up to 10m), cap:1 to cap:{_LARGEST_CAP}, drop:old, drop:new, drop:summarize"
    raise BadInput(f"/queue does not know {word[:40]!r}", hint=f"Modes: {modes}; options: {options}; or default.")


async def queue(call: CommandCall) -> CommandReply:
    if not call.words:
        kept = (await call.controls.view(call.session)).settings
        now = [f"{name.partition('.')[2]} {kept[name]}" for name in QUEUE_SETTINGS if name in kept]
        return CommandReply(text=f"The queue of this conversation: **{', '.join(now) or 'default'}**.")
    settings = queue_settings(call.words)
    await call.change(settings)
    if not any(settings.values()):
        return CommandReply(text="The queue follows the default again.")
    changed = ", ".join(f"{name.partition('.')[2]} **{value}**" for name, value in settings.items() if value)
    return CommandReply(text=f"The queue is now: {changed}.")


def _takes_queue_words(words: Sequence[str]) -> int:
    """By their shape alone: an option with a wrong value is still meant for the queue, and is then refused."""
    count = 0
    for word in words:
        if word.lower() not in _QUEUE_WORDS and not word.lower().startswith(_QUEUE_OPTIONS):
            break
        count += 1
    return count


async def activation(call: CommandCall) -> CommandReply:
    if call.message.chat_kind is ChatKind.DIRECT:
        return CommandReply(text="/activation is for groups; in a direct chat I always listen.")
    return await _setting("activation", "Activation", ACTIVATION)(call)


SETTING_COMMANDS = (
    Command(
        name="think",
        aliases=("thinking", "t"),
        usage="[off | minimal | low | medium | high | xhigh | default]",
        summary="How long to think before answering",
        directive=_directive("thinking", THINKING),
        run=_setting("thinking", "Thinking", THINKING),
    ),
    Command(
        name="verbose",
        aliases=("v",),
        usage="[on | full | off | default]",
        summary="Show tool calls while working",
        directive=_directive("verbose", VERBOSE),
        run=_setting("verbose", "Verbose", VERBOSE),
    ),
    Command(
        name="reasoning",
        aliases=("reason",),
        usage="[on | off | stream | default]",
        summary="Show the model's reasoning",
        directive=_directive("reasoning", REASONING),
        run=_setting("reasoning", "Reasoning", REASONING),
    ),
    Command(
        name="queue",
        usage="[<mode>] [debounce:<time>] [cap:<n>] [drop:<rule>] | default",
        summary="What happens to messages during a run",
        directive=Directive(takes=_takes_queue_words, settings=lambda call: queue_settings(call.words)),
        run=queue,
    ),
    Command(
        name="send",
        usage="[on | off | inherit]",
        summary="Whether replies leave this conversation",
        run=_setting("send", "Sending", SEND),
    ),
    Command(name="activation", usage="[mention | always | default]", summary="When to listen in this group", run=activation),
)
