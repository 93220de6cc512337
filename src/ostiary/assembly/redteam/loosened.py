"""A house without one of its layers, for as long as a proof takes: whoever says that a layer stops an attack shows that without
it the attack succeeds. There is no configuration for any of this.

It reaches into parts by their private names on purpose: a public way to switch a layer off would be the thing to attack.
"""

# mypy: disable-error-code="attr-defined, method-assign, assignment"

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from ostiary.assembly.redteam.ground import Ground
from ostiary.assembly.redteam.remembering import MEMORY
from ostiary.assembly.redteam.swapping import every, swapped
from ostiary.assembly.redteam.unfenced import Careless, Following, Unfenced, Unjudged
from ostiary.contracts.content import ToolCall
from ostiary.contracts.records import dataclass
from ostiary.contracts.tool import Tool, ToolSpec
from ostiary.core.agent import asking, ending, spotlight
from ostiary.core.approvals.grants import Grant
from ostiary.core.policy.judge import Judge
from ostiary.core.policy.rules import LAYERS as JUDGED
from ostiary.core.routing.access import SpeakPolicy

_FAR = 1000


@contextmanager
def without(ground: Ground, layers: Sequence[str]) -> Iterator[None]:
    """The ground without these layers. Raises KeyError for a name nobody knows."""
    with ExitStack() as stack:
        judged = [name for name in layers if name in JUDGED]
        if judged:
            stack.enter_context(_without_judging(ground, judged))
        for name in layers:
            if name not in JUDGED:
                stack.enter_context(TAKEN[name](ground))
        yield


def _without_judging(ground: Ground, names: Sequence[str]) -> AbstractContextManager[None]:
    newest = ground.house.newest
    first, *narrowing = newest.rules.judge._layers
    judge = Judge(first, [each for each in narrowing if each[0] not in names])
    # Another generation: what was shown to the model by the old rules is not shown from memory.
    return swapped(newest, "rules", replace(newest.rules, judge=judge, generation=newest.rules.generation + _FAR + ground.run))


def _access(ground: Ground) -> AbstractContextManager[None]:
    newest = ground.house.newest
    anybody = {name: SpeakPolicy(dm="open", group="open", require_mention=False) for name in newest.rules.intake.speak}
    return swapped(newest, "rules", replace(newest.rules, intake=replace(newest.rules.intake, speak=anybody)))


def _fence(ground: Ground) -> AbstractContextManager[None]:
    bare = Unfenced(ground.copy.environ)
    return swapped(ground.house.host.tools["exec"], "_sandbox", lambda session: bare)


def _egress(ground: Ground) -> AbstractContextManager[None]:
    egress = ground.house.outlet._egress
    unjudged = Unjudged(ground.witness, lambda host: egress._resolve(host))
    swaps = [swapped(ground.house.outlet, "profile_of", lambda role: unjudged), _fence(ground)]
    fetch = ground.house.host.tools.get("web_fetch")
    if fetch is not None:
        swaps.append(swapped(fetch, "_profile_of", lambda role: unjudged))
    if "browser" in ground.house.host.tools:
        swaps.append(_tool(ground, "browser", _Fetching(ground.house.host.tools["browser"], unjudged)))
    return every(*swaps)


def _redaction(ground: Ground) -> AbstractContextManager[None]:
    def as_it_is(text: str) -> str:
        return text

    runner = ground.house.lanes._runner
    owners = (runner._calls, runner._ending, ground.house.engine.intake)
    return every(
        *(swapped(owner, name, as_it_is) for owner in owners for name in ("redact", "_redact") if name in _names_of(owner))
    )


def _calls(ground: Ground) -> AbstractContextManager[None]:
    """What the model puts into a call is taken as it is."""
    guarded = asking._without_secrets
    return swapped(asking, "_without_secrets", lambda part, guard: part if isinstance(part, ToolCall) else guarded(part, guard))


def _names_of(owner: Any) -> set[str]:
    slots = {name for each in type(owner).__mro__ for name in getattr(each, "__slots__", ())}
    return slots | set(getattr(owner, "__dict__", {}))


def _leaks(ground: Ground) -> AbstractContextManager[None]:
    """Wherever replies are looked at, no conversation counts as one that could leak."""
    places = [module for name, module in list(sys.modules.items()) if name.startswith("ostiary.core.") and module is not None]
    return every(*(swapped(each, "could_leak", lambda label: False) for each in places if "could_leak" in vars(each)))


def _titles(ground: Ground) -> AbstractContextManager[None]:
    """A conversation is called by its first words, whoever's they are."""
    made = ending.record_of

    def called(session: Any, turn: Any) -> Any:
        return replace(made(session, turn), title=turn.started.inputs[0].parts[0].text)

    return swapped(ending, "record_of", called)


