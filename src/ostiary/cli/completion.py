"""`ostiary completion`: what a shell needs to complete our commands."""

from typing import TYPE_CHECKING, Annotated, Literal

if TYPE_CHECKING:
    import typer


def register(app: "typer.Typer") -> None:
    import typer

    @app.command()
    def completion(
        shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="bash, zsh or fish.")],
    ) -> None:
        """Print the completion script of a shell.

        bash: ostiary completion bash > ~/.local/share/bash-completion/completions/ostiary
        """
        print(script(shell))


def script(shell: str) -> str:
    """The script to source. Completing asks `ostiary` itself, so it is never out of date."""
    from typer._completion_shared import get_completion_script

    from ostiary.cli.app import COMPLETE

    return get_completion_script(prog_name="ostiary", complete_var=COMPLETE, shell=shell)
