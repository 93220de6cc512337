"""Names that the documents cannot hold side by side, by the store's own rules: twins but for case or Unicode form, and a file
where a folder is. Known before the store is asked, for one refused name would void a whole capture."""

from collections.abc import Iterable

from ostiary.adapters.store.paths import fold, folders_of


class Names:
    """The paths that live, as they grow."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        for path in paths:
            self.add(path)

    def add(self, path: str) -> None:
        folded = fold(path)
        self._files.setdefault(folded, path)
        for folder in folders_of(folded):
            self._folders.setdefault(folder, path)

    def clash(self, path: str) -> str:
        """Why it cannot live beside them, empty if it can."""
        folded = fold(path)
        twin = self._files.get(folded, path)
        if twin != path:
            only = "case" if twin.lower() == path.lower() else "Unicode form"
            return f"its name differs only in {only} from {twin}"
        if folded in self._folders:
            return f"it is the folder of {self._folders[folded]}"
        above = next((self._files[folder] for folder in folders_of(folded) if folder in self._files), "")
        return f"{above} is a file, not a folder" if above else ""
