"""`ostiary models`: which models there are, which answer, with whose key, and fetching the embedded one."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostiary.cli import models_shared as shared
from ostiary.cli.config import plainly
from ostiary.contracts.errors import BadInput

if TYPE_CHECKING:
    from ostiary.adapters.models.wires.wire import ListedModel
    from ostiary.assembly.models import Models

app = typer.Typer(help="Choose models, their fallbacks and keys.")
aliases_app = typer.Typer(help="Short names for models.", no_args_is_help=True)
fallbacks_app = typer.Typer(help="Models to ask when the primary does not answer.", no_args_is_help=True)
auth_app = typer.Typer(help="Keys for providers.", no_args_is_help=True)
app.add_typer(aliases_app, name="aliases")
app.add_typer(fallbacks_app, name="fallbacks")
app.add_typer(auth_app, name="auth")

AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Agent = Annotated[str, typer.Option("--agent", help="The agent whose models are meant.")]


def register(root: typer.Typer) -> None:
    """Add `models` to the command line."""
    root.add_typer(app, name="models")


@app.callback(invoke_without_command=True)
def models(context: typer.Context) -> None:
    """Choose models, their fallbacks and keys. Alone it is `models status`."""
    if context.invoked_subcommand is None:
        status()


@app.command("list")
@plainly
def list_(
    everything: Annotated[bool, typer.Option("--all", help="Also models without a key.")] = False,
    provider: Annotated[str, typer.Option("--provider", help="Only this provider's.")] = "",
    live: Annotated[bool, typer.Option("--live", help="Ask the provider itself what it offers now.")] = False,
    agent: Agent = "main",
    as_json: AsJson = False,
) -> None:
    """Print the models that can be chosen, numbered as /models numbers them."""
    from ostiary.adapters.models.providers import canonical

    _, built = shared.load_models()
    if live:
        _print_live(built, canonical(provider), as_json)
        return
    choices = built.catalogue.choices(agent)
    numbers = {facts.ref: number for number, facts in enumerate(choices, 1)}
    listed = list(choices)
    if everything:
        listed += [facts for facts in built.catalogue.everything() if facts.ref not in numbers]
    if provider:
        listed = [facts for facts in listed if facts.ref.provider == canonical(provider)]
    tags = shared.tags(built, agent)
    rows: list[dict[str, Any]] = [
        {
            "number": numbers.get(facts.ref),
            "model": str(facts.ref),
            "name": facts.name,
            "contextWindow": facts.context_window,
            "maxTokens": facts.max_tokens,
            "images": facts.sees_images,
            "thinking": facts.reasons,
            "key": built.catalogue.can_call(facts.ref.provider),
            "tags": tags.get(facts.ref, []),
        }
        for facts in listed
    ]
    if as_json:
        shared.print_json(rows)
        return
    cells = [
        (
            row["number"] or "",
            row["model"],
            f"{row['contextWindow']:,}",
            "yes" if row["images"] else "",
            "yes" if row["thinking"] else "",
            "yes" if row["key"] else "no",
            ", ".join(row["tags"]),
        )
        for row in rows
    ]
    shared.print_table(("#", "model", "context", "images", "thinking", "key", ""), cells)


@app.command()
@plainly
def status(
    check: Annotated[bool, typer.Option("--check", help="Exit 1 if a key is missing, 2 if one ends within a day.")] = False,
    agent: Agent = "main",
    as_json: AsJson = False,
) -> None:
    """Print which models answer, with whose key, and what is wrong."""
    from ostiary.adapters.models.embedded.weights import find_weights, weights_directory

    _, built = shared.load_models()
    catalogue = built.catalogue
    choice = catalogue.choose(agent)
    seeing = catalogue.choose(agent, with_images=True).primary
    used = dict.fromkeys(ref.provider for ref in (choice.primary, *choice.fallbacks, seeing))
    missing = [provider for provider in used if not catalogue.can_call(provider)]
    profiles = [profile for provider in catalogue.providers for profile in built.profiles.of(provider)]
    ends = {profile.id: shared.ends(profile) for profile in profiles}
    report: dict[str, Any] = {
        "primary": str(choice.primary),
        "fallbacks": [str(ref) for ref in choice.fallbacks],
        "images": str(seeing) if catalogue.facts(seeing).sees_images else None,
        "aliases": {alias: str(ref) for alias, ref in catalogue.aliases.items()},
        "profiles": [shared.profile_row(built, profile) for profile in profiles],
        "missing": missing,
        "expired": [name for name, end in ends.items() if end == "expired"],
        "expiring": [name for name, end in ends.items() if end == "expiring"],
        "problems": list(catalogue.problems([agent])),
        "embeddedWeights": find_weights(weights_directory()) is not None,
    }
    if as_json:
        shared.print_json(report)
    else:
        shared.print_status(report)
    if check:
        raise typer.Exit(1 if report["missing"] or report["expired"] else 2 if report["expiring"] else 0)


@app.command("set")
@plainly
def set_(
    model: Annotated[str, typer.Argument(help="provider/model, an alias or a rough name.")],
    image: Annotated[bool, typer.Option("--image", help="Set the model for images instead.")] = False,
) -> None:
    """Make a model the one that answers."""
    _, built = shared.load_models()
    ref = built.catalogue.find("main", model)
    shared.set_model(shared.IMAGE_MODEL if image else shared.MODEL, "primary", str(ref))
    typer.echo(f"{ref} answers {'when there are images and the primary cannot see' if image else 'from now on'}.")
    if not built.catalogue.can_call(ref.provider):
        typer.echo(f"There is no key for {ref.provider} yet: ostiary models auth add {ref.provider}", err=True)


@app.command()
@plainly
def pull(
    model: Annotated[str, typer.Argument(help="The embedded model.")] = "",
    directory: Annotated[Path | None, typer.Option("--to", help="Where; otherwise the machine's cache.")] = None,
) -> None:
    """Fetch the weights of the embedded model; an interrupted download goes on where it was."""
    import anyio

    from ostiary.adapters.models.embedded import catalogue, weights

    wanted = catalogue.find(model.removeprefix("embedded/")) if model else catalogue.QWEN
    target = directory or weights.weights_directory()
    if sys.stderr.isatty():
        path = _pull_with_bar(target, wanted)
    else:
        path = anyio.run(lambda: weights.pull(target, lambda what, done, size: None, wanted))
    typer.echo(str(path))


def _pull_with_bar(target: Path, wanted: Any) -> Path:
    import anyio
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from ostiary.adapters.models.embedded import weights

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("connecting", total=wanted.size)
        return anyio.run(
            lambda: weights.pull(
                target,
                lambda what, done, size: progress.update(task, description=what, completed=done, total=size),
                wanted,
            )
        )


@aliases_app.command("list")
@plainly
def aliases_list(as_json: AsJson = False) -> None:
    """Print the aliases."""
    _, built = shared.load_models()
    aliases = {alias: str(ref) for alias, ref in built.catalogue.aliases.items()}
    if as_json:
        shared.print_json(aliases)
        return
    shared.print_table(("alias", "model"), sorted(aliases.items()))


@aliases_app.command("add")
@plainly
def aliases_add(
    alias: Annotated[str, typer.Argument(help="The short name.")], model: Annotated[str, typer.Argument(help="provider/model.")]
) -> None:
    """Give a model a short name. A model with an alias is on the allowlist, and the allowlist is all that may be chosen."""
    from ostiary.assembly.config.change import set_key

    loaded, built = shared.load_models()
    if not alias.strip() or "/" in alias or alias.strip().isdecimal():
        raise BadInput(f"{alias!r} cannot be an alias", hint="Use a word without a slash.")
    ref = built.catalogue.find("main", model)
    taken = built.catalogue.aliases.get(alias.lower())
    if taken is not None and taken != ref:
        raise BadInput(f"{alias} already means {taken}", hint=f"Run: ostiary models aliases remove {alias}")
    first = not built.catalogue.allowed
    set_key(shared.home(), os.environ, (*shared.ALLOWED, shared.written_ref(loaded, built, ref), "alias"), alias.strip())
    typer.echo(f"{alias} means {ref}.")
    if first:
        typer.echo("People may now switch only to models in agents.defaults.models and the agents' own.", err=True)


@aliases_app.command("remove")
@plainly
def aliases_remove(alias: Annotated[str, typer.Argument(help="The short name.")]) -> None:
    """Take a short name away; the model stays on the allowlist."""
    from ostiary.assembly.config.change import unset_key

    loaded, built = shared.load_models()
    ref = built.catalogue.aliases.get(alias.lower())
    if ref is None:
        raise BadInput(f"there is no alias {alias}", hint="See: ostiary models aliases list")
    unset_key(shared.home(), os.environ, (*shared.ALLOWED, shared.written_ref(loaded, built, ref), "alias"))
    typer.echo(f"Removed {alias}. {ref} may still be chosen by its name.")


@fallbacks_app.command("list")
@plainly
def fallbacks_list(as_json: AsJson = False) -> None:
    """Print the fallbacks in their order."""
    names = shared.fallbacks()
    if as_json:
        shared.print_json(names)
        return
    shared.print_table(("#", "model"), list(enumerate(names, 1)))


@fallbacks_app.command("add")
@plainly
def fallbacks_add(model: Annotated[str, typer.Argument(help="provider/model, an alias or a rough name.")]) -> None:
    """Ask this model too, after the others."""
    _, built = shared.load_models()
    ref = built.catalogue.find("main", model)
    names = shared.fallbacks()
    if str(ref) in names:
        raise BadInput(f"{ref} is a fallback already", hint="See: ostiary models fallbacks list")
    shared.set_model(shared.MODEL, "fallbacks", [*names, str(ref)])
    typer.echo(f"{ref} is asked {'after ' + names[-1] if names else 'when the primary does not answer'}.")
    if not built.catalogue.can_call(ref.provider):
        typer.echo(f"There is no key for {ref.provider} yet: ostiary models auth add {ref.provider}", err=True)


@fallbacks_app.command("remove")
@plainly
def fallbacks_remove(model: Annotated[str, typer.Argument(help="As it is listed.")]) -> None:
    """Ask this model no more."""
    names = shared.fallbacks()
    if model not in names:
        raise BadInput(f"{model} is not a fallback", hint="See: ostiary models fallbacks list")
    shared.set_model(shared.MODEL, "fallbacks", [name for name in names if name != model])
    typer.echo(f"Removed {model}.")


@fallbacks_app.command("clear")
@plainly
def fallbacks_clear() -> None:
    """Ask nobody but the primary."""
    shared.set_model(shared.MODEL, "fallbacks", [])
    typer.echo("There are no fallbacks now.")


@auth_app.command("list")
@plainly
def auth_list(as_json: AsJson = False) -> None:
    """Print the profiles, never their secrets."""
    _, built = shared.load_models()
    rows = [
        shared.profile_row(built, profile) for provider in built.catalogue.providers for profile in built.profiles.of(provider)
    ]
    if as_json:
        shared.print_json(rows)
        return
    shared.print_table(("profile", "provider", "kind", "state"), [(r["id"], r["provider"], r["kind"], r["state"]) for r in rows])


@auth_app.command("add")
@plainly
def auth_add(
    provider: Annotated[str, typer.Argument(help="The provider, such as anthropic.")],
    name: Annotated[str, typer.Option("--name", help="To tell several keys of one provider apart.")] = "default",
    kind: Annotated[str, typer.Option("--kind", help="api_key, token or oauth.")] = "api_key",
    days: Annotated[float, typer.Option("--expires-in-days", help="When it ends. 0: never.", min=0)] = 0.0,
) -> None:
    """Store a key, read from a prompt or from standard input, never from the command line."""
    from ostiary.adapters.credentials import Credential, Secret
    from ostiary.adapters.models.names import nearest
    from ostiary.adapters.models.providers import canonical
    from ostiary.assembly.credential_key import open_credentials

    _, built = shared.load_models()
    canonical_name = canonical(provider)
    if canonical_name not in built.catalogue.providers:
        close = nearest(canonical_name, built.catalogue.providers)
        raise BadInput(f"there is no provider {provider}", hint=f"Did you mean {' or '.join(close)}?" if close else "")
    hidden = sys.stdin.isatty()
    value = typer.prompt(f"Key for {canonical_name}", hide_input=True) if hidden else sys.stdin.readline()
    profile = f"{canonical_name}:{name}"
    expires = time.time() + days * 86400 if days else 0.0
    open_credentials(shared.home()).set(
        Credential(name=profile, kind=kind, provider=canonical_name, value=Secret(value.strip()), expires=expires)  # type: ignore[arg-type]
    )
    _, after = shared.load_models()
    typer.echo(f"Stored {profile}. {after.catalogue.choose('main').primary} answers. A running gateway needs a restart.")


@auth_app.command("remove")
@plainly
def auth_remove(profile: Annotated[str, typer.Argument(help="As auth list prints it, such as anthropic:default.")]) -> None:
    """Delete a stored key."""
    from ostiary.assembly.credential_key import open_credentials

    if not open_credentials(shared.home()).delete(profile):
        raise BadInput(f"there is no stored key {profile}", hint="Keys from the environment or the file are removed there.")
    typer.echo(f"Removed {profile}.")


def _print_live(built: "Models", provider: str, as_json: bool) -> None:
    import anyio

    if not provider:
        raise BadInput("--live needs a provider", hint="For example: ostiary models list --live --provider ollama")
    found = anyio.run(_ask_provider, built, provider)
    rows = [{"model": f"{provider}/{each.id}", "name": each.name, "contextWindow": each.context_window} for each in found]
    if as_json:
        shared.print_json(rows)
        return
    shared.print_table(("model", "context"), [(row["model"], row["contextWindow"] or "") for row in rows])


async def _ask_provider(built: "Models", provider: str) -> "tuple[ListedModel, ...]":
    from ostiary.adapters.egress import Egress
    from ostiary.adapters.models.providers import fill_address
    from ostiary.adapters.models.wires import make_wire
    from ostiary.contracts.errors import ModelUnauthorized
    from ostiary.contracts.model import ModelRef

    endpoint = built.catalogue.endpoint(ModelRef(provider, ""))
    candidates = built.profiles.candidates(provider)
    if not candidates and not built.catalogue.keyless(provider):
        raise ModelUnauthorized(f"There is no key for {provider}", hint=f"Run: ostiary models auth add {provider}")
    secret = candidates[0].profile.secret() if candidates else ""
    async with Egress() as egress:
        address = fill_address(endpoint.base_url, os.environ)
        wire = make_wire(endpoint.api, address, endpoint.headers, egress, built.catalogue.facts)
        return await wire.list_models(secret)
