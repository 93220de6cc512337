"""`ostiary vault browse`: the vault in the terminal. Collections and files on the left, what they hold on the right."""

import sys
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import ContentSwitcher, DataTable, Footer, Input, Static, Tree
from textual.widgets.tree import TreeNode

from ostiary.cli.moments import shown
from ostiary.cli.output import safe
from ostiary.cli.vault_access import Access, RestoreWish
from ostiary.cli.vault_versions import compare
from ostiary.contracts.errors import BadInput, OstiaryError
from ostiary.contracts.search import Passage
from ostiary.contracts.store import DocumentVersion

_MOST_SHOWN = 200_000
_RESULTS = 20
_STYLES = """
#tree { width: 32; max-width: 40%; border-right: solid $primary; scrollbar-size-vertical: 1; }
#where { height: 2; padding: 0 1; color: $accent; }
#find { border: none; height: 1; padding: 0 1; background: $surface; }
#find:focus { border: none; }
Horizontal, ContentSwitcher, #text, #versions, #results { height: 1fr; }
#text { padding: 0 1; scrollbar-size-vertical: 1; }
Confirm { align: center middle; }
Confirm > Static { width: 60; max-width: 90%; height: auto; padding: 1 2; border: thick $warning; background: $surface; }
"""


def browse(collection: str) -> None:
    """Until the person leaves. Raises OstiaryError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("browse needs a terminal", hint="From a program use `ostiary vault ls --json` and `vault get`.")
    from ostiary.cli import vault_access

    vault_access.run(lambda access: Browser(access, collection).run_async())


class Confirm(ModalScreen[bool]):
    """A question that only `y` answers with yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n,escape,enter,q", "answer(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        yield Static(f"{self._question}\n\ny: yes    n: no", markup=False)

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class Browser(App[None]):
    """`place` is the document that is looked at. Everything that others wrote is shown as plain text."""

    TITLE = "Ostiary vault"
    CSS = _STYLES
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "search"),
        Binding("v", "versions", "versions"),
        Binding("d", "diff", "diff"),
        Binding("r", "restore", "restore"),
        Binding("escape", "leave", "back"),
        Binding("q", "quit", "leave"),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, access: Access, collection: str = "") -> None:
        super().__init__()
        self._access = access
        self._first = collection
        self._folders: dict[tuple[str, str], list[tuple[str, bool]]] = {}
        self._history: tuple[DocumentVersion, ...] = ()
        self._passages: tuple[Passage, ...] = ()
        self.place: tuple[str, str] | None = None

    def compose(self) -> ComposeResult:
        with Horizontal():
            tree: Tree[tuple[str, str, bool]] = Tree("vault", id="tree")
            tree.show_root = False
            yield tree
            with Vertical():
                yield Input(placeholder="/ searches", id="find")
                yield Static(id="where", markup=False)
                with ContentSwitcher(initial="text"):
                    with VerticalScroll(id="text"):
                        yield Static(id="content", markup=False)
                    yield DataTable(id="versions", cursor_type="row")
                    yield DataTable(id="results", cursor_type="row")
        yield Footer()

    async def on_mount(self) -> None:
        self.query_one("#versions", DataTable).add_columns("VERSION", "AT", "BYTES", "BY", "TRUST")
        self.query_one("#results", DataTable).add_columns("SCORE", "WHERE", "TEXT")
        tree = self._tree
        for use in await self._access.collections():
            node = tree.root.add(f"{safe(use.collection)} ({use.documents:,})", data=(use.collection, "", False))
            if use.collection == self._first:
                node.expand()
        tree.focus()
        if not tree.root.children:
            self._say("The vault is empty.")
            return
        self._say("Choose a document. / searches, q leaves.")

    @property
    def _tree(self) -> Tree[tuple[str, str, bool]]:
        tree: Tree[tuple[str, str, bool]] = self.query_one("#tree", Tree)
        return tree

    @property
    def view(self) -> str:
        """text, versions or results."""
        return str(self.query_one(ContentSwitcher).current)

    async def on_tree_node_expanded(self, event: Tree.NodeExpanded[tuple[str, str, bool]]) -> None:
        node = event.node
        if node.data is not None and not node.data[2] and not node.children:
            await self._try(self._fill(node, *node.data[:2]))

    async def on_tree_node_selected(self, event: Tree.NodeSelected[tuple[str, str, bool]]) -> None:
        if event.node.data is not None and event.node.data[2]:
            collection, path, _ = event.node.data
            await self._try(self.open(collection, path))

    async def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        number = event.cursor_row
        if event.data_table.id == "versions" and self.place is not None:
            await self._try(self.open(*self.place, version=self._at(number).version))
        elif event.data_table.id == "results" and number < len(self._passages):
            passage = self._passages[number]
            await self._try(self.open(passage.collection, passage.path, line=passage.start))

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            await self._try(self._search(event.value))

    def action_find(self) -> None:
        self.query_one("#find", Input).focus()

    def action_leave(self) -> None:
        """From what was found or compared to the text, from the text to the tree."""
        if self.view != "text" and self.place is not None:
            self._show("text")
        self._tree.focus()

    async def action_versions(self) -> None:
        if self.place is not None:
            await self._try(self._versions())

    async def action_diff(self) -> None:
        if self.place is not None:
            await self._try(self._diff())

    @work(exclusive=True)
    async def action_restore(self) -> None:
        """The version under the cursor, or that before the newest, after a yes."""
        if self.place is None:
            return
        collection, path = self.place
        await self._try(self._restore(collection, path))

    async def open(self, collection: str, path: str, *, version: int | None = None, line: int = 1) -> None:
        """Show a document. Raises OstiaryError."""
        found = await self._access.get(collection, path, version=version)
        if found is None:
            raise BadInput(f"{path} is not there any more")
        about, content = found
        self.place = (collection, path)
        whose = "" if about.label is None else f", {about.label.trust}"
        self._say(f"{collection}:{path}  version {about.version}, {about.size:,} bytes, {shown(about.at)}, {about.author}{whose}")
        self.query_one("#content", Static).update(_readable(content))
        self._show("text")
        self.query_one("#text", VerticalScroll).scroll_to(y=max(0, line - 1), animate=False)

    async def _fill(self, node: "TreeNode[tuple[str, str, bool]]", collection: str, under: str) -> None:
        if not under:
            self._folders.update(_folders(collection, await self._access.list(collection)))
        for name, is_file in self._folders.get((collection, under), ()):
            data = (collection, f"{under}{name}" if is_file else f"{under}{name}/", is_file)
            if is_file:
                node.add_leaf(safe(name), data=data)
            else:
                node.add(f"{safe(name)}/", data=data)

    async def _versions(self) -> None:
        assert self.place is not None
        self._history = await self._access.history(*self.place)
        table = self.query_one("#versions", DataTable)
        table.clear()
        for each in reversed(self._history):
            size = "erased" if each.erased else f"{each.size:,}" if each.digest else "deleted"
            trust = "" if each.label is None else str(each.label.trust)
            table.add_row(str(each.version), shown(each.at), size, safe(each.author), trust)
        self._say(f"{self.place[0]}:{self.place[1]}  Enter shows a version, d what it changed, r restores it")
        self._show("versions")
        table.focus()

    async def _diff(self) -> None:
        assert self.place is not None
        collection, path = self.place
        newer = self._at(self.query_one("#versions", DataTable).cursor_row).version if self.view == "versions" else None
        older, newer, text = await compare(self._access, collection, path, None, newer)
        self._say(f"{collection}:{path}  version {older} → {newer}")
        self.query_one("#content", Static).update(safe(text) or "They do not differ.")
        self._show("text")
        self.query_one("#text", VerticalScroll).scroll_home(animate=False)

    async def _restore(self, collection: str, path: str) -> None:
        if self.view != "versions":
            await self._versions()
            return
        wanted = self._at(self.query_one("#versions", DataTable).cursor_row).version
        if not await self.push_screen_wait(Confirm(safe(f"Make version {wanted} of {path} the newest again?"))):
            return
        await self._access.restore(RestoreWish(collection=collection, path=path, version=wanted))
        await self.open(collection, path)

    async def _search(self, text: str) -> None:
        found = await self._access.search(text, collections=None, limit=_RESULTS)
        self._passages = found.passages
        table = self.query_one("#results", DataTable)
        table.clear()
        for each in found.passages:
            first = next((line for line in each.snippet.splitlines() if line.strip()), "")
            table.add_row(f"{each.score:.2f}", safe(f"{each.collection}:{each.path}:{each.start}"), safe(first)[:200])
        notices = "  ".join(found.notices)
        self._say(f"{len(found.passages)} found  {notices}".rstrip())
        self._show("results")
        table.focus()

    def _at(self, row: int) -> DocumentVersion:
        return self._history[len(self._history) - 1 - row]

    def _show(self, view: str) -> None:
        self.query_one(ContentSwitcher).current = view

    def _say(self, text: str) -> None:
        self.query_one("#where", Static).update(safe(text).replace("\n", " "))

    async def _try(self, doing: Awaitable[Any]) -> None:
        try:
            await doing
        except OstiaryError as error:
            self._say(f"{error} {error.hint}".strip())
            self.bell()


def _folders(collection: str, rows: Sequence[DocumentVersion]) -> Mapping[tuple[str, str], list[tuple[str, bool]]]:
    """What lies in each folder: names, and whether they are files; folders first."""
    found: dict[tuple[str, str], dict[str, bool]] = {(collection, ""): {}}
    for row in rows:
        *folders, name = row.path.split("/")
        under = ""
        for folder in folders:
            found.setdefault((collection, under), {}).setdefault(folder, False)
            under += f"{folder}/"
        found.setdefault((collection, under), {})[name] = True
    return {key: sorted(names.items(), key=lambda each: (each[1], each[0])) for key, names in found.items()}


def _readable(content: bytes) -> str:
    try:
        text = content[:_MOST_SHOWN].decode("utf-8", "strict" if len(content) <= _MOST_SHOWN else "ignore")
    except UnicodeDecodeError:
        return f"No text: {len(content):,} bytes."
    if "\0" in text:
        return f"No text: {len(content):,} bytes."
    more = len(content) - _MOST_SHOWN
    return safe(text) + (f"\n… {more:,} more bytes; `ostiary vault get` shows them." if more > 0 else "")
