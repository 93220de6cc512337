"""The built-in tools. They come in by the door plugins use; assembly fills in what they stand on."""

from collections.abc import Callable
from datetime import tzinfo

from ostiary.adapters.tools.files import RESULT_BYTES, Files, Settled, at_once, nowhere
from ostiary.adapters.tools.grep import Grep
from ostiary.adapters.tools.listing import Find, Ls
from ostiary.adapters.tools.read import Read
from ostiary.adapters.tools.status import SessionStatus, View
from ostiary.contracts.clock import Clock
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.store import Documents


def register_files(
    host: PluginHost,
    *,
    documents: Documents,
    folder_of: Callable[[str], str],
    max_bytes: int = RESULT_BYTES,
    is_private: Callable[[SessionKey], bool] = nowhere,
    settled: Settled = at_once,
) -> None:
    """read, ls, find and grep over an agent's own documents; MEMORY.md only in sessions that `is_private` vouches for.
    `settled` waits for the session's commands."""
    files = Files(documents, folder_of, is_private, settled=settled)
    for make in (Read, Ls, Find, Grep):
        host.add_tool(make(files, max_bytes=max_bytes))


def register_status(host: PluginHost, *, clock: Clock, zone: tzinfo, view: View, shows_session: bool = True) -> None:
    """session_status."""
    host.add_tool(SessionStatus(clock=clock, zone=zone, view=view, shows_session=shows_session))
