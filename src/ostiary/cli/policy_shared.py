"""What the commands about rules share: the rules as a file says them, and questions in their proper shape."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ostiary.assembly.policy_desk import PolicyAtDesk

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

_HOW = (
    "A row has tool and expect; also as, args, channel, session, provider, model, depth, attended, tainted, private, effects, on."
)


def desk(on: frozenset[str], config: Path | None = None) -> "PolicyAtDesk":
    """The rules of the configuration, or of another file, with some tools switched on. Raises OstiaryError."""
    import os

    from ostiary.assembly.policy_desk import desk_of_configuration
    from ostiary.cli.home import home
    from ostiary.contracts.errors import BadInput
    from ostiary.core.control.switches import names_of, patterns_of
    from ostiary.core.policy.rules import Runtime

    if config is not None and not config.is_file():
        raise BadInput(f"there is no file {config}", hint="--config names another configuration, such as draft.json5.")
    environ = os.environ if config is None else {**os.environ, "OSTIARY_CONFIG_PATH": str(config.absolute())}
    patterns = [names_of(each) for each in (patterns_of(sorted(on)) if on else ())]
    rules = desk_of_configuration(home(), environ, Runtime(is_on=lambda name: any(name in each for each in patterns)))
    for pattern, names in zip(sorted(on), patterns, strict=True):
        if not pattern.startswith(("mcp:", "mcp__", "skill__")) and not any(tool in names for tool in rules.specs()):
            raise BadInput(f"no tool is called {pattern[:80]}", hint="`ostiary tools list` shows those there are.")
    return rules


def shaped(asked: Mapping[str, Any], kind: Any) -> Any:
    """Raises BadInput."""
    import msgspec

    from ostiary.contracts.errors import BadInput

    try:
        return msgspec.convert(dict(asked), kind)
    except msgspec.ValidationError as error:
        raise BadInput(str(error), hint=_HOW if "unknown field" in str(error) else "") from None
