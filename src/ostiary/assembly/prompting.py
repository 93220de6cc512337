"""The prompt of a turn: the owner's files, the tools this person may use, the stable prefix made of them.

Called before every model request, so everything that did not change is remembered: files for a minute, prefixes by what
they were made of.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ostiary.adapters.models.providers import EMBEDDED
from ostiary.assembly.prompts import load_prompts
from ostiary.assembly.rules import Rules
from ostiary.contracts.clock import Clock
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.model import ModelFacts
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import Documents
from ostiary.contracts.tool import Tool, ToolSpec
from ostiary.core.agent.bootstrap import SourceFile, read_files, select
from ostiary.core.agent.context import Prepared
from ostiary.core.agent.prompt import Mode, PromptInputs, build_prefix
from ostiary.core.agent.report import schema_text
from ostiary.core.policy.layers import visible_tools
from ostiary.core.routing.scopes import place_of
from ostiary.core.sessions.session import Session, Turn

FILES_SECONDS = 60.0
REMEMBERED = 64
REMEMBERED_PLACES = 2048
MAIN = "main"
FENCED = "Commands run fenced in /workspace, where your files are, without a network unless you ask for it. Python is python3."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """An agent's files as they were at `at`. `version` is another whenever their content is another, and never used again."""

    at: float
    version: int
    files: tuple[SourceFile, ...]


class Shown:
    """Some tools; one object for the same tools, so that prompts can be remembered by it."""

    __slots__ = ("specs",)

    def __init__(self, specs: tuple[ToolSpec, ...]) -> None:
        self.specs = specs


class HousePrompts:
    """Implements core.agent.context.Prompts. `rules` gives the newest generation.

    `first_session` is the first conversation this house ever had ("" before it): only that one sees BOOTSTRAP.md."""

    def __init__(
        self,
        *,
        documents: Documents,
        tools: Mapping[str, Tool],
        clock: Clock,
        rules: Callable[[], Rules],
        names: Callable[[str], str],
        pushes: Callable[[str], bool],
        first_session: str,
        switches: Callable[[], int] = lambda: 0,
    ) -> None:
        self._documents = documents
        self._tools = tools
        self._clock = clock
        self._rules = rules
        self._names = names
        self._pushes = pushes
        self._first_session = first_session
        self._switches = switches
        self._files: dict[str, _Read] = {}
        self._versions = 0
        self._made: OrderedDict[tuple[object, ...], Prepared] = OrderedDict()
        self._shown: OrderedDict[tuple[object, ...], Shown] = OrderedDict()
        self._interned: dict[tuple[str, ...], Shown] = {}

    async def prepare(self, *, session: Session, turn: Turn, facts: ModelFacts) -> Prepared:
        rules = self._rules()
        key, principal = session.key, turn.started.principal
        read = await self._read(key.agent)
        channel = turn.started.reply_to.channel
        place = place_of(key.scope)
        is_private = is_private_place(key) and principal.is_owner
        is_first = self._first_session in ("", session.name)
        if not self._first_session:
            self._first_session = session.name
        specs = self._visible(key, turn, rules, facts, place.source)
        known = (rules.generation, key.agent, specs, is_private, place.source, channel, facts.ref, read.version, is_first)
        found = self._made.get(known)
        if found is not None:
            self._made.move_to_end(known)
            return found
        chosen = select(read.files, is_private=is_private, is_subagent=place.source == "subagent", is_first_run=is_first)
        made = self._make(rules, key, specs.specs, chosen, facts, source=place.source, channel=channel)
        self._made[known] = made
        while len(self._made) > REMEMBERED:
            self._made.popitem(last=False)
        return made

    def _visible(self, key: SessionKey, turn: Turn, rules: Rules, facts: ModelFacts, source: str) -> "Shown":
        """Every tool that some call of this person's, here, might be allowed; found out once for all their like turns."""
        started = turn.started
        channel = started.reply_to.channel
        # Among themselves direct conversations of one person differ for the rules only in being the main one.
        where = (key.scope, started.reply_to) if source in ("group", "channel", "subagent") else key.scope == MAIN
        asked = (rules.generation, self._switches(), key.agent, where, started.principal, channel, facts.ref)
        found = self._shown.get(asked)
        if found is None:
            specs = visible_tools(
                [tool.spec for tool in self._tools.values()],
                judge=rules.judge,
                principal=started.principal,
                session=key,
                channel=channel,
                provider=facts.ref.provider,
                model=facts.ref.model,
                reply_to=started.reply_to,
                is_attended=started.principal.is_owner and not self._pushes(channel),
            )
            if len(self._interned) >= REMEMBERED_PLACES:
                self._interned.clear()
            found = self._shown[asked] = self._interned.setdefault(tuple(spec.name for spec in specs), Shown(specs))
            while len(self._shown) > REMEMBERED_PLACES:
                self._shown.popitem(last=False)
        self._shown.move_to_end(asked)
        return found

    def _make(
        self,
        rules: Rules,
        key: SessionKey,
        specs: Sequence[ToolSpec],
        files: tuple[SourceFile, ...],
        facts: ModelFacts,
        *,
        source: str,
        channel: str,
    ) -> Prepared:
        mode: Mode = "minimal" if source == "subagent" or facts.ref.provider == EMBEDDED else "full"
        pushes = self._pushes(channel)
        inputs = PromptInputs(
            prompts=load_prompts(),
            mode=mode,
            name=self._names(key.agent),
            tools=tuple(spec.schema for spec in specs),
            files=files,
            sandbox=FENCED if any(spec.name in ("exec", "vault_exec") for spec in specs) else "",
            time_zone=rules.zone_name,
            has_envelopes=pushes,
            may_be_silent=pushes and source in ("group", "channel"),
            per_file=rules.file_chars,
            in_all=rules.files_chars,
        )
        prefix = build_prefix(inputs)
        schemas = "\n".join(schema_text(spec.schema) for spec in specs).encode()
        return Prepared(
            prefix=prefix.text,
            digest=hashlib.sha256(prefix.text.encode()).hexdigest(),
            tools=tuple(specs),
            schemas=schemas,
            schemas_digest=hashlib.sha256(schemas).hexdigest(),
            report={**prefix.report, "window": facts.context_window},
            label=prefix.label,
        )

    async def _read(self, agent: str) -> _Read:
        now = self._clock.monotonic()
        known = self._files.get(agent)
        if known is not None and now - known.at < FILES_SECONDS:
            return known
        files = await read_files(self._documents, agent)
        if known is not None and known.files == files:
            # The same version keeps the prefixes that were made from it.
            read = replace(known, at=now)
        else:
            self._versions += 1
            read = _Read(at=now, version=self._versions, files=files)
        self._files[agent] = read
        return read


def is_private_place(key: SessionKey) -> bool:
    """Not a group or a room: nobody but the sender reads along."""
    return place_of(key.scope).source not in ("group", "channel")


def may_see_session(principal: Principal, here: SessionKey, other: SessionKey) -> bool:
    """The owner sees every conversation where nobody else reads along; everybody else, and everywhere else, this one."""
    return here == other or (principal.is_owner and is_private_place(here))
