"""`ostiary policy test` and `record`: decisions written down, and whether they still hold."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostiary.cli.policy_shared import AsJson, desk, shaped

if TYPE_CHECKING:
    from ostiary.assembly.policy_desk import PolicyAtDesk
    from ostiary.gateway.protocol.policy import Explanation

Config = Annotated[Path | None, typer.Option("--config", help="Another configuration than the one in force, such as a draft.")]

_OWN_NAMES = {"as": "who", "args": "arguments"}
_NOT_ASKED = ("expect", "layer", "on", "note")
_HEAD = """// What the rules decide, as `ostiary policy record` found it. Keep what must hold; after every change of the rules:
//   ostiary policy test {name}
"""
# Of each tool a call as people would have it; of every other one none of its arguments matter to the rules.
_CALLS: Mapping[str, Mapping[str, object]] = {
    "exec": {"command": "ls"},
    "vault_exec": {"command": "ls"},
    "read": {"path": "notes.md"},
    "write": {"path": "notes.md", "content": "x"},
    "edit": {"path": "notes.md", "old": "x", "new": "y"},
    "web_fetch": {"url": "https://example.org"},
    "web_search": {"query": "x"},
    "message": {"to": "another:person", "text": "x"},
    "browser": {"action": "open", "url": "https://example.org"},
    "process": {"action": "list"},
}


def register(policy: typer.Typer) -> None:
    policy.command("test")(compare)
    policy.command("record")(record)


def compare(
    file: Annotated[Path, typer.Argument(help="JSON5: a list of calls and what is expected of each.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Check the rules against a file of expected decisions; exit code 1 if one is different.

    With --config it checks a draft: what it would decide otherwise than the file says is named."""
    import anyio

    from ostiary.cli.output import print_json, safe

    results, warnings = anyio.run(_compare, _expectations(file), config)
    wrong = [each for each in results if not each["ok"]]
    if as_json:
        print_json({"checked": len(results), "wrong": len(wrong), "rows": results, "warnings": warnings})
    else:
        for each in wrong:
            print(safe(f"{each['place']}: expected {each['expected']}, but {each['found']}"))
        for warning in warnings:
            print(safe(f"warning: {warning}"))
        print(f"{len(results) - len(wrong)} of {len(results)} are as expected.")
    if wrong:
        raise typer.Exit(1)


