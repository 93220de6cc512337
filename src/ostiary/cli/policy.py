"""`ostiary policy` and `ostiary tools`: what the rules say of a call, and why."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from ostiary.cli import policy_file
from ostiary.cli.policy_shared import AsJson, desk, shaped

As = Annotated[str, typer.Option("--as", help="A role such as owner or external, or a person as channel:id.")]
Channel = Annotated[str, typer.Option(help="Where they speak. Empty: the person's channel, else the page.")]
Session = Annotated[str, typer.Option(help="A session key, such as agent:main:telegram:group:-100. Empty: the main one.")]
Provider = Annotated[str, typer.Option(help="Whose model it is, as provider or provider/model.")]
On = Annotated[list[str] | None, typer.Option("--on", help="Suppose that this tool is switched on; asks no gateway.")]
Offline = Annotated[bool, typer.Option("--offline", help="Go by the configuration alone, even if a gateway runs.")]

_SECONDS = 30.0
_SIGNS = {"deny": "no", "ask": "ask", "allow": "yes", "pass": "·"}

policy = typer.Typer(help="What the rules say of a tool call, and why.", no_args_is_help=True)
tools = typer.Typer(help="The tools there are.", no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(policy, name="policy")
    root.add_typer(tools, name="tools")


@policy.command()
def explain(
    tool: Annotated[str, typer.Option("--tool", help="The tool, such as exec.")],
    who: As = "owner",
    channel: Channel = "",
    session: Session = "",
    args: Annotated[str, typer.Option("--args", help="The call's arguments as JSON.")] = "{}",
    provider: Provider = "",
    tainted: Annotated[bool, typer.Option("--tainted", help="The conversation holds text from outside.")] = False,
    private: Annotated[bool, typer.Option("--private", help="The conversation holds private things.")] = False,
    depth: Annotated[int, typer.Option(min=0, max=16, help="How many sub-agents stand between.")] = 0,
    effects: Annotated[str, typer.Option(help="Of a tool that is not there, such as read,network.")] = "",
    on: On = None,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Show every layer, in order, and which one decides."""
    from ostiary.cli.output import print_json

    asked: dict[str, Any] = {
        "tool": tool,
        **_circumstances(who, channel, session, provider),
        "arguments": _object(args, "--args"),
        "tainted": tainted,
        "private": private,
        "depth": depth,
    }
    if effects:
        asked["effects"] = [each.strip() for each in effects.split(",")]
    found, is_live = _answer("policy.explain", asked, on, offline)
    if as_json:
        print_json({**found, "live": is_live})
    else:
        print(_chain(found, is_live))


policy_file.register(policy)


@tools.command("list")
def list_(
    who: As = "owner",
    channel: Channel = "",
    session: Session = "",
    provider: Provider = "",
    on: On = None,
    offline: Offline = False,
    as_json: AsJson = False,
) -> None:
    """Every tool: what it does, and whether the model sees it, needs your yes, or has none of it."""
    from ostiary.cli.output import print_json, safe, table

    found, is_live = _answer("tools.list", _circumstances(who, channel, session, provider), on, offline)
    if as_json:
        print_json({**found, "live": is_live})
        return
    rows = [
        (safe(each["name"]), each["standing"], ", ".join(each["effects"]), safe(f"{each['layer']}: {each['reason']}")[:90])
        for each in found["tools"]
    ]
    print(table(rows, ("TOOL", "STANDING", "EFFECTS", "WHY")))


def _circumstances(who: str, channel: str, session: str, provider: str) -> dict[str, Any]:
    name, _, model = provider.partition("/")
    return {"who": who, "channel": channel, "session": session, "provider": name, "model": model}


def _answer(method: str, asked: Mapping[str, Any], on: list[str] | None, offline: bool) -> tuple[dict[str, Any], bool]:
    """The payload, and whether a running gateway gave it. Raises OstiaryError."""
    import anyio

    from ostiary.cli import background
    from ostiary.cli.home import home
    from ostiary.cli.up import first_of
    from ostiary.contracts.errors import OstiaryError

    running = None if offline or on else background.running(home())
    try:
        if running is None:
            return anyio.run(_by_file, method, asked, frozenset(on or ())), False
        return anyio.run(_by_gateway, running.url, running.token, method, asked), True
    except* OstiaryError as errors:
        raise first_of(errors) from None


async def _by_gateway(url: str, token: str, method: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    import os

    from ostiary.assembly.access import own_tls
    from ostiary.cli.home import home
    from ostiary.client import connect

    async with connect(url, token=token, tls=own_tls(home(), os.environ, url)) as gateway:
        return dict(await gateway.call(method, dict(asked), seconds=_SECONDS))


async def _by_file(method: str, asked: Mapping[str, Any], on: frozenset[str]) -> dict[str, Any]:
    import msgspec

    from ostiary.gateway.protocol.policy import ExplainPolicy, ListTools

    rules = desk(on)
    if method == "tools.list":
        answer: Any = await rules.tools(shaped(asked, ListTools))
    else:
        answer = await rules.explain(shaped(asked, ExplainPolicy))
    plain: dict[str, Any] = msgspec.to_builtins(answer)
    return plain


def _chain(found: Mapping[str, Any], is_live: bool) -> str:
    from ostiary.cli.output import safe

    head = {"allow": "allowed", "ask": "asked about", "deny": "denied"}[found["outcome"]]
    shown = "" if found["visible"] else " The model is not shown this tool."
    effects = ", ".join(found["effects"]) or "nothing on this side"
    lines = [
        safe(f"{found['tool']} for {found['who']} ({found['role']}) on {found['channel']}, {found['session']}: {head}.{shown}"),
        f"It can: {effects}.",
        "",
    ]
    width = max((len(each["layer"]) for each in found["steps"]), default=0)
    for each in found["steps"]:
        mark = "→" if each["decides"] else " "
        lines.append(f"{mark} {each['layer']:<{width}}  {_SIGNS[each['outcome']]:<3}  {safe(each['reason'])}".rstrip())
    if found["change"]:
        lines += ["", f"What would change it: {found['change']}."]
    lines += [safe(f"Note: {note}{'' if note.endswith('?') else '.'}") for note in found["notes"]]
    if not is_live:
        lines += ["", "By the configuration alone: no switch is on but those named by --on."]
    return "\n".join(lines)


def _object(text: str, where: str) -> dict[str, Any]:
    from ostiary.assembly.config import json5
    from ostiary.contracts.errors import BadInput

    try:
        value = json5.parse(text).plain()
    except BadInput as error:
        raise BadInput(f"{where} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadInput(f"{where} must be an object", hint="""For example: --args '{"command": "ls"}'""")
    return value
