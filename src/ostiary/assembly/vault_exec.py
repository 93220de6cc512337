"""Commands that the owner runs over the vault's interface: in the fence, on a copy of the workspace, with the changes kept."""

from collections.abc import Callable

import anyio

from ostiary.contracts.clock import Clock, Ids
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput, Busy, NotAllowed, OstiaryError
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Command, Exit, Mount, Sandbox, SandboxLimits, SandboxProfile
from ostiary.contracts.store import Audit, Store
from ostiary.contracts.workspace import LiveWorkspace, Use
from ostiary.gateway.vault_api import Ran

COLLECTION = "_workspace"
SESSION = SessionKey("main", "vault:exec")
_PLACE = "/workspace"
_OUTPUT = 256 * 1024
_WATCH_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceExec:
    """`gateway.vault_api.Exec`. `proxy_socket` leads out by the rules of egress; empty if nothing does. While `may_run` says
    no nothing begins, and what runs is stopped."""

    workspace: LiveWorkspace
    sandbox: Callable[[SessionKey], Sandbox]
    proxy_socket: Callable[[], str]
    store: Store
    clock: Clock
    ids: Ids
    may_run: Callable[[], bool] = lambda: True

    async def run(self, collection: str, command: str, *, seconds: float, network: bool, by: Principal) -> Ran:
        """Raises NotAllowed, BadInput, SandboxUnavailable, ToolError, Busy (also when the house is stopped), StoreError."""
        if not by.is_owner:
            raise NotAllowed("Only the owner runs commands here.")
        if not self.may_run():
            raise Busy("The house is stopped, so no command runs.", hint="Wake it first.")
        if collection != COLLECTION or "\x00" in command:
            raise BadInput(f"Commands run on the collection {COLLECTION} alone, and hold no NUL.")
        turn, label = self.ids.new("exec"), Label(trust=Trust.OWNER, sources=(str(by.user),))
        use = Use(author=str(by.user), turn=turn, at=self.clock.now(), label=label)
        await self._note(turn, by, "begun")
        async with self.workspace.lease(SESSION, access="rw", use=use) as lease:
            profile = SandboxProfile(
                mounts=(Mount(source=lease.directory, target=_PLACE, writable=True),),
                workdir=_PLACE,
                network="proxy" if network else "none",
                proxy_socket=self.proxy_socket() if network else "",
                limits=SandboxLimits(seconds=seconds, output_bytes=_OUTPUT),
            )
            ended = await self._run(Command(argv=("/bin/sh", "-c", command)), profile)
            capture = await self.workspace.keep(lease, at=self.clock.now(), is_over=True)
        await self._note(turn, by, "timed out" if ended.timed_out else "ended")
        return Ran(
            code=ended.code,
            output=ended.output.decode("utf-8", "replace"),
            changes=capture.changes,
            refused=(*capture.refused, *capture.kept_aside),
            timed_out=ended.timed_out,
        )

    async def _run(self, command: Command, profile: SandboxProfile) -> Exit:
        ended: Exit | None = None
        failure: OstiaryError | None = None
        async with anyio.create_task_group() as group:

            async def stop_with_the_house() -> None:
                while self.may_run():
                    await self.clock.sleep(_WATCH_SECONDS)
                group.cancel_scope.cancel()

            group.start_soon(stop_with_the_house)
            try:
                ended = await self.sandbox(SESSION).run(command, profile)
            except OstiaryError as error:
                # Raised here it would come out in a group.
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if ended is None:
            raise Busy("The house was stopped, and the command with it.")
        return ended

    async def _note(self, turn: str, by: Principal, outcome: str) -> None:
        audit = Audit(at=self.clock.now(), kind="vault.exec", actor=str(by.user), subject=turn, outcome=outcome)
        await self.store.commit([audit])
