"""Write the generated pages of docs/reference: commands, configuration, protocol. `--check` only compares."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CLI_PAGE = ROOT / "docs" / "reference" / "cli.md"
CONFIG_PAGE = ROOT / "docs" / "reference" / "configuration.md"
PROTOCOL_PAGE = ROOT / "docs" / "reference" / "protocol.md"
PROTOCOL_SCHEMA = ROOT / "docs" / "reference" / "protocol.schema.json"
_HEAD = """# Command line reference

Every command of `ostiary`. This page is generated from the program (`make docs`); a test keeps it current.

The state directory is `~/.ostiary`, or what `OSTIARY_HOME` names. Exit codes: 0 done, 1 it did not work (one sentence on standard
error says why and what to do), 2 the command line was wrong, 3 `status` found nothing running. `--debug` before the command, or
`OSTIARY_DEBUG=1`, adds tracebacks.
"""


def cli_page() -> str:
    """The page as the program has it now."""
    import typer

    from ostiary.cli.app import build

    root = typer.main.get_command(build())
    return "\n".join([_HEAD, *_commands(root, "ostiary")]).rstrip() + "\n"


def _commands(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        full = f"{path} {name}"
        if hasattr(command, "commands"):
            yield f"## `{full}`\n\n{_help(command)}\n"
            yield from _commands(command, full)
        else:
            yield f"{'##' if path == 'ostiary' else '###'} `{_usage(command, full)}`\n\n{_help(command)}\n"
            yield from _parameters(command)


def _usage(command: Any, full: str) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = [f"<{p.name}>" if p.required else f"[{p.name}]" for p in arguments]
    return " ".join([full, *words])


def _help(command: Any) -> str:
    lines = [line.strip() for line in (command.help or "").strip().splitlines()]
    return "\n".join(lines)


def _parameters(command: Any) -> Iterator[str]:
    rows = []
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        names = ", ".join(f"`{each}`" for each in parameter.opts) if is_option else f"`<{parameter.name}>`"
        default = parameter.default
        shown = f" Default: {default}." if is_option and default not in (None, "", False, ...) and not callable(default) else ""
        rows.append(f"| {names} | {(parameter.help or '').strip()}{shown} |")
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def config_page() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ostiary.assembly.config.reference_page"], check=True, capture_output=True, text=True, cwd=ROOT
    )
    return done.stdout


def main() -> int:
    from ostiary.gateway.methods.reference import page, schema_text

    made = {CLI_PAGE: cli_page(), CONFIG_PAGE: config_page(), PROTOCOL_PAGE: page(), PROTOCOL_SCHEMA: schema_text()}
    stale = []
    for path, text in made.items():
        if path.exists() and path.read_text() == text:
            continue
        stale.append(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in stale:
        print(f"{path} {'is out of date: run make docs' if '--check' in sys.argv else 'written'}")
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
