"""Memory as the model's tools use it: each call answered within what its person may see and keep."""

from ostiary.contracts.store import DocumentVersion
from ostiary.contracts.tool import ToolContext, ToolResult
from ostiary.core.memory.paths import AREAS, Area
from ostiary.core.memory.recall import Recall
from ostiary.core.memory.writing import Wish, Writing, told


class MemoryHands:
    """Stands under the memory tools. Raises BadInput for what the model should read as an error, and StoreError."""

    def __init__(self, recall: Recall, writing: Writing) -> None:
        self._recall = recall
        self._writing = writing

    async def recall(self, query: str, limit: int, context: ToolContext) -> ToolResult:
        found = await self._recall.find(query, context.principal, context.session, limit=limit)
        hits = [
            {"path": each.path, "start": each.start, "end": each.end, "score": round(each.score, 3), "why": list(each.why)}
            for each in found.passages
        ]
        return ToolResult(text=found.text, details={"hits": hits}, label=found.label)

    async def open(self, path: str, context: ToolContext) -> tuple[DocumentVersion, bytes] | None:
        return await self._recall.open(path, context.principal, context.session)

    async def keep(self, text: str, area: str, title: str, context: ToolContext) -> ToolResult:
        wanted: Area | None = next((each for each in AREAS if each == area), None)
        wish = Wish(
            text=text,
            title=title,
            area=wanted or "",
            principal=context.principal,
            label=context.label,
            agent=context.session.agent,
            turn=context.turn,
        )
        kept = await self._writing.plan(wish)
        details = {"path": kept.path, "line": kept.line, "area": kept.area, "outcome": kept.outcome}
        return ToolResult(text=told(kept), details=details, writes=kept.writes)
