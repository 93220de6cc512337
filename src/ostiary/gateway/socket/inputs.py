"""What people said, as a chat screen shows it: their words, and every file that came with them."""

import re
from collections.abc import Iterable, Sequence

from ostiary.contracts.content import Image, Text, UserMessage, UserPart
from ostiary.contracts.events import TurnInput
from ostiary.contracts.messages import Attachment
from ostiary.core.routing.queue import note_of
from ostiary.gateway.protocol.chat import File, Input

# What `note_of` writes. A name may hold commas and brackets; what follows it cannot.
_NOTE = re.compile(r"\[attached: (.*), ([\w.+-]+/[\w.+-]+), ([0-9]{1,15}) bytes\]", re.DOTALL)


def inputs_of(inputs: Iterable[TurnInput]) -> list[Input]:
    return [_known(each.parts, each.attachments) if each.attachments else _guessed(each.parts) for each in inputs]


def input_of_message(message: UserMessage) -> Input:
    """Of history that was brought along: it holds what the model read, so a file's bytes may be out of reach."""
    return _guessed(message.parts)


def _known(parts: Sequence[UserPart], attachments: Sequence[Attachment]) -> Input:
    notes = [note_of(attachment) for attachment in attachments]
    words = [part.text for part in parts if isinstance(part, Text) and part.text not in notes]
    files = [File(name=each.name, media_type=each.media_type, digest=each.digest, size=each.size) for each in attachments]
    return Input(text="\n".join(words), attachments=files)


def _guessed(parts: Sequence[UserPart]) -> Input:
    words: list[str] = []
    files: list[File] = []
    for part in parts:
        if isinstance(part, Image):
            files.append(File(name="", media_type=part.media_type, digest=part.digest, size=0))
        elif (noted := _NOTE.fullmatch(part.text)) is not None:
            files.append(File(name=noted[1], media_type=noted[2], digest="", size=int(noted[3])))
        else:
            words.append(part.text)
    return Input(text="\n".join(words), attachments=files)
