"""The tools that need nothing but the house's own store and index, under the names its posture knows them by."""

from collections.abc import Callable

from ostiary import __version__
from ostiary.adapters.tools import register_files, register_status
from ostiary.adapters.tools.memory import register_memory
from ostiary.adapters.tools.vault import register_vault
from ostiary.assembly.hands import Ground, Hands
from ostiary.assembly.prompting import is_private_place
from ostiary.assembly.vault import Vault
from ostiary.core.agent.bootstrap import folder_of
from ostiary.core.memory.memory import Memory
from ostiary.core.policy.secrets import Guard
from ostiary.core.routing.builtin_commands import add_builtin_commands
from ostiary.core.routing.supervisor import Supervisor

VAULT_TOOL = "vault_"
VAULT_NAMES = ("read", "write", "edit", "exec")


def register_builtins(ground: Ground, engine: Supervisor, hands: Hands, standing: Callable[[], str]) -> None:
    host, newest = ground.host, ground.newest
    config = newest.live.current.config
    register_files(
        host,
        documents=ground.store.documents,
        folder_of=folder_of,
        max_bytes=config.tools.result_max_bytes,
        is_private=is_private_place,
        settled=hands.settled,
    )
    register_status(host, clock=ground.clock, zone=newest.rules.zone, view=engine.view, shows_session=config.posture != "team")
    add_builtin_commands(host.add_command, version=__version__, house=standing)


def register_remembering(ground: Ground, vault: Vault, memory: Memory, guard: Guard) -> None:
    """Memory's tools, and the vault's. In the posture vault the file tools have names of their own, so that no list meant for
    the usual ones opens them."""
    host, config = ground.host, ground.newest.live.current.config
    is_vault, most = config.posture == "vault", config.tools.result_max_bytes
    if config.memory.enabled and config.plugins.slots.get("memory") != "none":
        register_memory(host, memory=memory.hands, prefix=VAULT_TOOL if is_vault else "", max_bytes=most)
    if not is_vault:
        return
    for name in VAULT_NAMES:
        host.rename_tool(name, VAULT_TOOL + name)
    register_vault(
        host,
        documents=vault.store.documents,
        search=vault.search,
        folder_of=folder_of,
        protected=guard.protected_path,
        max_bytes=most,
    )
