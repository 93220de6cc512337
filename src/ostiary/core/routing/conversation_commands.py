"""Commands that begin, shorten and stop: /new, /reset, /compact, /stop."""

import re

from ostiary.contracts.errors import BadInput
from ostiary.contracts.model import ModelFacts
from ostiary.core.agent.compacting import ALL, ASKED, DIRECTIVE
from ostiary.core.routing.commands import Command, CommandCall, CommandReply, Directive
from ostiary.core.routing.model_commands import DEFAULT_WORDS, current_model, model_settings

_MODEL_WORD = re.compile(r"[A-Za-z0-9][\w.@:/+-]{2,120}")


async def begin_anew(call: CommandCall) -> CommandReply:
    """Stop what runs, reset, and greet; a model named first is kept for the new conversation, other text is its first message."""
    settings, rest = _model_first(call)
    seen = await call.controls.view(call.session)
    if seen.running_turn or seen.queued:
        await call.controls.stop(call.session, by=call.principal, reason="a new conversation was begun")
    await call.controls.reset(call.session, reason=f"/{call.name}", by=call.principal)
    await call.change(settings)
    if rest or call.message.attachments:
        return CommandReply(pass_on=rest)
    fresh = await call.controls.view(call.session)
    model = settings.get("model") or current_model(call, fresh)
    return CommandReply(text=f"A new conversation. Hello! I am on `{model}`; what shall we do?")


async def compact(call: CommandCall) -> CommandReply:
    """Summarising takes a model, so it is a turn of its own: it waits for the one that runs, and can be stopped."""
    if not call.args or call.args in (ALL, ASKED):
        return CommandReply(pass_on=f"/{call.name} {ALL} Summarise our conversation so far.")
    return CommandReply(pass_on=f"/{call.name} {ASKED} {call.args}")


async def stop(call: CommandCall) -> CommandReply:
    stopped = await call.controls.stop(call.session, by=call.principal, reason="/stop")
    if not stopped.turns and not stopped.queued:
        return CommandReply(text="Nothing was running.")
    done = [f"Stopped {_count(stopped.turns, 'run')}"] if stopped.turns else []
    if stopped.queued:
        done.append(f"{'dropped' if done else 'Dropped'} {_count(stopped.queued, 'queued message')}")
    return CommandReply(text=" and ".join(done) + ".")


def _model_first(call: CommandCall) -> tuple[dict[str, str], str]:
    """The settings of a model named by the first word, and the rest. Raises BadInput for a wrong model of a known provider.

    A word that merely resembles a model is taken for one only if it stands alone: `/new sonnet` and
    `/new gpt-5 write a poem` name models, `/new write a poem` does not.
    """
    first = call.words[0] if call.words else ""
    rest = call.args[len(first) :].strip()
    if not _MODEL_WORD.fullmatch(first) or first.isdecimal() or first.lower() in DEFAULT_WORDS:
        return {}, call.args
    choices = call.catalogue.choices(call.session.agent)
    try:
        settings = model_settings(call, first)
    except BadInput:
        if "/" in first and any(facts.ref.provider == first.partition("/")[0].lower() for facts in choices):
            raise
        return {}, call.args
    if rest and not _names(first.partition("@")[0], choices):
        return {}, call.args
    return settings, rest


def _names(word: str, choices: tuple[ModelFacts, ...]) -> bool:
    wanted = word.lower()
    for facts in choices:
        parts = re.split(r"[/:_.\s-]+", f"{facts.ref} {facts.name}".lower())
        if wanted in (str(facts.ref).lower(), facts.ref.model.lower(), facts.name.lower()) or wanted in parts:
            return True
    return False


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


CONVERSATION_COMMANDS = (
    Command(name="new", usage="[model] [text]", summary="Begin a new conversation", authority="own", run=begin_anew),
    Command(name="reset", usage="[model] [text]", summary="The same as /new", authority="own", run=begin_anew),
    Command(
        name="compact",
        usage="[what to keep in particular]",
        summary="Summarise the older part of this conversation",
        authority="own",
        run=compact,
        directive=Directive(
            takes=lambda words: int(bool(words) and words[0] in (ALL, ASKED)), settings=lambda call: {DIRECTIVE: call.args}
        ),
    ),
    Command(name="stop", aliases=("abort",), summary="Stop the run and clear the queue", authority="own", run=stop),
)
