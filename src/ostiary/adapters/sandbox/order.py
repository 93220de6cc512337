"""One command as the parts of the bubblewrap backend pass it on."""

from ostiary.adapters.sandbox.environment import Environment
from ostiary.contracts.records import dataclass
from ostiary.contracts.sandbox import Command, SandboxProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """`environment` is all that the command will see. `interactive` leaves its input open."""

    command: Command
    profile: SandboxProfile
    environment: Environment
    interactive: bool
