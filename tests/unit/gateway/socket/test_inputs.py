from ostiary.contracts.content import Image, Label, Text, Trust, UserMessage
from ostiary.contracts.events import TurnInput
from ostiary.contracts.messages import Attachment
from ostiary.core.routing.queue import note_of
from ostiary.gateway.socket.inputs import input_of_message, inputs_of

LABEL = Label(trust=Trust.OWNER)
PICTURE = Attachment(name="cat.png", media_type="image/png", digest="a" * 64, size=3)
PAPER = Attachment(name="tax, [2025].pdf", media_type="application/pdf", digest="b" * 64, size=9)
PARTS = (
    Text(text="Look:", label=LABEL),
    Image(digest=PICTURE.digest, media_type=PICTURE.media_type, label=LABEL),
    Text(text=note_of(PAPER), label=LABEL),
)


def given(*attachments: Attachment) -> TurnInput:
    return TurnInput(item=1, parts=PARTS, at=0.0, attachments=attachments)


def test_every_file_is_shown_with_its_name_and_size_and_its_note_is_no_word_of_the_sender() -> None:
    (shown,) = inputs_of([given(PICTURE, PAPER)])
    assert shown.text == "Look:"
    assert [(each.name, each.media_type, each.digest, each.size) for each in shown.attachments] == [
        ("cat.png", "image/png", "a" * 64, 3),
        ("tax, [2025].pdf", "application/pdf", "b" * 64, 9),
    ]


def test_a_message_of_an_older_release_still_shows_what_its_parts_tell_of_files() -> None:
    (shown,) = inputs_of([given()])
    assert shown.text == "Look:"
    assert [(each.name, each.digest, each.size) for each in shown.attachments] == [
        ("", "a" * 64, 0),
        ("tax, [2025].pdf", "", 9),
    ]


def test_words_that_only_speak_of_an_attachment_stay_words() -> None:
    words = "I wrote [attached: a.pdf, application/pdf, 9 bytes] myself"
    shown = input_of_message(UserMessage(parts=(Text(text=words, label=LABEL),)))
    assert (shown.text, shown.attachments) == (words, [])
