"""The pages are true: links lead somewhere, commands exist, generated pages are current. And the checks do catch a lie."""

from pathlib import Path

import pytest
from scripts import check_docs, generate_docs

ROOT = Path(__file__).parents[2]
PAGES = sorted({path for pattern in check_docs.PAGES for path in ROOT.glob(pattern)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_says_nothing_untrue(page: Path) -> None:
    assert list(check_docs.check(page)) == []


def test_the_command_line_reference_is_current() -> None:
    assert generate_docs.CLI_PAGE.read_text() == generate_docs.cli_page(), "run make docs"


def test_every_command_is_in_the_reference() -> None:
    from ostiary.cli.app import COMMANDS

    page = generate_docs.CLI_PAGE.read_text()
    assert [name for name in COMMANDS if f"`ostiary {name}" not in page] == []


def test_every_page_is_reached_from_the_index() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [page.relative_to(ROOT / "docs") for page in PAGES if page.is_relative_to(ROOT / "docs")]
    listed = [page for page in pages if page.parts[0] in ("start", "guides", "concepts", "reference")]
    assert [str(page) for page in listed if f"({page})" not in index] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[x](nowhere.md)", "leads nowhere"),
        ("[x](good.md#no-such-heading)", "names no heading"),
        ("`ostiary frobnicate`", "has no command"),
        ("```sh\nostiary agent --loud\n```", "has no option"),
        ("`agents.defaults.modle`", "is no configuration key"),
        ("see /" + "root/x", "path of one machine"),
    ],
)
def test_the_check_catches_a_lie(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "good.md").write_text("# A heading\n")
    page = tmp_path / "page.md"
    page.write_text(f"{text}\n")
    (found,) = check_docs.check(page)
    assert problem in found


def test_the_check_lets_the_truth_pass(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("# A heading\n")
    page = tmp_path / "page.md"
    page.write_text("[x](good.md#a-heading) `ostiary agent -m hi` `gateway.port`\n\n```sh\nostiary up --port 0\n```\n")
    assert list(check_docs.check(page)) == []
