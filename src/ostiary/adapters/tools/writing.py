"""The tools that change files: they come in by the door plugins use."""

from collections.abc import Callable

from ostiary.adapters.tools.edit import Edit
from ostiary.adapters.tools.files import Files, Settled, at_once, nowhere, unprotected
from ostiary.adapters.tools.patch import ApplyPatch
from ostiary.adapters.tools.write import Write
from ostiary.contracts.clock import Clock
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.store import Documents


def register_writing(
    host: PluginHost,
    *,
    documents: Documents,
    folder_of: Callable[[str], str],
    clock: Clock,
    is_private: Callable[[SessionKey], bool] = nowhere,
    protected: Callable[[str], str] = unprotected,
    settled: Settled = at_once,
) -> None:
    """write, edit and apply_patch; `protected` gives the reason why a path may not be written, empty if it may. `settled`
    waits for the session's commands."""
    files = Files(documents, folder_of, is_private, protected, settled)
    for make in (Write, Edit, ApplyPatch):
        host.add_tool(make(files, clock))
