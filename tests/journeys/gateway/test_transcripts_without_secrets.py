import json
from pathlib import Path

from tests.journeys.gateway.house import Home
from tests.unit.core.policy.credentials import drawn


def test_what_is_imported_and_exported_holds_no_secret(home: Home, tmp_path: Path) -> None:
    """Neither what looks like one nor what became one after it had been said."""
    shaped, plain = f"ghp_{drawn('transcript', 36)}", "an-old-family-recipe"
    given = tmp_path / "given.jsonl"
    given.write_text("".join(json.dumps({"role": "user", "content": f"{word} it is"}) + "\n" for word in (shaped, plain)))
    assert home.run("sessions", "import", "agent:main:given", str(given)).returncode == 0
    before = home.run("sessions", "export", "agent:main:given").stdout
    assert "[redacted:github] it is" in before
    assert plain in before
    assert shaped not in home.run("sessions", "show", "agent:main:given", "--json").stdout
    home.environ["RECIPE_SECRET"] = plain
    exported = home.run("sessions", "export", "agent:main:given").stdout
    assert "[redacted:known] it is" in exported
    assert plain not in exported
    assert len([json.loads(line) for line in exported.splitlines()]) == 2
