"""What the `models` commands share: the catalogue as configured, the edits of model settings, and how things are printed."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from ostiary.contracts.errors import BadInput

if TYPE_CHECKING:
    from ostiary.adapters.models.profiles import Profile
    from ostiary.assembly.config.load import Loaded
    from ostiary.assembly.models import Models
    from ostiary.contracts.model import ModelRef

MODEL = ("agents", "defaults", "model")
IMAGE_MODEL = ("agents", "defaults", "imageModel")
ALLOWED = ("agents", "defaults", "models")

PROFILE_STATE = "profiles.state"

_SOON = 24 * 3600.0


def home() -> Path:
    from ostiary.assembly.config.paths import state_directory

    return state_directory(os.environ)


def load_models() -> "tuple[Loaded, Models]":
    """The configuration and the models of it, as the gateway would build them. Calls nobody."""
    from ostiary.adapters.egress import Egress
    from ostiary.assembly.config.load import load
    from ostiary.assembly.config.secret import environment
    from ostiary.assembly.credential_key import open_credentials
    from ostiary.assembly.embedded import LazyEmbedded
    from ostiary.assembly.machine import SystemClock
    from ostiary.assembly.models import Sources, build_models

    loaded = load(home(), os.environ)
    credentials = open_credentials(home())
    sources = Sources(
        environ=environment(loaded.config.env, os.environ, credentials),
        credentials=credentials,
        egress=Egress(),
        embedded=LazyEmbedded(os.environ),
        clock=SystemClock(),
        state=home() / PROFILE_STATE,
    )
    return loaded, build_models(loaded.config, sources)


def fallbacks() -> list[str]:
    """As the file has them."""
    from ostiary.assembly.config.load import load

    return list(load(home(), os.environ).config.agents.defaults.model.fallbacks)


def set_model(path: tuple[str, ...], key: Literal["primary", "fallbacks"], value: object) -> None:
    """Set one half of a model setting; a setting written as a bare text becomes an object first."""
    from ostiary.assembly.config import edit, json5
    from ostiary.assembly.config.change import change

    def edited(text: str) -> str:
        node = edit.find(json5.parse(text), path)
        bare = node.plain() if node is not None else None
        if isinstance(bare, str):
            text = edit.set_value(text, path, {"primary": bare})
        return edit.set_value(text, (*path, key), value)

    change(home(), os.environ, edited)


def written_ref(loaded: "Loaded", models: "Models", ref: "ModelRef") -> str:
    """The key under which the file already speaks of `ref`, else its canonical name."""
    for text in loaded.config.agents.defaults.models:
        try:
            if models.catalogue.known(text) == ref:
                return text
        except BadInput:
            continue
    return str(ref)


def tags(models: "Models", agent: str) -> "Mapping[ModelRef, list[str]]":
    """What a model is used for."""
    choice = models.catalogue.choose(agent)
    found: dict[ModelRef, list[str]] = {choice.primary: ["primary"]}
    for number, ref in enumerate(choice.fallbacks, 1):
        found.setdefault(ref, []).append(f"fallback {number}")
    seeing = models.catalogue.choose(agent, with_images=True).primary
    if seeing != choice.primary:
        found.setdefault(seeing, []).append("images")
    for alias, ref in models.catalogue.aliases.items():
        found.setdefault(ref, []).append(f"alias {alias}")
    return found


def ends(profile: "Profile") -> Literal["", "expiring", "expired"]:
    """Whether a token has ended, or does within a day."""
    if profile.expires is None:
        return ""
    left = profile.expires - time.time()
    return "expired" if left <= 0 else "expiring" if left < _SOON else ""


def profile_row(models: "Models", profile: "Profile") -> dict[str, Any]:
    [candidate] = models.profiles.candidates(profile.provider, pinned=profile.id)
    resting = f"resting for {round(candidate.wait / 60) or 1} min ({candidate.reason})" if candidate.wait else ""
    return {
        "id": profile.id,
        "provider": profile.provider,
        "kind": profile.kind,
        "expires": profile.expires,
        "state": ends(profile) or resting or "ready",
    }


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Aligned, without borders, so that it can also be cut up by other programs."""
    from rich.console import Console
    from rich.table import Table

    if not rows:
        typer.echo("none")
        return
    table = Table(*head, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    # A pipe has no width to fit into: nothing may be cut there.
    console = Console(width=None if sys.stdout.isatty() else 10_000)
    console.print(table, markup=False)


def print_status(report: Mapping[str, Any]) -> None:
    typer.echo(f"primary    {report['primary']}")
    for number, name in enumerate(report["fallbacks"], 1):
        typer.echo(f"fallback {number} {name}")
    typer.echo(f"images     {report['images'] or 'nobody can see them'}")
    for alias, name in sorted(report["aliases"].items()):
        typer.echo(f"alias      {alias} = {name}")
    for row in report["profiles"]:
        typer.echo(f"key        {row['id']} ({row['kind']}): {row['state']}")
    if report["primary"].startswith("embedded/") and not report["embeddedWeights"]:
        typer.echo("weights    not fetched yet: ostiary models pull")
    for problem in report["problems"]:
        typer.echo(f"problem    {problem}")
    for name in report["expiring"]:
        typer.echo(f"problem    {name} ends within a day")
