"""exec: a shell command in the sandbox, on the files of the workspace."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace

import anyio

from ostiary.adapters.tools import fields
from ostiary.adapters.tools.files import MOUNT, Files, clean_path
from ostiary.adapters.tools.shell.binding import digest_of, named
from ostiary.adapters.tools.shell.output import clean
from ostiary.adapters.tools.shell.processes import Order, Processes, Run, news_of
from ostiary.adapters.tools.shell.results import finished, so_far
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import ToolError
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Command, Mount, Network, Sandbox, SandboxLimits, SandboxProfile
from ostiary.contracts.tool import Effect, ToolContext, ToolResult, ToolSpec
from ostiary.contracts.workspace import Access, WorkspaceLease

AGENT = "/agent"
MOST_SECONDS = 3600
MAX_COMMAND = 20_000
_EARLY = 0.2
_REPORT_EVERY = 0.5
_REPORTED = 2_000
_LATE = 30.0
_BEGIN = 90.0
_IN_FOLDER = 'cd -- "$0" && exec /bin/sh -c "$1"'
# A program that is offered input waits for it, and many look for some when nobody thought of any.
_NO_INPUT = "exec </dev/null; "
_FROM_NETWORK = Label(trust=Trust.UNTRUSTED, sources=("network",))

SPEC = ToolSpec(
    schema=ToolSchema(
        name="exec",
        description="Run a shell command in the sandbox on the workspace files; what it changes is kept.",
        parameters={
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "cwd": {"type": "string"},
                "timeout": {"type": "integer", "description": "seconds"},
                "background": {"type": "boolean"},
                "pty": {"type": "boolean"},
                "network": {"type": "boolean"},
            },
            "required": ["command"],
            "additionalProperties": False,
        },
    ),
    effects=frozenset({Effect.EXECUTE}),
    untrusted_output=False,
    seconds=MOST_SECONDS + 120.0,
)


def nowhere_to(role: str) -> str:
    """No network until somebody who knows the rules says where it is."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecRules:
    """How commands of a session run. A command that takes longer than `seconds` (unless it asks for more) is ended; one that
    takes longer than `background_seconds` (0: never) goes on in the background. `way_out` gives, by role, the socket of the
    proxy that keeps its rules; empty: there is no network."""

    access: Access = "none"
    seconds: float = 30.0
    background_seconds: float = 10.0
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    way_out: Callable[[str], str] = nowhere_to
    result_bytes: int = 8192


