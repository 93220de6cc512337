"""What the configuration says about memory, as decisions need it."""

from typing import Literal

from ostiary.contracts.records import dataclass

Citations = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRules:
    """`in_groups`: memory is searched in groups, too. `sessions`: past conversations of the owner are searched.

    `citations` auto shows sources where nobody else reads along. `folders` are the prefixes of notes that come from folders
    on disk. `backup_days`: how long a backup may still hold what was forgotten."""

    citations: Citations = "auto"
    limit: int = 6
    in_groups: bool = False
    sessions: bool = False
    folders: tuple[str, ...] = ()
    backup_days: int = 30

    def cites(self, is_private_place: bool) -> bool:
        return self.citations == "on" or (self.citations == "auto" and is_private_place)
