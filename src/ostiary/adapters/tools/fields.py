"""Typed reading of arguments. The gateway has checked them against the schema before; a tool trusts nobody all the same."""

from collections.abc import Mapping

from ostiary.contracts.errors import ToolError


def text(arguments: Mapping[str, object], name: str, default: str | None = None) -> str:
    """Raises ToolError unless it is a string, or absent with a default."""
    value = arguments.get(name, default)
    if not isinstance(value, str):
        raise ToolError(f"{name} must be a string.")
    return value


def whole(arguments: Mapping[str, object], name: str, default: int, *, least: int, most: int) -> int:
    """Raises ToolError unless it is a whole number within the bounds."""
    value = arguments.get(name, default)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ToolError(f"{name} must be a whole number from {least} to {most}.")
    return value


def flag(arguments: Mapping[str, object], name: str) -> bool:
    """False where it is absent. Raises ToolError unless it is true or false."""
    value = arguments.get(name, False)
    if not isinstance(value, bool):
        raise ToolError(f"{name} must be true or false.")
    return value


def only(arguments: Mapping[str, object], *names: str) -> None:
    """Raises ToolError for an argument nobody asked for."""
    for name in arguments:
        if name not in names:
            raise ToolError(f"{str(name)[:60]} is not an argument (allowed: {', '.join(names) or 'none'}).")
