"""Check every page: links resolve, commands parse, configuration keys exist, nothing of one machine is in it."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ostiary.contracts.events import KINDS

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("*.md", "docs/**/*.md", "changelog.d/*.md")
# Pages about other programs' files, whose keys are not ours.
FOREIGN = ("from-openclaw.md",)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:^|(?<=`))(?:\$ )?((?:[A-Z_]+=\S+ )*ostiary(?: [^`\n|#;&<>]*)?)(?=`|\n|\||#|;|&|<|>|$)", re.MULTILINE)
_SECTIONS = "agents|gateway|models|session|messages|channels|commands|auth|tools|logging|plugins|hooks|bindings"
_KEY = re.compile(rf"`((?:{_SECTIONS})\.[A-Za-z.\[\]<>*]+)`")
_MACHINE = re.compile(r"(?<![\w~.])/(?:home|root|Users|work|opt|mnt)/(?!you\b)[\w.-]+")
# Written in two parts, so that this file does not hold what it looks for.
_HOSTS = re.compile("|".join(("pypi" + r"\.org", "files\\.python" + "hosted", "registry\\.npm" + "js", "deb\\." + "debian")))


def main() -> int:
    pages = sorted({path for pattern in PAGES for path in ROOT.glob(pattern)})
    problems = [f"{page.relative_to(ROOT)}: {problem}" for page in pages for problem in check(page)]
    for problem in problems:
        print(problem)
    stale = subprocess.run([sys.executable, ROOT / "scripts" / "generate_docs.py", "--check"], check=False).returncode
    print(f"{len(pages)} pages, {len(problems)} problems")
    return 1 if problems or stale else 0


def check(page: Path) -> Iterator[str]:
    """One sentence per problem of a page."""
    text = page.read_text()
    yield from bad_links(page, text)
    yield from bad_commands(text)
    if page.name not in FOREIGN:
        yield from bad_keys(text)
    yield from (f"{found[0]} is a path of one machine" for found in _MACHINE.finditer(text))
    yield from (f"{found[0]} is a registry's host" for found in _HOSTS.finditer(text))


def bad_links(page: Path, text: str) -> Iterator[str]:
    for found in _LINK.finditer(_FENCE.sub("", text)):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists():
            yield f"the link {target} leads nowhere"
        elif anchor and place.suffix == ".md" and anchor not in anchors(place):
            yield f"the link {target} names no heading"


@cache
def anchors(page: Path) -> frozenset[str]:
    headings = _HEADING.findall(page.read_text())
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings)


def bad_commands(text: str) -> Iterator[str]:
    for found in _COMMAND.finditer(text):
        problem = misses(found[1].strip())
        if problem:
            yield f"`{found[1].strip()}` {problem}"


def misses(line: str) -> str:
    """What the command line does not know of `line`; empty if nothing."""
    try:
        words = [word for word in shlex.split(line) if not re.match(r"[A-Z_]+=", word)][1:]
    except ValueError:
        return "is not a shell command"
    node: Any = root()
    while words and hasattr(node, "commands"):
        word = words.pop(0)
        if word in ("--version", "--help", "-h"):
            return ""
        if word not in node.commands:
            return "" if _is_prose(word) else f"has no command {word!r}"
        node = node.commands[word]
    known = {name for parameter in node.params for name in parameter.opts} | {"--help", "-h"}
    unknown = [word for word in words if word.startswith("-") and word != "-" and word.partition("=")[0] not in known]
    return f"has no option {unknown[0]}" if unknown else ""


def _is_prose(word: str) -> bool:
    return word.startswith(("<", "…", "[", "."))


@cache
def root() -> Any:
    import typer

    from ostiary.cli.app import build

    return typer.main.get_command(build())


def bad_keys(text: str) -> Iterator[str]:
    for found in _KEY.finditer(text):
        name = found[1]
        if not (name.endswith((".py", ".js")) or name in KINDS or name in protocol_words() or exists(name.split("."))):
            yield f"`{name}` is no configuration key"


@cache
def protocol_words() -> frozenset[str]:
    """Methods, and what `connect` calls its secrets: they look like keys of the configuration."""
    from ostiary.gateway.methods import all_methods

    return frozenset({*all_methods(), "auth.token", "auth.password", "auth.deviceToken"})


def exists(names: Iterable[str]) -> bool:
    """Whether the generated reference has this key or a section of that name; `<name>` and `[]` stand for any."""
    wanted = ".".join(re.sub(r"<[^>]*>|\*", "<name>", name) for name in names).rstrip(".")
    known = config_keys()
    if wanted.removesuffix(".<name>") in known:
        return True
    return any(key == wanted or key.startswith((f"{wanted}.", f"{wanted}[")) for key in known)


@cache
def config_keys() -> frozenset[str]:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    return frozenset(re.sub(r"<[^>]*>", "<name>", key) for key in re.findall(r"^\| `([^`]+)`", page, re.MULTILINE))


if __name__ == "__main__":
    sys.exit(main())
