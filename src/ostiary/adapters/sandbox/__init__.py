"""Fenced execution: the backends of the Sandbox port, and the choice between them."""

import sys
from pathlib import Path
from typing import Protocol

from ostiary.contracts.errors import ConfigInvalid
from ostiary.contracts.sandbox import Sandbox

BACKENDS = ("auto", "bubblewrap", "docker", "podman", "seatbelt", "host")


class OwnedSandbox(Sandbox, Protocol):
    """What `choose_sandbox` gives; whoever chose it ends it (`async with aclosing(...)`)."""

    async def aclose(self) -> None:
        """End everything it keeps, every running command included."""
        ...


def choose_sandbox(backend: str, *, state: Path, image: str = "", i_accept_no_fence: bool = False) -> OwnedSandbox:
    """The backend of that name; `auto` is the one built into the system. Nothing is looked for yet: `probe` does that.

    `state` is a directory of ours alone. Raises ConfigInvalid for a name nobody knows, SandboxUnavailable for `host` without
    `i_accept_no_fence`."""
    name = backend if backend != "auto" else ("seatbelt" if sys.platform == "darwin" else "bubblewrap")
    if name == "bubblewrap":
        from ostiary.adapters.sandbox.bubblewrap import Bubblewrap

        return Bubblewrap(state=state)
    if name in ("docker", "podman"):
        from ostiary.adapters.sandbox.container import IMAGE, Container

        return Container(state=state, engine=name, image=image or IMAGE)
    if name == "seatbelt":
        from ostiary.adapters.sandbox.seatbelt import Seatbelt

        return Seatbelt(state=state)
    if name == "host":
        from ostiary.adapters.sandbox.host import Host

        return Host(i_accept_no_fence=i_accept_no_fence)
    raise ConfigInvalid(f"There is no sandbox backend {backend!r}.", hint=f"One of: {', '.join(BACKENDS)}.")
