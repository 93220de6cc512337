"""The commands the engine can serve by itself, each in the file of its idea; they come in by the door that plugins use."""

from collections.abc import Callable

from ostiary.contracts.messages import ChatKind
from ostiary.core.routing.commands import Command, CommandCall, CommandReply, Commands
from ostiary.core.routing.conversation_commands import CONVERSATION_COMMANDS
from ostiary.core.routing.model_commands import MODEL_COMMANDS
from ostiary.core.routing.report_commands import report_commands
from ostiary.core.routing.setting_commands import SETTING_COMMANDS


def add_builtin_commands(add: Callable[[Command], None], *, version: str, house: Callable[[], str] = str) -> None:
    """`add` is `Commands.add` or a plugin host's `add_command`; `house` is a line about the house for /status."""

    async def tell_version(call: CommandCall) -> CommandReply:
        return CommandReply(text=f"Ostiary {version}")

    own = (
        Command(name="help", summary="What can be done here", authority="anyone", is_shortcut=True, run=give_help),
        Command(name="commands", summary="All commands you may use", authority="anyone", is_shortcut=True, run=list_commands),
        Command(
            name="whoami", aliases=("id",), summary="How you are known here", authority="anyone", is_shortcut=True, run=who_am_i
        ),
        Command(name="version", summary="Which version this is", authority="anyone", run=tell_version),
    )
    for command in (*own, *CONVERSATION_COMMANDS, *report_commands(house), *MODEL_COMMANDS, *SETTING_COMMANDS):
        add(command)


def builtin_commands(*, version: str) -> Commands:
    commands = Commands()
    add_builtin_commands(commands.add, version=version)
    return commands


_FIRST = ("new", "stop", "status", "model", "think", "context", "commands")


async def give_help(call: CommandCall) -> CommandReply:
    usable = {command.name: command for command in call.commands.usable_by(call.principal, call.session)}
    lines = [f"- `{_form(usable[name])}` {usable[name].summary}" for name in _FIRST if name in usable]
    return CommandReply(text="Just write. Some commands help:\n" + "\n".join(lines))


async def list_commands(call: CommandCall) -> CommandReply:
    usable = call.commands.usable_by(call.principal, call.session)
    return CommandReply(text="\n".join(f"- `{_form(command)}` {command.summary}" for command in usable))


async def who_am_i(call: CommandCall) -> CommandReply:
    lines = [f"You are `{call.principal.user}`, here as **{call.principal.role}**.", f"Conversation: `{call.session}`"]
    if call.message.chat_kind is not ChatKind.DIRECT:
        lines.append(f"Chat: `{call.message.address.chat}`")
    return CommandReply(text="\n".join(lines))


def _form(command: Command) -> str:
    return f"/{command.name} {command.usage}".strip()
