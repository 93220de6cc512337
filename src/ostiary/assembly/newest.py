"""The newest good generation of the configuration, and what asks it: policy, models and rules are never older than that."""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace

from ostiary.assembly.builtin import Host
from ostiary.assembly.config.load import Loaded
from ostiary.assembly.config.watch import Live
from ostiary.assembly.models import Models, Sources, build_models
from ostiary.assembly.rules import Rules, compile_rules
from ostiary.contracts.errors import ConfigInvalid, OstiaryError
from ostiary.contracts.messages import Address
from ostiary.contracts.model import ModelChoice, ModelEvent, ModelFacts, ModelRef, ModelRequest
from ostiary.contracts.policy import Action, Decision
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import InboxItem
from ostiary.core.agent.prompt import Envelope, wrap
from ostiary.core.policy.judge import Step
from ostiary.core.policy.rules import Runtime
from ostiary.core.policy.verdict import Verdict
from ostiary.core.routing.scopes import place_of
from ostiary.core.routing.sendpolicy import may_send
from ostiary.core.sessions.resets import expired, type_of
from ostiary.core.sessions.session import Session

log = logging.getLogger("ostiary.config")


@dataclass(slots=True)
class Newest:
    """The newest good generation: what is decided, decided by this. `followers` hold something of it for themselves."""

    live: Live
    rules: Rules
    models: Models
    plugin_tools: frozenset[str] = frozenset()
    runtime: Runtime | None = None
    followers: list[Callable[[Rules], None]] = field(default_factory=list)

    def follow(self, follower: Callable[[Rules], None]) -> None:
        """Tell it the rules, now and with every generation."""
        follower(self.rules)
        self.followers.append(follower)

    def know_plugins(self, tools: frozenset[str]) -> None:
        """From here on `group:plugins` means these. Raises ConfigInvalid, BadInput."""
        current = self.live.current
        self.plugin_tools = tools
        self.rules = compile_rules(current.config, current.generation, plugin_tools=tools, runtime=self.runtime)

    def take(self, change: Loaded | ConfigInvalid, sources: Sources, *, anyway: bool = False) -> None:
        """Swap everything at once, or nothing. What is in force already is put in force again only if `anyway`."""
        if isinstance(change, ConfigInvalid):
            self.live.take(change)
            log.error("the configuration was changed but not taken over: %s", change)
            return
        current = self.live.current
        if change.text == current.text and not anyway:
            self.live.problem = None
            return
        # Whoever loaded it counted for himself; a number must never stand for two contents.
        change = replace(change, generation=current.generation + 1)
        try:
            rules = compile_rules(change.config, change.generation, plugin_tools=self.plugin_tools, runtime=self.runtime)
            models = build_models(change.config, sources)
        except OstiaryError as error:
            self._refuse(f"{error} {error.hint}".strip())
            return
        except Exception:
            # A bug of ours must not take down a house that runs well.
            log.exception("the configuration could not be put in force")
            self._refuse("the configuration could not be put in force: something inside failed; the log has the details")
            return
        self.live.take(change)
        self.rules, self.models = rules, models
        for follower in self.followers:
            follower(rules)
        log.info("configuration generation %d is in force", change.generation)

    def _refuse(self, sentence: str) -> None:
        self.live.problem = ConfigInvalid(sentence, problems=(sentence,))
        log.error("the configuration was changed but not taken over: %s", sentence)


class NewestModel:
    """The model client of the newest generation; a running call keeps the one it began with."""

    def __init__(self, newest: Newest) -> None:
        self._newest = newest

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        return self._newest.models.client.stream(request)


class NewestCatalogue:
    def __init__(self, newest: Newest) -> None:
        self._newest = newest

    def facts(self, ref: ModelRef) -> ModelFacts:
        return self._newest.models.catalogue.facts(ref)

    def choose(self, agent: str, override: str = "", *, with_images: bool = False) -> ModelChoice:
        return self._newest.models.catalogue.choose(agent, override, with_images=with_images)

    def choices(self, agent: str) -> tuple[ModelFacts, ...]:
        return self._newest.models.catalogue.choices(agent)


class Verdicts:
    """The verdict of the newest generation, with the policies that plugins added."""

    def __init__(self, host: Host, newest: Newest) -> None:
        self._host = host
        self._newest = newest
        self._made: tuple[Rules, Verdict] | None = None

    async def decide(self, action: Action) -> Decision:
        return await self._verdict().decide(action)

    async def explain(self, action: Action) -> tuple[Step, ...]:
        """What every layer and every plugin's policy says of it."""
        return await self._verdict().explain(action)

    def _verdict(self) -> Verdict:
        rules = self._newest.rules
        if self._made is None or self._made[0] is not rules:
            self._made = (rules, Verdict(self._host.policies, judge=rules.judge))
        return self._made[1]


def session_may_send(rules: Rules, session: Session, address: Address) -> bool:
    place = place_of(session.key.scope)
    override = session.settings.get("send", "")
    return may_send(session.key, channel=address.channel, chat_type=place.source, policy=rules.send, override=override).allowed


def reset_reason(rules: Rules, item: InboxItem, last_input_at: float, now: float) -> str:
    if item.context:
        return ""
    policy = rules.resets.policy_for(type_of(item.message), item.reply_to.channel)
    return expired(last_input_at, now, policy, rules.zone) or ""


def words_of(newest: Newest, item: InboxItem, previous_at: float, pushes: Callable[[str], bool]) -> str:
    """Messages from channels carry an envelope; the owner's own at the terminal or the API are plain."""
    message = item.message
    if not pushes(message.address.channel):
        return message.text
    defaults = newest.live.current.config.agents.defaults
    envelope = Envelope(
        zone=newest.rules.zone,
        has_timestamp=defaults.envelope_timestamp == "on",
        has_elapsed=defaults.envelope_elapsed == "on",
    )
    return wrap(
        message.text,
        channel=message.address.channel,
        sender=str(message.sender),
        sender_name=message.sender_name,
        at=item.accepted_at,
        envelope=envelope,
        previous_at=previous_at,
    )


def name_of(newest: Newest, agent: str) -> str:
    for each in newest.live.current.config.agents.list:
        if each.id == agent and (each.identity.name or each.name):
            return each.identity.name or each.name
    return "a personal assistant"
