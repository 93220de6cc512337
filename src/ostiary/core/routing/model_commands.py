"""Commands about models: /model, /models."""

from collections.abc import Mapping, Sequence

from ostiary.contracts.engine import SessionView
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.model import ModelFacts
from ostiary.core.routing.commands import Command, CommandCall, CommandReply, Directive
from ostiary.core.routing.directives import plain_word

_LISTED = 40
_RESERVED = frozenset({"list", "status"})
DEFAULT_WORDS = frozenset({"default", "reset", "inherit"})


def model_settings(call: CommandCall, text: str) -> dict[str, str]:
    """`<n>`, `<name>` or `<name>@<profile>` as settings. Raises BadInput (unknown) or NotAllowed."""
    if text.lower() in DEFAULT_WORDS:
        return {"model": "", "profile": ""}
    if text.isdecimal():
        choices = call.catalogue.choices(call.session.agent)
        number = int(text[:6])
        if not 1 <= number <= len(choices):
            raise BadInput(f"there is no model {text[:6]}", hint="/models lists them.")
        return {"model": str(choices[number - 1].ref), "profile": ""}
    choice = call.catalogue.choose(call.session.agent, text)
    return {"model": str(choice.primary), "profile": choice.profile}


def current_model(call: CommandCall, seen: SessionView) -> str:
    """What the next turn will use."""
    try:
        return str(call.catalogue.choose(call.session.agent, seen.settings.get("model", "")).primary)
    except OstiaryError:
        return seen.settings.get("model") or seen.model or "no model"


async def model(call: CommandCall) -> CommandReply:
    word = plain_word(call.words[0]) if call.words else "list"
    if word == "list":
        return await list_models(call)
    if word == "status":
        return await tell_model(call)
    settings = _settings(call)
    await call.change(settings)
    if not settings["model"]:
        return CommandReply(text=f"Back to the default model, `{call.catalogue.choose(call.session.agent).primary}`.")
    profile = f" with the profile `{settings['profile']}`" if settings["profile"] else ""
    return CommandReply(text=f"This conversation now uses `{settings['model']}`{profile}.")


async def list_models(call: CommandCall) -> CommandReply:
    choices = call.catalogue.choices(call.session.agent)
    if not choices:
        return CommandReply(text="No model is configured. The owner can add one with `ostiary models`.")
    now = current_model(call, await call.controls.view(call.session))
    lines = [_line(number, facts, now) for number, facts in enumerate(choices[:_LISTED], start=1)]
    if len(choices) > _LISTED:
        lines.append(f"… and {len(choices) - _LISTED} more; name one to choose it.")
    return CommandReply(text="\n".join(lines) + "\n\nChoose with `/model <number>` or `/model <name>`.")


async def tell_model(call: CommandCall) -> CommandReply:
    seen = await call.controls.view(call.session)
    choice = call.catalogue.choose(call.session.agent, seen.settings.get("model", ""))
    facts = call.catalogue.facts(choice.primary)
    chosen = "chosen for this conversation" if seen.settings.get("model") else "the default"
    lines = [
        f"**Model** `{choice.primary}` ({chosen})",
        f"**Window** {facts.context_window:,} tokens, answers up to {facts.max_tokens:,}",
        f"**Sees images** {_yes(facts.sees_images)} · **reasons** {_yes(facts.reasons)}",
    ]
    if choice.fallbacks:
        lines.append("**Then** " + ", ".join(f"`{ref}`" for ref in choice.fallbacks))
    profile = seen.settings.get("profile") or choice.profile
    if profile:
        lines.append(f"**Profile** `{profile}` (pinned)")
    if seen.model and seen.model != str(choice.primary):
        lines.append(f"**Last answer by** `{seen.model}`")
    return CommandReply(text="\n".join(lines))


def _takes(words: Sequence[str]) -> int:
    return int(bool(words) and plain_word(words[0]) not in _RESERVED)


def _settings(call: CommandCall) -> Mapping[str, str]:
    return model_settings(call, call.words[0].rstrip(",.;!?"))


def _line(number: int, facts: ModelFacts, now: str) -> str:
    name = f" ({facts.name})" if facts.name and facts.name != facts.ref.model else ""
    return f"{number}. `{facts.ref}`{name}{' ← now' if str(facts.ref) == now else ''}"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


MODEL_COMMANDS = (
    Command(
        name="model",
        usage="[list | status | <number> | <name>[@<profile>] | default]",
        summary="See or change the model",
        directive=Directive(takes=_takes, settings=_settings),
        run=model,
    ),
    Command(name="models", summary="The models to choose from", run=list_models),
)
