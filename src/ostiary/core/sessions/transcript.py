"""A conversation as a JSONL file: one header line, then one line per event, in stable names that can be read back.

Reading takes our own files and OpenClaw's. A file comes from anywhere: sizes are bounded, what cannot be read is left
out and noted, and nothing in it can raise the trust of its contents above what the importer grants.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from ostiary.contracts.content import Label, Message
from ostiary.contracts.errors import BadInput
from ostiary.contracts.events import KIND_OF, KINDS, VERSIONS, Erased, Event, Imported, Recorded
from ostiary.contracts.identity import SessionKey
from ostiary.contracts.records import dataclass
from ostiary.contracts.store import SessionRecord
from ostiary.core.sessions.openclaw import FOREIGN_HEADER, read_openclaw
from ostiary.core.sessions.plain import from_plain, to_plain
from ostiary.core.sessions.relabel import relabelled
from ostiary.core.sessions.repair import repair

HEADER = "ostiary.session"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a file may hold, counted before it is parsed."""

    line_characters: int = 16_000_000
    characters: int = 512_000_000
    lines: int = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What a file held. Ours gives `events`, a foreign one `messages`; `blobs` are the images of the latter by digest."""

    source: str
    record: SessionRecord | None = None
    events: tuple[Recorded, ...] = ()
    messages: tuple[Message, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def write_transcript(record: SessionRecord, events: Iterable[Recorded], *, at: float) -> Iterator[str]:
    """Lines without their newline. `at` is the time of the export."""
    header = {"type": HEADER, "version": VERSION, "exported_at": at, "session": str(record.key), "record": to_plain(record)}
    yield _line(header)
    for recorded in events:
        yield _line(
            {
                "type": "event",
                "seq": recorded.seq,
                "turn": recorded.turn,
                "at": recorded.at,
                "kind": _kind(recorded.event),
                "version": VERSIONS.get(_kind(recorded.event), 1),
                "event": to_plain(recorded.event),
            }
        )


def read_transcript(lines: Iterable[str], *, label: Label, limits: Limits | None = None) -> Transcript:
    """Raises BadInput if it is no transcript, is from a newer version, or is too large. Everything else is noted.

    `label` says how far the importer vouches for the contents; labels in the file can only lower that.
    """
    objects, notes = _objects(lines, limits or Limits())
    header = next(objects, {})
    if header.get("type") == FOREIGN_HEADER:
        found = read_openclaw(header, objects, label=label)
        return Transcript(
            source="openclaw",
            messages=found.messages,
            settings=found.settings,
            title=found.title,
            blobs=found.blobs,
            notes=(*notes, *found.notes),
        )
    if header.get("type") != HEADER:
        raise BadInput(
            "this is not a transcript: it does not begin with a session line", hint="Use a file made by ostiary sessions export."
        )
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise BadInput(f"the transcript is of version {version!r}; this program reads up to {VERSION}", hint="Update Ostiary.")
    record: SessionRecord = from_plain(SessionRecord, header.get("record"))
    SessionKey.parse(str(record.key))
    events = tuple(_events(objects, str(record.key), label, notes))
    return Transcript(source="ostiary", record=record, events=events, title=record.title, notes=tuple(notes))


def imported(messages: Iterable[Message], *, source: str, notes: Iterable[str] = ()) -> Imported:
    """The event that begins a session with history from elsewhere: mended, with everything that was noted on the way."""
    mended = repair(tuple(messages))
    return Imported(messages=mended.messages, source=source, notes=(*notes, *mended.notes))


def _kind(event: Event) -> str:
    return "erased" if isinstance(event, Erased) else KIND_OF[type(event)]


def _line(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _objects(lines: Iterable[str], limits: Limits) -> tuple[Iterator[dict[str, object]], list[str]]:
    notes: list[str] = []
    return _read_lines(lines, limits, notes), notes


def _read_lines(lines: Iterable[str], limits: Limits, notes: list[str]) -> Iterator[dict[str, object]]:
    """One object per line. A line that is none is left out; if it is the last, it was cut while it was written."""
    broken: list[int] = []
    total = number = 0
    for number, line in enumerate(lines, start=1):
        total += len(line)
        if len(line) > limits.line_characters or total > limits.characters or number > limits.lines:
            most = f"{limits.lines:,} lines and {limits.characters:,} characters, {limits.line_characters:,} a line"
            raise BadInput(f"the transcript is too large at line {number}", hint=f"At most {most} are read.")
        text = line.strip().removeprefix("\ufeff")
        if not text:
            continue
        value = _object(text)
        if value is None:
            broken.append(number)
        else:
            yield value
    for place in broken[:20]:
        was_cut = place == number
        notes.append(f"left out line {place}: " + ("it was cut short" if was_cut else "it is not a JSON object"))
    if len(broken) > 20:
        notes.append(f"left out {len(broken) - 20} more lines that are not JSON objects")


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    # Half a character can be written as an escape, but nothing of ours could store it.
    return _whole(value) if "\\ud" in text.lower() else value


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(each) for key, each in value.items()}
    return value


def _events(objects: Iterable[dict[str, object]], session: str, label: Label, notes: list[str]) -> Iterator[Recorded]:
    last = 0
    for value in objects:
        if value.get("type") != "event":
            continue
        try:
            recorded = _recorded(value, session, last)
        except BadInput as error:
            notes.append(f"left out event {str(value.get('seq'))[:20]}: {error}")
            continue
        last = recorded.seq
        yield replace(recorded, event=relabelled(recorded.event, label))


def _recorded(value: Mapping[str, object], session: str, last: int) -> Recorded:
    seq: int = from_plain(int, value.get("seq"))
    if seq <= last:
        raise BadInput("it comes a second time or too late")
    return Recorded(
        session=session,
        seq=seq,
        turn=from_plain(str, value.get("turn")),
        at=from_plain(float, value.get("at")),
        event=_event(value),
    )


def _event(value: Mapping[str, object]) -> Event:
    kind, version = value.get("kind"), value.get("version")
    wanted = Erased if kind == "erased" else KINDS.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        raise BadInput("its kind is unknown")
    if not isinstance(version, int) or version > VERSIONS.get(str(kind), 1):
        raise BadInput("it is of a newer version")
    event: Event = from_plain(wanted, value.get("event"))
    return event
