"""/confirm, /deny and /approvals: answering what the assistant wants to do."""

import re
from collections.abc import Callable

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput
from ostiary.core.approvals.desk import Approvals
from ostiary.core.approvals.grants import stated
from ostiary.core.approvals.wording import described, visible
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.core.routing.scopes import place_of

_SPAN = re.compile(r"(\d{1,4})\s*(m|min|h|d)")
_SECONDS = {"m": 60, "min": 60, "h": 3600, "d": 86_400}


def add_approval_commands(add: Callable[[Command], None], approvals: Approvals, clock: Clock) -> None:
    async def confirm(call: CommandCall) -> CommandReply:
        name, seconds = _parse(call.words)
        name = name or _only_one_here(approvals, call)
        found = next((each for each in approvals.pending if each.id == name.lower()), None)
        pattern = found.asked.offers[0] if seconds and found is not None and found.asked.offers else ""
        if seconds and not pattern:
            raise BadInput("this can only be allowed once", hint="Leave out the time.")
        answered = await approvals.answer(name, True, by=call.principal, pattern=pattern, seconds=seconds)
        wider = f" From now on also without asking: {visible(pattern)}." if answered.grant else ""
        return CommandReply(text=f"Allowed: {answered.approval}.{wider}")

    async def deny(call: CommandCall) -> CommandReply:
        name, _, note = call.args.partition(" ")
        answered = await approvals.answer(name, False, by=call.principal, note=note.strip())
        return CommandReply(text=f"Refused: {answered.approval}.")

    async def pending(call: CommandCall) -> CommandReply:
        now = clock.now()
        # Others read along in a group: they are told only what was asked there anyway.
        is_group = place_of(call.session.scope).source in ("group", "channel")
        lines = [
            f"{each.id}: {described(each.asked.name, each.arguments)}\n  {visible(each.asked.reason)} "
            f"({max(0, round(each.asked.deadline - now))} s left)"
            for each in approvals.pending
            if not is_group or each.session == call.session
        ]
        lines += [
            f"grant {each.id}: {each.tool}: {visible(stated(each.tool, each.pattern))}"
            f" ({round((each.until - now) / 60)} min left)"
            for each in approvals.grants
            if not is_group
        ]
        return CommandReply(text="\n".join(lines) or "Nothing waits for an answer, and nothing is granted.")

    async def revoke(call: CommandCall) -> CommandReply:
        gone = await approvals.revoke(call.args.strip(), by=call.principal)
        return CommandReply(text=f"Revoked: {gone.tool}: {visible(gone.pattern)}.")

    add(Command(name="confirm", summary="Allow what waits for you", run=confirm, usage="[id] [for 8h]", aliases=("approve",)))
    add(Command(name="deny", summary="Refuse what waits for you", run=deny, usage="[id] [why]"))
    add(Command(name="approvals", summary="What waits for you, and what you have granted", run=pending))
    add(Command(name="revoke", summary="Take a grant back", run=revoke, usage="<grant>"))


def _only_one_here(approvals: Approvals, call: CommandCall) -> str:
    """The question of this conversation, if there is one: what waits elsewhere was not before the eyes of who says yes here.
    Raises BadInput."""
    here = [each.id for each in approvals.pending if each.session == call.session]
    if len(here) == 1:
        return here[0]
    if here:
        raise BadInput(f"several wait: {', '.join(here)}", hint="Say which one.")
    elsewhere = bool(approvals.pending)
    raise BadInput("nothing waits here for an answer", hint="Elsewhere something does; say which one." if elsewhere else "")


def _parse(words: list[str]) -> tuple[str, float]:
    """The id, if one is named, and for how long like calls are allowed too. Raises BadInput."""
    rest = [word for word in words if word.lower() != "for"]
    seconds = 0.0
    if rest and (found := _SPAN.fullmatch(rest[-1].lower())) and len(words) > 1:
        seconds = float(int(found[1]) * _SECONDS[found[2]])
        rest = rest[:-1]
    if len(rest) > 1:
        raise BadInput("that is not how to confirm", hint="/confirm [id] [for 8h]")
    return (rest[0] if rest else ""), seconds