def record(
    file: Annotated[Path | None, typer.Argument(help="Where to write it; a file that is there is left alone.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Write down what the rules decide today, for every tool, for you and for others, as a file for `ostiary policy test`."""
    import anyio

    from ostiary.cli.output import print_json

    rows = anyio.run(_recorded, config)
    text = _HEAD.format(name=file or "expected.json5") + "[\n" + "".join(f"  {_line(row)},\n" for row in rows) + "]\n"
    if file is not None:
        _write(file, text)
    if as_json:
        print_json(rows)
    elif file is None:
        print(text, end="")
    else:
        print(f"{len(rows)} decisions are in {file}. Keep those that must hold; `ostiary policy test {file}` checks them.")


def _write(file: Path, text: str) -> None:
    """Raises BadInput, also for a file that is there: somebody may have chosen its rows by hand."""
    from ostiary.contracts.errors import BadInput

    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise BadInput(f"{file} is there already", hint=f"Name another, or check it: ostiary policy test {file}") from None
    except OSError as error:
        raise BadInput(f"{file} cannot be written: {error.strerror}") from None


async def _recorded(config: Path | None) -> list[dict[str, Any]]:
    rules = desk(frozenset(), config)
    return [await _decided(rules, {**who, **_call(tool)}) for who in _people(rules) for tool in sorted(rules.specs())]


def _people(rules: "PolicyAtDesk") -> list[dict[str, Any]]:
    """Whom a file is about: the owner here, there and among things from outside; and each role that is not the owner's."""
    from ostiary.contracts.identity import EXTERNAL, OWNER

    config = rules.config()
    roles = [role for role in dict.fromkeys((*config.tools.roles, EXTERNAL)) if role != OWNER]
    return [
        {"as": OWNER},
        {"as": OWNER, "tainted": True, "private": True},
        *({"as": OWNER, "channel": channel} for channel in config.channels),
        *({"as": role} for role in roles),
    ]


def _call(tool: str) -> dict[str, Any]:
    return {"tool": tool, "args": dict(_CALLS[tool])} if tool in _CALLS else {"tool": tool}


async def _decided(rules: "PolicyAtDesk", row: dict[str, Any]) -> dict[str, Any]:
    found = await _explained(rules, row)
    return {**row, "expect": found.outcome, "layer": found.layer}


def _line(row: Mapping[str, Any]) -> str:
    import json

    return "{ " + ", ".join(f"{name}: {json.dumps(value)}" for name, value in row.items()) + " }"


def _expectations(file: Path) -> list[dict[str, Any]]:
    """Raises BadInput for what is not a list of expectations: a test that says nothing must not pass."""
    from ostiary.assembly.config import json5
    from ostiary.contracts.errors import BadInput

    try:
        rows = json5.parse(file.read_text(encoding="utf-8")).plain()
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no text") from None
    except OSError as error:
        hint = f"Make one: ostiary policy record {file}" if isinstance(error, FileNotFoundError) else ""
        raise BadInput(f"{file} cannot be read: {error.strerror}", hint=hint) from None
    except BadInput as error:
        raise BadInput(f"{file} is not JSON5: {error}") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise BadInput(f"{file} must hold a list of expectations", hint="[{as: 'owner', tool: 'exec', expect: 'ask'}]")
    for place, row in enumerate(rows, 1):
        if row.get("expect") not in ("allow", "ask", "deny") or "tool" not in row:
            raise BadInput(f"{file}, row {place}: needs tool and expect", hint="expect is allow, ask or deny.")
    return rows


async def _compare(rows: Iterable[dict[str, Any]], config: Path | None) -> tuple[list[dict[str, Any]], list[str]]:
    """What became of each row, and what the rules themselves are doubtful about."""
    from ostiary.contracts.errors import BadInput

    desks: dict[frozenset[str], PolicyAtDesk] = {}
    results = []
    for place, row in enumerate(rows, 1):
        on = frozenset(str(each) for each in row.get("on", ()))
        if on not in desks:
            desks[on] = desk(on, config)
        try:
            results.append(await _checked(desks[on], place, row))
        except BadInput as error:
            raise BadInput(f"row {place}: {error}", hint=error.hint) from None
    return results, list(dict.fromkeys(each for rules in desks.values() for each in rules.warnings()))


async def _checked(rules: "PolicyAtDesk", place: int, row: Mapping[str, Any]) -> dict[str, Any]:
    found = await _explained(rules, row)
    layers = [step.layer for step in found.steps]
    if "layer" in row and row["layer"] not in layers:
        from ostiary.contracts.errors import BadInput

        raise BadInput(f"there is no layer {row['layer']!r}", hint=f"Layers: {', '.join(layers)}.")
    deciding = [step.layer for step in found.steps if step.decides]
    is_right = found.outcome == row["expect"] and ("layer" not in row or row["layer"] in deciding)
    expected = f"{row['expect']} by {row['layer']}" if "layer" in row else row["expect"]
    said = f"{found.outcome} by {' and '.join(deciding)}: {found.reason}"
    where = f" on {row['channel']}" if row.get("channel") else ""
    marks = "".join(f", {name}" for name in ("tainted", "private") if row.get(name))
    name = f"row {place}, {row['tool']} for {row.get('as', 'owner')}{where}{marks}"
    return {"place": name, "ok": is_right, "expected": expected, "found": said}


async def _explained(rules: "PolicyAtDesk", row: Mapping[str, Any]) -> "Explanation":
    from ostiary.gateway.protocol.policy import ExplainPolicy

    asked = {_OWN_NAMES.get(name, name): value for name, value in row.items() if name not in _NOT_ASKED}
    return await rules.explain(shaped(asked, ExplainPolicy))