class Exec:
    """`sandbox` and `rules` are asked for every call, so they follow the configuration. What a command prints comes from its
    text and from the files that lie there: the result carries the label of both, and is untrusted if it had a network."""

    spec = SPEC

    def __init__(
        self,
        *,
        files: Files,
        processes: Processes,
        sandbox: Callable[[SessionKey], Sandbox],
        rules: Callable[[SessionKey], ExecRules],
    ) -> None:
        self._files = files
        self._processes = processes
        self._sandbox = sandbox
        self._rules = rules

    async def call(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        rules = self._rules(context.session)
        wants = _read(arguments, rules, context.principal.role)
        label = context.label.join(_FROM_NETWORK) if wants.network == "proxy" else context.label
        sandbox = self._sandbox(context.session)
        order = Order(
            session=context.session,
            author=str(context.principal.user),
            turn=context.turn,
            text=wants.command,
            command=Command(argv=wants.argv, pty=wants.pty),
            sandbox=sandbox,
            access=rules.access,
            profile=lambda lease: profile_for(lease, rules, wants.proxy_socket, wants.seconds),
            label=label,
            has_network=wants.network == "proxy",
        )
        run = self._processes.start(order)
        try:
            await self._watch(run, wants, context)
        except BaseException:
            # Nobody waits any more, so nothing may go on.
            await self._processes.drop(run)
            raise
        if run.failure is not None:
            raise run.failure
        if not run.done.is_set():
            return so_far(run, self._processes, context, room=rules.result_bytes)
        return await finished(run, self._processes, context, room=rules.result_bytes)

    async def _watch(self, run: Run, wants: "_Wants", context: ToolContext) -> None:
        """Until it is done or may go on in the background; whoever watches sees what it prints."""
        with anyio.move_on_after(_BEGIN):
            await run.started.wait()
        if not run.started.is_set():
            raise ToolError("The workspace was not ready in time; try again.")
        patience = _EARLY if wants.is_background else wants.patience
        offset = 0
        with anyio.move_on_after(patience or wants.seconds + _LATE):
            while not run.done.is_set():
                with anyio.move_on_after(_REPORT_EVERY):
                    await run.done.wait()
                if run.process is not None and not run.done.is_set():
                    data, offset = news_of(run.process, offset)
                    if data:
                        context.report(clean(data[-_REPORTED:]))
        if run.done.is_set():
            return
        if not patience:
            raise ToolError("The command did not end when its time was over.")
        self._processes.go_on(run)

    async def bind(self, arguments: Mapping[str, object], context: ToolContext) -> Mapping[str, str]:
        """cwd, environment, fence, and the files that the command's words name, as they are now."""
        rules = self._rules(context.session)
        wants = _read(arguments, rules, context.principal.role)
        if wants.network == "proxy" and self._processes.is_at_work(context.session):
            # What lies there when it is allowed need not be what lies there when it begins.
            raise ToolError(
                "Another command of this conversation is at work on the files and could change what this one would run with the"
                " network.",
                hint="End it with the process tool first, or run this one without the network.",
            )
        files = await self._files.all(context) if rules.access != "none" else []
        fence = {
            "sandbox": self._sandbox(context.session).name,
            "access": rules.access,
            "network": wants.network,
            "limits": repr(rules.limits),
        }
        return {
            "cwd": f"{MOUNT}/{wants.cwd}".rstrip("/"),
            "env": digest_of({}),
            "fence": digest_of(fence),
            **named(wants.command, wants.cwd, files, mount=MOUNT),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wants:
    """One call's arguments. `patience` is how long to wait for it before it goes on in the background, 0 for ever."""

    command: str
    cwd: str
    seconds: float
    patience: float
    is_background: bool
    pty: bool
    proxy_socket: str

    @property
    def network(self) -> Network:
        return "proxy" if self.proxy_socket else "none"

    @property
    def argv(self) -> tuple[str, ...]:
        """Only what was started to be talked to has an input."""
        before = "" if self.pty or self.is_background else _NO_INPUT
        if self.cwd:
            return ("/bin/sh", "-c", before + _IN_FOLDER, f"{MOUNT}/{self.cwd}", self.command)
        return ("/bin/sh", "-c", before + self.command)


def _read(arguments: Mapping[str, object], rules: ExecRules, role: str) -> _Wants:
    """Raises ToolError."""
    fields.only(arguments, "command", "cwd", "timeout", "background", "pty", "network")
    command = fields.text(arguments, "command")
    if not command.strip() or len(command) > MAX_COMMAND or "\x00" in command:
        raise ToolError(f"command must be 1 to {MAX_COMMAND:,} characters without NUL.")
    try:
        command.encode()
    except UnicodeEncodeError:
        raise ToolError("command holds half a character (a lone surrogate).") from None
    wants_network = fields.flag(arguments, "network")
    proxy_socket = rules.way_out(role) if wants_network else ""
    if wants_network and not proxy_socket:
        raise ToolError("Commands have no network here.")
    seconds = fields.whole(arguments, "timeout", int(min(rules.seconds, MOST_SECONDS)) or 1, least=1, most=MOST_SECONDS)
    patience = rules.background_seconds if rules.background_seconds < seconds else 0.0
    return _Wants(
        command=command,
        cwd=clean_path(fields.text(arguments, "cwd", "")),
        seconds=float(seconds),
        patience=patience,
        is_background=fields.flag(arguments, "background"),
        pty=fields.flag(arguments, "pty"),
        proxy_socket=proxy_socket,
    )


def profile_for(lease: WorkspaceLease, rules: ExecRules, proxy_socket: str, seconds: float) -> SandboxProfile:
    """/workspace is the lease's directory, writable; with access "ro" the documents are at /agent, read-only."""
    mounts = [Mount(source=lease.directory, target=MOUNT, writable=True)]
    if lease.agent_directory:
        mounts.append(Mount(source=lease.agent_directory, target=AGENT))
    return SandboxProfile(
        mounts=tuple(mounts),
        workdir=MOUNT,
        network="proxy" if proxy_socket else "none",
        proxy_socket=proxy_socket,
        limits=replace(rules.limits, seconds=seconds),
    )
