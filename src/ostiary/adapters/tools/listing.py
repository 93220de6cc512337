"""ls and find: what is in the workspace."""

from collections.abc import Mapping

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.automaton import BadPattern, compile_glob
from ostiary.adapters.tools.files import RESULT_BYTES, File, Files, clean_path, fitting, label_of
from ostiary.adapters.tools.ignoring import GIT
from ostiary.contracts.errors import ToolError
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec

_MARKER_ROOM = 120

LS = ToolSpec(
    schema=ToolSchema(
        name="ls",
        description="List a workspace folder: names, sizes in bytes; folders end in /.",
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string", "description": "default: the top"}},
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)
FIND = ToolSpec(
    schema=ToolSchema(
        name="find",
        description="Find workspace files by glob; without / it matches names in every folder.",
        parameters={
            "type": "object",
            "properties": {"glob": {"type": "string"}},
            "required": ["glob"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.READ}),
    repeatable=True,
    untrusted_output=False,
)


class Ls:
    spec = LS

    def __init__(self, files: Files, *, max_bytes: int = RESULT_BYTES) -> None:
        self._files = files
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "path")
        path = clean_path(fields.text(arguments, "path", ""))
        prefix = f"{path}/" if path else ""
        files = await self._files.all(context)
        inside = [file for file in files if file.path.startswith(prefix)]
        if path and not inside:
            is_file = any(file.path == path for file in files)
            raise ToolError(f"{path} is a file; use read." if is_file else f"There is no folder {path[:200]}.")
        entries: dict[str, str] = {}
        for file in inside:
            name, slash, _ = file.path[len(prefix) :].partition("/")
            entries[name + slash] = name + slash if slash else f"{name} {file.version.size}"
        return _shown(list(entries.values()), inside, "entries", "list a folder in it", self._max_bytes)


class Find:
    spec = FIND

    def __init__(self, files: Files, *, max_bytes: int = RESULT_BYTES) -> None:
        self._files = files
        self._max_bytes = max_bytes

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        fields.only(arguments, "glob")
        glob = fields.text(arguments, "glob")
        matches = fitting_paths(glob)
        # What git keeps for itself is listed only to whoever asks for it.
        shows_git = GIT in glob.split("/")
        try:
            found = [file for file in await self._files.all(context) if matches(file.path)]
            hits = [file for file in found if shows_git or GIT not in file.path.split("/")]
        except BadPattern as error:
            raise ToolError(f"Bad glob: {error}.") from None
        return _shown([file.path for file in hits], hits, "files", "use a narrower glob", self._max_bytes)


def fitting_paths(glob: str) -> "Matches":
    """A test of paths by a glob. Raises ToolError for one that cannot be read."""
    cleaned = clean_path(glob)
    if not cleaned:
        raise ToolError("The glob is empty.")
    try:
        return Matches(cleaned)
    except BadPattern as error:
        raise ToolError(f"Bad glob: {error}.") from None


class Matches:
    """A glob without a slash is matched against the name alone, in every folder."""

    __slots__ = ("_automaton", "_by_name")

    def __init__(self, glob: str) -> None:
        self._automaton = compile_glob(glob)
        self._by_name = "/" not in glob

    def __call__(self, path: str) -> bool:
        return self._automaton.fullmatch(path.rpartition("/")[2] if self._by_name else path)


def _shown(lines: list[str], files: list[File], unit: str, advice: str, max_bytes: int) -> ToolResult:
    details: dict[str, object] = {unit: len(lines)}
    label = label_of(*(file.version for file in files))
    if not lines:
        return ToolResult(text="[nothing]", details=details, label=label)
    count = fitting(lines, max_bytes)
    if count < len(lines):
        count = fitting(lines, max_bytes - _MARKER_ROOM)
        lines = [*lines[:count], f"[{count} of {len(lines)} {unit}; {advice}]"]
    return ToolResult(text="\n".join(lines), details=details, label=label)
