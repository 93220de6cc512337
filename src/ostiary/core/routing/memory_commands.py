"""Commands about what is remembered: /memory and /forget."""

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from ostiary.contracts.errors import BadInput
from ostiary.core.memory.memory import Memory
from ostiary.core.memory.text import visible
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.core.routing.scopes import place_of

if TYPE_CHECKING:
    from ostiary.core.memory.confirming import Waiting
    from ostiary.core.memory.forgetting import Forgetting, Forgotten
    from ostiary.core.memory.origin import Origin

_SHOWN = 10
_LENGTH = 200
_CODE = 6
_SEEN = "yes"
_ELSEWHERE = "Others read along here. Ask me where we are alone."
_HELP = (
    "/memory search <text> · /memory waiting · /memory confirm <id …|all> · /memory reject <id …> · "
    "/memory why <text or file#Lline> · /forget <text>"
)


def add_memory_commands(add: Callable[[Command], None], memory: Memory, zone: Callable[[], tzinfo]) -> None:
    async def about(call: CommandCall) -> CommandReply:
        if _is_overheard(call):
            return CommandReply(text=_ELSEWHERE)
        verb, _, rest = call.args.partition(" ")
        rest, agent = rest.strip(), call.session.agent
        match verb.lower():
            case "search" if rest:
                found = await memory.recall.find(rest, call.principal, call.session)
                return CommandReply(text=found.text)
            case "why" if rest:
                return CommandReply(text=_why(await memory.origins.why(rest, agent=agent), zone()))
            case "confirm" | "reject" if rest:
                return CommandReply(text=await _settle(memory, call, verb.lower(), rest.split()))
            case "" | "waiting" | "unconfirmed":
                return CommandReply(text=_waiting(await memory.confirming.waiting(agent=agent), zone()))
            case _:
                return CommandReply(text=_HELP)

    async def forget(call: CommandCall) -> CommandReply:
        """First shows what would go, and a code that is good only for exactly that."""
        if _is_overheard(call):
            return CommandReply(text=_ELSEWHERE)
        code, _, rest = call.args.partition(" ")
        if not call.args:
            return CommandReply(text="Say what shall be forgotten: /forget <text>.")
        if rest and code == _code(await memory.forgetter.plan(rest)):
            return CommandReply(text=_forgotten(await memory.forgetter.forget(rest, by=call.principal)))
        plan = await memory.forgetter.plan(call.args)
        return CommandReply(text=_would_go(plan, call.args))

    summary = "What is remembered, what waits for you, where it came from"
    add(Command(name="memory", summary=summary, run=about, usage="[search|waiting|confirm|reject|why …]"))
    add(Command(name="forget", summary="Erase something for ever", run=forget, usage="<text>"))


def _is_overheard(call: CommandCall) -> bool:
    return place_of(call.session.scope).source in ("group", "channel")


async def _settle(memory: Memory, call: CommandCall, verb: str, words: Sequence[str]) -> str:
    """Nobody vouches for what they were not shown: long notes are shown whole first, and `all` means those that were listed."""
    agent = call.session.agent
    waiting = {each.id: each for each in await memory.confirming.waiting(agent=agent)}
    ids = [word for word in words if word != _SEEN]
    if ids == ["all"]:
        ids = list(waiting)[:_SHOWN]
        if not ids:
            raise BadInput("Nothing waits for you.")
    unseen = [waiting[id] for id in ids if id in waiting and _line(waiting[id].text) != visible(waiting[id].text)]
    if verb == "confirm" and unseen and _SEEN not in words:
        whole = "\n\n".join(f"`{each.id}`\n{visible(each.text)}" for each in unseen)
        return f"{whole}\n\nTo vouch for all of that: /memory confirm {' '.join(ids)} {_SEEN}"
    settle = memory.confirming.confirm if verb == "confirm" else memory.confirming.reject
    done = await settle(ids, by=call.principal, agent=agent)
    return "\n".join(f"{each.id}: {f'kept in {each.path}#L{each.line}' if each.path else 'rejected'}." for each in done)


def _waiting(found: "Sequence[Waiting]", zone: tzinfo) -> str:
    if not found:
        return f"Nothing waits for you.\n{_HELP}"
    lines = [f"`{each.id}` {_day(each.at, zone)} {each.author}, for {each.area}: {_line(each.text)}" for each in found[:_SHOWN]]
    more = [f"… and {len(found) - _SHOWN} more."] if len(found) > _SHOWN else []
    return "\n".join(("These wait for your word (/memory confirm <id>, /memory reject <id>):", *lines, *more))


def _why(found: "Sequence[Origin]", zone: tzinfo) -> str:
    if not found:
        return "Nothing in memory says that."
    return "\n\n".join(_origin(each, zone) for each in found[:_SHOWN])


def _origin(origin: "Origin", zone: tzinfo) -> str:
    state = "" if origin.is_confirmed else ", unconfirmed"
    lines = [
        f"**{origin.path}#L{origin.start}**{state}: {_line(origin.text)}",
        f"Written {_day(origin.at, zone)} by {origin.author or 'unknown'} (trust: {origin.trust}).",
    ]
    if origin.sources:
        lines.append(f"From: {', '.join(_line(source) for source in origin.sources[:5])}.")
    if origin.session:
        lines.append(f"In {origin.session}, turn {origin.turn}.")
    if origin.words:
        lines.append(f"You had said: {_line(origin.words)}")
    return "\n".join(lines)


def _would_go(plan: "Forgetting", text: str) -> str:
    if plan.is_empty:
        return "\n".join(("Nothing that can be erased holds that.", *plan.left))
    notes = [f"- {loss.path}#L{entry.start}: {_line(entry.text)}" for loss in plan.losses for entry in loss.gone]
    turns = sum(len(each.turns) for each in plan.spoken)
    versions = sum(len(loss.versions) for loss in plan.losses)
    lines = ["This would be erased for ever:", *notes[:_SHOWN]]
    if len(notes) > _SHOWN:
        lines.append(f"- … and {len(notes) - _SHOWN} more notes")
    lines.append(f"- {versions} old versions, {turns} turns in {len(plan.spoken)} conversations, and the summaries made of them")
    return "\n".join((*lines, *plan.left, f"To do it: /forget {_code(plan)} {text}"))


def _forgotten(done: "Forgotten") -> str:
    counts = (
        f"Erased {done.entries} notes, {done.versions} versions, {done.events} events of {done.turns} turns "
        f"and {done.summaries} summaries."
    )
    return "\n".join((counts, *done.notices))


def _code(plan: "Forgetting") -> str:
    """Another one as soon as anything else would go."""
    told = [plan.digest, *(f"{loss.path}:{loss.versions}" for loss in plan.losses)]
    told += [f"{each.session}:{each.events}" for each in plan.spoken]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:_CODE]


def _day(at: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at, zone).strftime("%Y-%m-%d %H:%M")


def _line(text: str) -> str:
    line = " ".join(visible(text).split())
    return line if len(line) <= _LENGTH else f"{line[: _LENGTH - 1]}…"
