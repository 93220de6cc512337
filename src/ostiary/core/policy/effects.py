"""What a call can really do. Tools declare it; their arguments may make it less, or more."""

from collections.abc import Iterator, Mapping

from ostiary.contracts.policy import Action
from ostiary.contracts.tool import Effect

LOOKING = frozenset({Effect.READ, Effect.NETWORK})
"""Nothing is changed and nobody is told: reading, here or on the network."""

EVERYTHING = frozenset(Effect)

_OPENING = frozenset({Effect.READ, Effect.NETWORK})
_DEEPEST = 8
_MOST = 1000


def effects_of(action: Action) -> frozenset[Effect]:
    """The effects of this very call. A tool that declares none may have any; a client's own has none on this side.

    A command with `network` reaches the network, and so does any call with a URL among its arguments. A browser that opens
    a page only looks."""
    tool, arguments = action.tool, action.arguments
    if tool.is_client:
        return frozenset()
    effects = tool.effects_of(arguments) or EVERYTHING
    # Only the house's own is lightened; a stranger's tool whose name looks like it is not it.
    if tool.name == "browser" and arguments.get("action") == "open":
        effects = (effects - {Effect.SEND}) | _OPENING
    if Effect.EXECUTE in effects and wants_network(arguments):
        effects |= {Effect.NETWORK}
    if Effect.NETWORK not in effects and arguments.get("url"):
        effects |= {Effect.NETWORK}
    return effects


def wants_network(arguments: Mapping[str, object]) -> bool:
    """Anything but a plain no counts as yes."""
    return arguments.get("network") not in (None, False)


def is_undoable_write(action: Action, effects: frozenset[Effect]) -> bool:
    """Only changes of documents whose earlier versions are kept."""
    return action.tool.undoable and effects <= {Effect.READ, Effect.WRITE}


def is_harmless(action: Action) -> bool:
    """It only looks, or what it changes can be taken back."""
    effects = effects_of(action)
    return effects <= LOOKING or is_undoable_write(action, effects)


def urls_of(arguments: Mapping[str, object]) -> tuple[str, ...]:
    """Every address among the arguments, however deep. Raises ValueError if they are too many to look at."""
    found: list[str] = []
    for count, (name, text) in enumerate(_texts("", arguments, 0)):
        if count >= _MOST:
            raise ValueError("too many arguments")
        if name == "url" or "://" in text:
            found.append(text)
    return tuple(found)


def _texts(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        raise ValueError("arguments nested too deep")
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(str(key), each, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _texts(name, each, depth + 1)
