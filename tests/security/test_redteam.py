"""The attacks of `ostiary redteam`, all of them, on the default posture; each also gets through once its layer is taken away."""

from pathlib import Path

import pytest

from ostiary.assembly.redteam.attacks import ATTACKS
from ostiary.assembly.redteam.errand import ran
from ostiary.assembly.redteam.errands import ERRANDS
from ostiary.assembly.redteam.ground import open_ground
from ostiary.assembly.redteam.reporting import Report, lines, plain
from ostiary.assembly.redteam.running import chosen
from ostiary.contracts.errors import BadInput
from tests.journeys.gateway.house import Home
from tests.security.red_team import BREAKS, attacks_on, failures, rows_of
from tests.security.requirements import REQUIREMENTS


@pytest.mark.proves("A1", "A2")
async def test_pages_of_others_get_nothing() -> None:
    assert await failures("A1") == []


@pytest.mark.proves("B1", "B3")
async def test_no_caller_is_taken_for_the_owner() -> None:
    assert await failures("B1") == []


@pytest.mark.proves("B8")
async def test_nobody_reaches_what_others_told_the_assistant() -> None:
    assert await failures("B8") == []


@pytest.mark.proves("B9")
async def test_the_vaults_tools_do_not_reach_memory(tmp_path: Path) -> None:
    (tmp_path / "ostiary.json5").write_text("{posture: 'vault'}")
    assert await failures("B9", tmp_path) == []


@pytest.mark.proves("C1")
async def test_no_stranger_is_heard() -> None:
    assert await failures("C1") == []


@pytest.mark.proves("C2")
async def test_nobody_but_the_owner_decides() -> None:
    assert await failures("C2") == []


@pytest.mark.proves("C3")
async def test_words_of_strangers_decide_nothing() -> None:
    assert await failures("C3") == []


@pytest.mark.proves("C4")
async def test_a_sleeping_house_hears_nobody() -> None:
    assert await failures("C4") == []


@pytest.mark.proves("D3")
async def test_webhooks_open_to_their_own_token_alone() -> None:
    assert await failures("D3") == []


@pytest.mark.proves("E1")
async def test_nothing_runs_without_a_yes() -> None:
    assert await failures("E1") == []


@pytest.mark.proves("E2")
async def test_what_changed_after_a_yes_is_asked_again() -> None:
    assert await failures("E2") == []


@pytest.mark.proves("E3")
async def test_no_grant_can_be_stretched() -> None:
    assert await failures("E3") == []


@pytest.mark.proves("E4")
async def test_what_is_switched_off_is_not_there() -> None:
    assert await failures("E4") == []


@pytest.mark.proves("F1")
async def test_commands_reach_nothing_of_the_machine() -> None:
    assert await failures("F1") == []


@pytest.mark.proves("F2")
async def test_links_bring_nothing_back() -> None:
    assert await failures("F2") == []


@pytest.mark.proves("F3")
async def test_processes_belong_to_their_conversation() -> None:
    assert await failures("F3") == []


@pytest.mark.proves("G1")
async def test_no_address_leads_inside() -> None:
    assert await failures("G1") == []


@pytest.mark.proves("G2")
async def test_private_data_does_not_leave_with_strangers_words() -> None:
    assert await failures("G2") == []


@pytest.mark.proves("G3")
async def test_no_reply_carries_data_out() -> None:
    assert await failures("G3") == []


@pytest.mark.proves("H8")
async def test_secrets_of_the_house_are_redacted() -> None:
    assert await failures("H8") == []


@pytest.mark.proves("H9")
async def test_protected_files_stay_closed() -> None:
    assert await failures("H9") == []


@pytest.mark.proves("H10")
async def test_words_of_strangers_are_not_remembered_as_the_owners() -> None:
    assert await failures("H10") == []


@pytest.mark.proves("H11")
async def test_what_strangers_wrote_stays_theirs_in_memory() -> None:
    assert await failures("H11") == []


@pytest.mark.proves("H12")
async def test_no_secret_is_kept_in_memory() -> None:
    assert await failures("H12") == []


