"""Documents as a directory for commands, and the directory's changes as documents."""

from ostiary.adapters.workspace.sight import WorkspaceLimits
from ostiary.adapters.workspace.slots import Scope, place_of
from ostiary.adapters.workspace.workspace import DocumentWorkspace

__all__ = ["DocumentWorkspace", "Scope", "WorkspaceLimits", "place_of"]
