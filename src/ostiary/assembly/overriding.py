"""A plugin's tool in the place of a built-in one: other behaviour, and never a lighter judgement."""

from collections.abc import Mapping
from dataclasses import replace

from ostiary.contracts.errors import BadInput
from ostiary.contracts.tool import Binding, Tool, ToolContext, ToolResult, ToolSpec


def standing_in(original: Tool, made: Tool) -> Tool:
    """`made` as the house takes it. Raises BadInput if it has another name."""
    if made.spec.name != original.spec.name:
        raise BadInput(f"what overrides the tool {original.spec.name} must keep its name, and is called {made.spec.name[:40]}")
    return _as(narrowed(original.spec, made.spec), made, original)


def renamed(tool: Tool, name: str) -> Tool:
    """The same tool under another name: a list that allows the one says nothing about the other."""
    return _as(replace(tool.spec, schema=replace(tool.spec.schema, name=name)), tool)


def _as(spec: ToolSpec, made: Tool, *others: Tool) -> Tool:
    binding = [tool for tool in (*others, made) if isinstance(tool, Binding)]
    return _Bound(spec, made, tuple(binding)) if binding else _StandIn(spec, made)


def narrowed(original: ToolSpec, made: ToolSpec) -> ToolSpec:
    """What is declared of the new tool, as strict as both in everything that rules look at."""
    return replace(
        made,
        effects=original.effects | made.effects,
        undoable=original.undoable and made.undoable,
        harmless_when=_both(original.harmless_when, made.harmless_when),
        repeatable=original.repeatable and made.repeatable,
        untrusted_output=original.untrusted_output or made.untrusted_output,
        owner_only=original.owner_only or made.owner_only,
        is_client=original.is_client,
    )


def _both(one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]) -> Mapping[str, frozenset[str]]:
    shared = {name: one[name] & other[name] for name in one.keys() & other.keys()}
    return {name: values for name, values in shared.items() if values}


class _StandIn:
    def __init__(self, spec: ToolSpec, made: Tool) -> None:
        self._spec = spec
        self._made = made

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        return await self._made.call(arguments, context)


class _Bound:
    """An approval of it is bound to all that the original binds to, and to what the new one adds."""

    def __init__(self, spec: ToolSpec, made: Tool, binding: tuple[Binding, ...]) -> None:
        self._spec = spec
        self._made = made
        self._binding = binding

    @property
    def spec(self) -> ToolSpec:
        return self._spec

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        return await self._made.call(arguments, context)

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        bound: dict[str, str] = {}
        for each in self._binding:
            for name, value in (await each.bind(arguments, context)).items():
                # One that wraps the other names the same things; what differs is kept beside it.
                key = name if bound.get(name, value) == value else f"{name} (plugin)"
                bound[key] = value
        return bound
