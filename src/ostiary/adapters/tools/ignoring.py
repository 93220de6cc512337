"""What a search leaves aside unless it is named: the insides of git, and what `.gitignore` files name. Pure."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from ostiary.adapters.tools.automaton import Automaton, BadPattern, compile_glob
from ostiary.contracts.records import dataclass

NAME = ".gitignore"
GIT = ".git"
MAX_RULES = 200
MAX_GLOBS = 20
_SIGNS = frozenset("*?[{")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """One line of a .gitignore: a `plain` name or path, an `ending` of names, or a `glob`."""

    folder: str
    plain: str = ""
    ending: str = ""
    glob: Automaton | None = None
    is_anchored: bool
    folders_only: bool
    includes: bool

    def fits(self, path: str, name: str) -> bool:
        seen = path[len(self.folder) :] if self.is_anchored else name
        if self.glob is None:
            return seen.endswith(self.ending) if self.ending else seen == self.plain
        try:
            return self.glob.fullmatch(seen)
        except BadPattern:
            # One that costs too much hides nothing.
            return False


class Ignored:
    """`contents` are the texts of the .gitignore files by path. What is hidden with its folder cannot come back, as in git."""

    def __init__(self, contents: Mapping[str, str]) -> None:
        rules = [rule for path in sorted(contents) for rule in _rules(path.removesuffix(NAME), contents[path])][:MAX_RULES]
        # Stars within a name cost time for every file; the rest of so many says little.
        costly = [rule for rule in rules if rule.glob is not None][MAX_GLOBS:]
        self._rules = [rule for rule in rules if rule not in costly]
        self._folders: dict[str, bool] = {"": False}

    def __call__(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return self._hides_folder(folder) or self._hides(path, name, is_folder=False)

    def _hides_folder(self, folder: str) -> bool:
        known = self._folders.get(folder)
        if known is None:
            above, _, name = folder.rpartition("/")
            known = name == GIT or self._hides_folder(above) or self._hides(folder, name, is_folder=True)
            self._folders[folder] = known
        return known

    def _hides(self, path: str, name: str, *, is_folder: bool) -> bool:
        for rule in reversed(self._rules):
            if (is_folder or not rule.folders_only) and path.startswith(rule.folder) and rule.fits(path, name):
                return not rule.includes
        return False


def _rules(folder: str, text: str) -> list[_Rule]:
    rules = []
    for line in text.split("\n"):
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        includes, pattern = pattern.startswith("!"), pattern.removeprefix("!")
        folders_only, pattern = pattern.endswith("/"), pattern.rstrip("/")
        is_anchored, pattern = "/" in pattern, pattern.removeprefix("/")
        rule = _Rule(folder=folder, is_anchored=is_anchored, folders_only=folders_only, includes=includes)
        if not _SIGNS & set(pattern):
            rules.append(replace(rule, plain=pattern))
        elif pattern.startswith("*") and not is_anchored and pattern[1:] and not _SIGNS & set(pattern[1:]):
            rules.append(replace(rule, ending=pattern[1:]))
        else:
            with suppress(BadPattern):
                rules.append(replace(rule, glob=compile_glob(pattern)))
    return rules