def _spotlight(ground: Ground) -> AbstractContextManager[None]:
    """What the model reads is what came, letters that nobody sees among it."""
    return swapped(spotlight, "_UNSEEN", re.compile(r"(x)(?!x)x"))


def _approvals(ground: Ground) -> AbstractContextManager[None]:
    return swapped(ground.house.approvals, "_may_answer", lambda principal: True)


def _grants(ground: Ground) -> AbstractContextManager[None]:
    """A grant that covers whatever its tool does, for whomever."""
    approvals = ground.house.approvals

    def covering(action: Any, ask: Any) -> Any:
        return next((grant for grant in approvals.grants if grant.tool == action.tool.name), None)

    return every(swapped(approvals, "covering", covering), swapped(Grant, "holds", lambda grant, bound: True))


def _binding(ground: Ground) -> AbstractContextManager[None]:
    return _tool(ground, "exec", _Unbound(ground.house.host.tools["exec"]))


def _deadline(ground: Ground) -> AbstractContextManager[None]:
    return swapped(ground.house.approvals, "_seconds", lambda: 3600.0)


def _control(ground: Ground) -> AbstractContextManager[None]:
    return swapped(ground.house.engine.intake, "control", None)


def _gate(ground: Ground) -> AbstractContextManager[None]:
    from ostiary.gateway.auth.callers import owner

    gate = ground.entrance.gate

    def identify(scope: Any) -> Any:
        caller = scope["ostiary.caller"] = owner("token")
        return caller

    async def identify_socket(scope: Any, connect: Any, nonce: str) -> Any:
        return owner("token")

    return every(
        swapped(gate, "identify", identify),
        swapped(gate, "identify_socket", identify_socket),
        swapped(gate, "check_place", lambda scope: None),
    )


def _place(ground: Ground) -> AbstractContextManager[None]:
    return swapped(ground.entrance.gate, "check_place", lambda scope: None)


def _processes(ground: Ground) -> AbstractContextManager[None]:
    processes = ground.house.host.tools["process"]._processes
    return every(
        swapped(processes, "find", lambda session, name: processes._runs.get(name)),
        swapped(processes, "of", lambda session: tuple(processes._runs.values())),
    )


def _commands(ground: Ground) -> AbstractContextManager[None]:
    """Slash commands that ask nobody who they are."""
    from ostiary.core.routing import desk

    return every(swapped(desk._Visit, "allows", lambda visit, command: True), _approvals(ground))


def _hooks(ground: Ground) -> AbstractContextManager[None]:
    from ostiary.gateway.hooks import door

    return every(
        swapped(door, "by_token", lambda given, hooks: tuple(hooks)),
        swapped(door, "refuse_token_in_url", lambda scope: None),
    )


def _workspace(ground: Ground) -> AbstractContextManager[None]:
    processes = ground.house.host.tools["exec"]._processes
    return swapped(processes, "_workspace", Following(processes._workspace))


def _owner_files(ground: Ground) -> AbstractContextManager[None]:
    tools = [ground.house.host.tools[name] for name in ("write", "edit", "apply_patch") if name in ground.house.host.tools]
    return every(*(swapped(tool, "_files", Careless(tool._files)) for tool in tools))


def _tool(ground: Ground, name: str, tool: Tool) -> AbstractContextManager[None]:
    tools = ground.house.host.tools

    @contextmanager
    def swap() -> Iterator[None]:
        before, tools[name] = tools[name], tool
        try:
            yield
        finally:
            tools[name] = before

    return swap()


class _Unbound:
    """The same tool, which does not say what an approval of it is bound to."""

    def __init__(self, tool: Any) -> None:
        self.spec: ToolSpec = tool.spec
        self.call = tool.call


@dataclass(frozen=True, slots=True)
class _Fetching:
    """A browser that opens whatever it is told."""

    tool: Tool
    unjudged: Unjudged

    @property
    def spec(self) -> ToolSpec:
        return self.tool.spec

    async def call(self, arguments: Mapping[str, object], context: Any) -> Any:
        from ostiary.contracts.tool import ToolResult

        fetched = await self.unjudged.fetch(str(arguments.get("url", "")))
        return ToolResult(text=fetched.body.decode("utf-8", "replace"))


TAKEN: Mapping[str, Callable[[Ground], AbstractContextManager[None]]] = {
    "access": _access,
    "fence": _fence,
    "egress": _egress,
    "redaction": _redaction,
    "calls": _calls,
    "leaks": _leaks,
    "titles": _titles,
    "spotlight": _spotlight,
    "approvals": _approvals,
    "grants": _grants,
    "binding": _binding,
    "deadline": _deadline,
    "control": _control,
    "gate": _gate,
    "place": _place,
    "processes": _processes,
    "commands": _commands,
    "hooks": _hooks,
    "workspace": _workspace,
    "owner files": _owner_files,
    **MEMORY,
}
