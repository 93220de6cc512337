"""/undo takes back what a turn did to the documents; /trust vouches for what was said so far."""

from collections.abc import Callable

from ostiary.contracts.clock import Clock
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import Declassified
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.store import Audit, Documents
from ostiary.core.routing.commands import Command, CommandCall, CommandReply
from ostiary.core.sessions.pen import Sessions
from ostiary.core.sessions.undo import Undo, plan_undo


class Changes:
    """What the owner may take back or vouch for. The caller has checked authority; `by` is recorded."""

    def __init__(self, *, sessions: Sessions, documents: Documents, clock: Clock) -> None:
        self._sessions = sessions
        self._documents = documents
        self._clock = clock

    async def undo(self, turn: str, *, by: Principal) -> Undo:
        """Raises BadInput if the turn changed nothing, StoreError."""
        changed = await self._documents.changed_by(turn)
        if not changed:
            raise BadInput(f"{turn[:60]} changed no files")
        now, author = self._clock.now(), str(by.user)
        undo = await plan_undo(self._documents, turn, at=now, author=author)
        detail = {"restored": list(undo.restored), "deleted": list(undo.deleted), "conflicts": len(undo.conflicts)}
        outcome = "undone" if undo.writes else "nothing"
        await self._sessions.write(
            [*undo.writes, Audit(at=now, kind="undo", actor=author, subject=turn, outcome=outcome, detail=detail)]
        )
        return undo

    async def last_change(self, session: SessionKey) -> str:
        """The newest turn of the session that changed documents. Raises BadInput, StoreError."""
        state = await self._sessions.get(session)
        for turn, _ in reversed(state.marks):
            if await self._documents.changed_by(turn):
                return turn
        raise BadInput("nothing in this conversation changed a file")

    async def trust(self, session: SessionKey, *, by: Principal, reason: str = "") -> None:
        """From here on nothing said before counts as untrusted or private. Raises StoreError."""
        now, name = self._clock.now(), str(by.user)
        async with self._sessions.pen(session) as pen:
            pen.add(Declassified(by=name, reason=reason[:500]))
            detail = {"reason": reason[:500]}
            pen.also(Audit(at=now, kind="declassified", actor=name, subject=str(session), outcome="done", detail=detail))
            await pen.commit()


def add_change_commands(add: Callable[[Command], None], changes: Changes) -> None:
    async def undo(call: CommandCall) -> CommandReply:
        turn = call.args.strip() or await changes.last_change(call.session)
        done = await changes.undo(turn, by=call.principal)
        lines = [f"Restored {path}." for path in done.restored] + [f"Removed {path}." for path in done.deleted]
        return CommandReply(text="\n".join((*lines, *done.conflicts)) or "There was nothing to take back.")

    async def trust(call: CommandCall) -> CommandReply:
        await changes.trust(call.session, by=call.principal, reason=call.args)
        return CommandReply(text="You vouch for everything said so far; the conversation counts as your own words again.")

    add(Command(name="undo", summary="Take back what the last turn did to files", run=undo, usage="[turn]"))
    add(Command(name="trust", summary="Vouch for what was said so far", run=trust, usage="[why]"))
