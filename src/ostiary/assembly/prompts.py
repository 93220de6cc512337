"""Loads the words the model reads: core opens no files."""

from collections.abc import Mapping
from functools import cache
from pkgutil import get_data

from ostiary.contracts.errors import BadInput
from ostiary.core.agent.bootstrap import TEMPLATES
from ostiary.core.agent.prompt import PROMPT_FILES, parse_prompts


@cache
def load_prompts() -> Mapping[str, str]:
    """The prompt's sections, ready for PromptInputs. Raises BadInput if the installation lacks one."""
    return parse_prompts({name: _read(name) for name in PROMPT_FILES})


@cache
def load_words(name: str) -> str:
    """Another text that the model reads: `compaction`, `flush`. Raises BadInput if the installation lacks it."""
    return _read(f"{name}.md").strip()


@cache
def load_templates() -> Mapping[str, str]:
    """The files a new workspace begins with, by name."""
    return {name: _read(f"bootstrap/{name}") for name in TEMPLATES}


def _read(name: str) -> str:
    try:
        content = get_data("ostiary.core.agent", f"prompts/{name}")
    except OSError:
        content = None
    if content is None:
        raise BadInput(f"the prompt file {name} is missing from the installation", hint="Install Ostiary again.")
    return content.decode()
