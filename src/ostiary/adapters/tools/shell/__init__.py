"""Running commands: the tools exec and process. They stand on a sandbox and a workspace that assembly gives them."""

from collections.abc import Callable

from ostiary.adapters.tools.files import Files, nowhere
from ostiary.adapters.tools.shell.exec import Exec, ExecRules
from ostiary.adapters.tools.shell.process import ProcessTool
from ostiary.adapters.tools.shell.processes import Processes, Run
from ostiary.contracts.clock import Clock
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.plugin import PluginHost
from ostiary.contracts.sandbox import Sandbox
from ostiary.contracts.store import Documents

__all__ = ["Exec", "ExecRules", "ProcessTool", "Processes", "Run", "register_shell"]


def register_shell(
    host: PluginHost,
    *,
    processes: Processes,
    sandbox: Callable[[SessionKey], Sandbox],
    rules: Callable[[SessionKey], ExecRules],
    documents: Documents,
    folder_of: Callable[[str], str],
    clock: Clock,
    is_private: Callable[[SessionKey], bool] = nowhere,
) -> None:
    """exec and process. `processes.running()` must be entered while they are used."""
    files = Files(documents, folder_of, is_private, settled=processes.settled)
    host.add_tool(Exec(files=files, processes=processes, sandbox=sandbox, rules=rules))
    host.add_tool(ProcessTool(processes=processes, rules=rules, clock=clock))
