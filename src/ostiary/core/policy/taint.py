"""The Rule of Two: what strangers wrote and what is private have met in one conversation, so nothing leaves unasked.

A page, a mail or a file may hold words meant to steer the model. As long as nothing private was read they can steal nothing;
as long as nothing can leave, neither. When all three meet, a person decides, each time: no standing grant answers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Literal

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.identity import Principal
from ostiary.contracts.policy import Action, Ask, Decision, Deny
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Effect
from ostiary.core.policy.effects import effects_of, is_undoable_write, urls_of
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.names import canonical
from ostiary.core.policy.recipients import is_listed, is_reply, recipient, spellings
from ostiary.core.policy.words import printable

Mode = Literal["ask", "deny", "off"]
Knows = Callable[[Action, str], bool]

NAME = "taint"
_SHOWN_SOURCES = 3
_CHANGING = frozenset({Effect.EXECUTE, Effect.WRITE})
# A search goes to the engine the owner chose, whoever asked for it.
_FIXED_DESTINATION = frozenset({"web_search"})


def nothing_known(action: Action, text: str) -> bool:
    """Nobody vouches for anything."""
    return False


def always_fenced(action: Action) -> bool:
    """Commands run behind the fence."""
    return True


def never_watched(action: Action) -> bool:
    """No program with the network sees the files."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class TaintRules:
    """`mode` holds for every role that `by_role` does not name. `recipients` are addresses (`channel:chat`) that are always
    fine. `is_known_url` tells whether people or a search gave the URL in this conversation, `is_named` whether the owner's own
    words in it name the recipient. `is_fenced` tells whether a command of this action has no network by itself, `is_watched`
    whether a program that has it sees the files."""

    mode: Mode = "ask"
    by_role: Mapping[str, Mode] = field(default_factory=dict)
    recipients: frozenset[str] = frozenset()
    is_known_url: Knows = nothing_known
    is_named: Knows = nothing_known
    is_fenced: Callable[[Action], bool] = always_fenced
    is_watched: Callable[[Action], bool] = never_watched


def taint_layer(rules: TaintRules) -> Layer | None:
    """None if it is off for everybody."""
    if rules.mode == "off" and all(mode == "off" for mode in rules.by_role.values()):
        return None

    def judge(action: Action) -> Decision | None:
        mode = rules.by_role.get(action.principal.role, rules.mode)
        if mode == "off" or not is_tainted(action.label, action.principal):
            return None
        danger = _danger(action, rules)
        if not danger:
            return None
        reason = f"{danger}. {_why(action.label)}"
        return Deny(layer=NAME, reason=reason) if mode == "deny" else Ask(layer=NAME, reason=reason)

    return judge


def is_tainted(label: Label, principal: Principal) -> bool:
    """Private things are in sight, and so are words of somebody who must not decide what happens to them."""
    if not label.private:
        return False
    return label.trust is Trust.UNTRUSTED or (label.trust is Trust.CONTACT and not principal.is_owner)


def _danger(action: Action, rules: TaintRules) -> str:
    """What the call could carry out, as a sentence; empty if nothing."""
    if action.tool.is_client:
        return ""
    effects, name = effects_of(action), action.tool.name
    if not action.tool.effects:
        return f"{name} does not say what it does, so it could send anything anywhere"
    if Effect.SPEND in effects:
        return f"{name} would spend money"
    if Effect.SECRET in effects:
        return f"{name} would use a secret"
    if Effect.EXECUTE in effects and _reaches_network(action, effects, rules):
        return f"{name} would run something that can reach the network"
    if effects & _CHANGING and rules.is_watched(action):
        return f"{name} would change files that a program with the network is at work on"
    if Effect.SEND in effects:
        return _sending(action, effects, rules)
    if Effect.WRITE in effects and not is_undoable_write(action, effects):
        return f"{name} would change something that cannot be taken back"
    if Effect.NETWORK in effects:
        return _fetching(action, rules)
    return ""


def _reaches_network(action: Action, effects: frozenset[Effect], rules: TaintRules) -> bool:
    # A program that runs already may have been given the network when it was started.
    return Effect.NETWORK in effects or canonical(action.tool.name) == "process" or not rules.is_fenced(action)


def _sending(action: Action, effects: frozenset[Effect], rules: TaintRules) -> str:
    name = action.tool.name
    if is_reply(action, effects):
        return ""
    if name != "message" or not effects <= {Effect.READ, Effect.SEND}:
        page = canonical(name) == "browser"
        return f"{name} would act on a web page" if page else f"{name} would send something out of this conversation"
    if is_listed(action, rules.recipients) or _any_known(rules.is_named, action, spellings(action)):
        return ""
    to = recipient(action)
    whom = f"to {printable(to)}" if to else "to somebody it does not clearly name"
    return f"{name} would send text {whom}, whom you did not name in this conversation"


def _fetching(action: Action, rules: TaintRules) -> str:
    name = action.tool.name
    if name in _FIXED_DESTINATION:
        return ""
    urls = urls_of(action.arguments)
    if not urls:
        return f"{name} would reach the network without saying where"
    for url in urls:
        if not rules.is_known_url(action, url):
            return f"{name} would open {printable(url)}, an address that neither you nor a search gave in this conversation"
    return ""


def _any_known(knows: Knows, action: Action, texts: Iterable[str]) -> bool:
    return any(knows(action, text) for text in texts)


def _why(label: Label) -> str:
    named = ", ".join(printable(source) for source in label.sources[:_SHOWN_SOURCES])
    more = f" and {len(label.sources) - _SHOWN_SOURCES} more" if len(label.sources) > _SHOWN_SOURCES else ""
    read = f" (read so far: {named}{more})" if named else ""
    return (
        "This conversation holds text from outside, which may have asked for it, and private things such as files or memory, "
        f"which could leak this way{read}. Say yes only if it is what you want"
    )
