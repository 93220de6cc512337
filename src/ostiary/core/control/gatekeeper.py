"""Whether a message is heard at all, by the state of the house. Asked before anything is accepted; pure and quick."""

from collections.abc import Callable
from typing import Literal

from ostiary.contracts.control import HouseState
from ostiary.contracts.identity import Principal
from ostiary.contracts.messages import InboundMessage
from ostiary.contracts.records import dataclass
from ostiary.core.routing.commands import parse_head

DropReason = Literal["dormant", "shutdown"]

# The owner's word for these is heard in its sleep. They answer at the desk and hand nothing on to the model.
HEARD_ASLEEP = frozenset({"wake", "sleep", "kill", "status", "help"})
_TAKE_WORDS = frozenset({"wake", "sleep", "kill"})
_SAID = {
    "dormant": "I am asleep. /wake wakes me.",
    "shutdown": "I was shut down by /kill. /wake starts me again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    """It goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wake:
    """Wake the house first, then it goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """It was never heard. `say` is for the signed-in owner, who waits for an answer; empty means silence."""

    reason: DropReason
    say: str = ""


Admission = Admit | Drop | Wake
ADMIT, WAKE = Admit(), Wake()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gatekeeper:
    """`state` is the house's, as it is this moment. `is_strict`: speaking does not wake it, not even the owner's at the page.

    `bot_names` are the names a `/name@bot` may carry to mean us."""

    state: Callable[[], HouseState]
    is_strict: Callable[[], bool] = lambda: False
    bot_names: Callable[[], frozenset[str]] = frozenset

    def admits(self, message: InboundMessage, principal: Principal, *, is_attended: bool, is_command: bool) -> Admission:
        """`is_attended`: the signed-in owner at the page, the terminal or the API. `is_command`: it begins with a command
        the desk knows."""
        state = self.state()
        if state in ("awake", "action_pending"):
            return ADMIT
        attended = is_attended and principal.is_owner
        command = self._command(message) if is_command and principal.is_owner else ""
        if state == "shutdown":
            return ADMIT if attended and command == "wake" else _dropped("shutdown", attended)
        if command in HEARD_ASLEEP:
            return ADMIT
        if attended and not self.is_strict():
            return WAKE
        return _dropped("dormant", attended)

    def _command(self, message: InboundMessage) -> str:
        """The command's name, if nothing of the message can reach the model besides it."""
        head = parse_head(message.text)
        if head is None or not self._is_us(head.bot, message):
            return ""
        # A shortcut with words or files behind it is answered, and the rest goes on.
        is_whole = head.name in _TAKE_WORDS or not (head.args or message.attachments)
        return head.name if is_whole else ""

    def _is_us(self, bot: str, message: InboundMessage) -> bool:
        if not bot:
            return True
        names = {name.lower().lstrip("@") for name in self.bot_names()}
        return bot.lower() in names if names else message.mentions_us


def _dropped(reason: DropReason, is_told: bool) -> Drop:
    return Drop(reason=reason, say=_SAID[reason] if is_told else "")