@pytest.mark.proves("H15")
async def test_words_of_strangers_are_marked_and_can_be_seen() -> None:
    assert await failures("H15") == []


@pytest.mark.proves("I1")
async def test_tools_from_outside_are_asked_about() -> None:
    assert await failures("I1") == []


@pytest.mark.proves("I2", "H5")
async def test_hidden_tools_are_not_there() -> None:
    assert await failures("I2") == []


@pytest.mark.proves("E1")
def test_there_are_enough_attacks_and_each_breaks_a_requirement_that_exists() -> None:
    assert len(ATTACKS) >= 350
    assert len({attack.id for attack in ATTACKS}) == len(ATTACKS)
    assert {BREAKS[attack.shape, attack.layer] for attack in ATTACKS} <= set(REQUIREMENTS)


@pytest.mark.proves("E1")
async def test_ordinary_wishes_still_come_true_and_cost_few_questions(tmp_path: Path) -> None:
    async with open_ground(tmp_path, {"PATH": "/usr/local/bin:/usr/bin:/bin"}) as ground:
        report = Report(rows=(), errands=tuple([each async for each in ran(ground, ERRANDS)]))
    undone = [f"{each.id}: {each.what}" for each in report.errands if not each.done]
    assert len(report.errands) == len(ERRANDS) >= 83
    assert len(undone) <= 3, undone
    assert report.asked <= 25


@pytest.mark.proves("E1")
async def test_a_posture_that_asks_nothing_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "ostiary.json5").write_text("{posture: 'open'}")
    found = next(iter(await rows_of(attacks_on("I1")[:1], tmp_path)))
    assert not found.stopped
    assert "tools.confirm" in found.change
    told = "\n".join(lines(Report(rows=(found,))))
    assert "GOT PAST" in told
    assert "0 of 1 attacks stopped." in told


def _names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.proves("H1")
async def test_the_real_state_is_left_alone_and_its_secrets_are_not_played_with(tmp_path: Path) -> None:
    secret = "real-0123456789abcdefghij"
    file = tmp_path / "ostiary.json5"
    file.write_text(f"{{gateway: {{auth: {{token: '{secret}'}}}}, models: {{providers: {{x: {{apiKey: '${{X_KEY}}'}}}}}}}}")
    file.chmod(0o600)
    async with open_ground(tmp_path, {"PATH": "/usr/bin:/bin", "X_KEY": "key-real-0123456789"}) as ground:
        copied = (ground.house.home / "ostiary.json5").read_text()
        assert secret not in copied
        assert "key-real-0123456789" not in ground.copy.environ.values()
        gone = ground.house.home.parent
    assert _names_in(tmp_path) == ["ostiary.json5"]
    assert gone.name not in _names_in(gone.parent)


@pytest.mark.proves("E1")
def test_what_is_played_can_be_chosen() -> None:
    attacks, errands = chosen(["e", "benign"])
    assert {attack.shape for attack in attacks} == {"E"}
    assert errands == ERRANDS
    with pytest.raises(BadInput, match="no shape or attack 'Z'"):
        chosen(["z"])


@pytest.mark.proves("E1")
def test_the_report_for_programs_has_its_figures() -> None:
    assert plain(Report(rows=())) == {"attacks": 0, "stopped": 0, "benign": 0, "done": 0, "asked": 0, "rows": [], "errands": []}


@pytest.mark.proves("I1")
def test_the_command_plays_on_the_configuration_at_hand_and_leaves_it_as_it_was(home: Home) -> None:
    before = home.file.read_text()
    found = home.run_json("redteam", "--only", "I.pay")
    assert (found["attacks"], found["stopped"], found["benign"]) == (1, 1, 0)
    assert {"id", "shape", "name", "layer", "stopped", "what", "change"} <= set(found["rows"][0])
    assert [path.name for path in home.path.iterdir()] == [home.file.name]
    assert home.file.read_text() == before
    refused = home.run("redteam", "--only", "nothing")
    assert refused.returncode == 1
    assert "ostiary redteam --list" in refused.stderr
