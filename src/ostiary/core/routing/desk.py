"""The desk where slash commands and directives are handled, before anything reaches a lane or the model.

- A message that is only a command is answered here. From somebody who may not use it, it is ignored in silence.
- Directives alone are kept for the session; beside other text they act for that message and are taken out of it.
- Shortcuts in the middle of a message are answered and taken out; the rest goes on.
- A slash word we do not know is ordinary text, and so are directives and shortcuts of those who may not use them.
"""

import logging
from collections.abc import Callable, Sequence

import anyio

from ostiary.contracts.engine import Controls
from ostiary.contracts.errors import OstiaryError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.model import ModelCatalogue
from ostiary.contracts.records import dataclass
from ostiary.core.routing.commands import Command, CommandCall, CommandReply, Commands, Head, parse_head
from ostiary.core.routing.directives import Mention, mentions_in, without
from ostiary.core.routing.intake import Handled

log = logging.getLogger("ostiary.commands")

COMMAND_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskRules:
    """`reset_triggers` work as `/new` does, besides it. `bot_names` are the names a `/name@bot` may carry to mean us."""

    reset_triggers: tuple[str, ...] = ()
    bot_names: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """One message at the desk."""

    message: InboundMessage
    principal: Principal
    session: SessionKey
    rules: DeskRules

    def is_us(self, bot: str) -> bool:
        """Without names to compare with, a suffix is believed only where the platform says that we are meant."""
        if not bot:
            return True
        names = {name.lower().lstrip("@") for name in self.rules.bot_names}
        return bot.lower() in names if names else self.message.mentions_us

    def allows(self, command: Command) -> bool:
        return command.may_be_used_by(self.principal, self.session)


class CommandDesk:
    """`controls` and `catalogue` are asked for at each use, so that the newest configuration counts."""

    def __init__(
        self,
        *,
        commands: Commands,
        controls: Callable[[], Controls],
        catalogue: Callable[[], ModelCatalogue],
        rules: Callable[[], DeskRules] = DeskRules,
    ) -> None:
        self._commands = commands
        self._controls = controls
        self._catalogue = catalogue
        self._rules = rules

    def looks_like_command(self, text: str) -> bool:
        """Whether `handle` may have something to do. Cheap, and says nothing about who is asking."""
        return self.is_command(text) or bool(mentions_in(text, self._commands, allows=lambda _: True, is_us=lambda _: True))

    def is_command(self, text: str) -> bool:
        """Whether the text begins with a command we know, or is one of the words that start afresh."""
        head = parse_head(text)
        if head is not None and self._commands.find(head.name) is not None:
            return True
        return _after_trigger(text, self._rules().reset_triggers) is not None

    async def handle(self, message: InboundMessage, *, principal: Principal, session: SessionKey) -> Handled:
        """`reply` None: nothing to answer, `text` goes on. Both set: answer, and let `text` go on too. Raises nothing of ours."""
        visit = _Visit(message=message, principal=principal, session=session, rules=self._rules())
        head = self._head(visit)
        command = self._commands.find(head.name) if head is not None else None
        if head is None or command is None or not visit.is_us(head.bot):
            return await self._inline(visit, message.text, "")
        if not visit.allows(command):
            is_plain = command.directive is not None or (command.is_shortcut and bool(head.args))
            return Handled(text=message.text) if is_plain else Handled(reply="")
        if command.is_shortcut and head.args:
            return await self._inline(visit, message.text, "")
        if command.directive is not None and command.directive.takes(head.args.split()) > 0:
            return await self._inline(visit, message.text, "")
        reply = await self._run(visit, command, head.args)
        if reply.pass_on or (message.attachments and not reply.text):
            return await self._inline(visit, reply.pass_on, reply.text)
        return Handled(reply=reply.text)

    def _head(self, visit: _Visit) -> Head | None:
        rest = _after_trigger(visit.message.text, visit.rules.reset_triggers)
        return Head(name="new", bot="", args=rest) if rest is not None else parse_head(visit.message.text)

    async def _inline(self, visit: _Visit, text: str, already: str) -> Handled:
        """Directives and shortcuts of a text that is not itself a command."""
        mentions = mentions_in(text, self._commands, allows=visit.allows, is_us=visit.is_us)
        kept: list[Mention] = []
        directives: dict[str, str] = {}
        for mention in mentions:
            if mention.command.directive is not None:
                try:
                    directives.update(mention.command.directive.settings(self._call(visit, mention.command, mention.args)))
                except OstiaryError as error:
                    if mention.leads:
                        return Handled(reply=_said(error))
                    # In the middle of a sentence it was no directive but a word.
                    continue
            kept.append(mention)
        rest = without(text, kept) if kept else text
        if not rest.strip() and not visit.message.attachments and not already:
            return Handled(reply=await self._run_all(visit, kept)) if kept else Handled(text=text)
        shortcuts = [mention for mention in kept if mention.command.is_shortcut]
        answered = await self._run_all(visit, shortcuts) if shortcuts else ""
        said = "\n\n".join(filter(None, (already, answered)))
        return Handled(reply=said or None, text=rest, directives=directives)

    async def _run_all(self, visit: _Visit, mentions: Sequence[Mention]) -> str:
        replies = [await self._run(visit, mention.command, mention.args) for mention in mentions]
        return "\n\n".join(reply.text for reply in replies if reply.text)

    async def _run(self, visit: _Visit, command: Command, args: str) -> CommandReply:
        try:
            with anyio.fail_after(COMMAND_SECONDS):
                return await command.run(self._call(visit, command, args))
        except OstiaryError as error:
            return CommandReply(text=_said(error))
        except TimeoutError:
            log.warning("/%s took longer than %d s", command.name, COMMAND_SECONDS)
            return CommandReply(text=f"/{command.name} took too long and was given up.")
        except Exception:
            # A plugin's command must not end the intake.
            log.exception("/%s failed", command.name)
            return CommandReply(text=f"/{command.name} failed; the log says why.")

    def _call(self, visit: _Visit, command: Command, args: str) -> CommandCall:
        return CommandCall(
            name=command.name,
            args=args,
            session=visit.session,
            principal=visit.principal,
            message=visit.message,
            controls=self._controls(),
            catalogue=self._catalogue(),
            commands=self._commands,
        )


def _said(error: OstiaryError) -> str:
    sentence = str(error).rstrip(".")
    sentence = f"{sentence[:1].upper()}{sentence[1:]}."
    return f"{sentence} {error.hint}".strip()


def _after_trigger(text: str, triggers: Sequence[str]) -> str | None:
    """What follows a configured reset trigger, None if the text begins with none of them."""
    text = text.strip()
    for trigger in triggers:
        word = trigger.strip()
        if word and text.lower().startswith(word.lower()):
            rest = text[len(word) :]
            if not rest or rest[0].isspace():
                return rest.strip()
    return None
