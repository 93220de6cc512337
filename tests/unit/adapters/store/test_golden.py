"""Events as released versions wrote them, read by today's code. A file here is never edited; a new version adds files.

`body` is what was stored; `reads_as` is what today's code makes of it, and may change when a field is added.
"""

import json
from pathlib import Path

import pytest

from ostiary.adapters.store.codec import decode_event
from ostiary.contracts.events import KINDS, VERSIONS

_FILES = sorted((Path(__file__).parent / "golden").glob("*.json"))


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_an_event_of_every_released_version_is_read_by_todays_code(file: Path) -> None:
    kind, _, version = file.stem.rpartition(".v")
    golden = json.loads(file.read_text())
    assert repr(decode_event(kind, int(version), json.dumps(golden["body"]).encode())) == golden["reads_as"]


def test_every_kind_and_version_has_its_golden_file() -> None:
    expected = {f"{kind}.v{version}" for kind in KINDS for version in range(1, VERSIONS[kind] + 1)}
    assert {file.stem for file in _FILES} == expected
