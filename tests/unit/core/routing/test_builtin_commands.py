import re
from pathlib import Path
from typing import Any, cast

import pytest

from ostiary.contracts.model import Usage
from ostiary.core.routing.approval_commands import add_approval_commands
from ostiary.core.routing.builtin_commands import add_builtin_commands, builtin_commands
from ostiary.core.routing.change_commands import add_change_commands
from ostiary.core.routing.commands import Command, Commands
from ostiary.core.routing.control_commands import HouseCommands, control_commands
from ostiary.core.routing.intake import Handled
from ostiary.core.routing.memory_commands import add_memory_commands
from tests.unit.core.routing.house import MAIN, OWN, House, RecordingControls
from tests.unit.core.routing.inbound import group

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "commands.md"


def every_command() -> tuple[Command, ...]:
    """As the house registers them; none is run here."""
    commands, nothing = builtin_commands(version="1"), cast(Any, None)
    add_approval_commands(commands.add, nothing, nothing)
    add_change_commands(commands.add, nothing)
    add_memory_commands(commands.add, nothing, nothing)
    for command in control_commands(HouseCommands(control=nothing, clock=nothing, standings=nothing, is_attended=nothing)):
        commands.add(command)
    return commands.all()


def test_the_reference_lists_exactly_the_registered_commands() -> None:
    rows = re.findall(r"^\| `/([a-z]+)([^`]*)` \|([^|]*)\| (\w+) \|", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)
    documented = {(name, usage.replace("\\|", "|").strip(), who) for name, usage, _, who in rows}
    registered = {(c.name, c.usage, c.authority) for c in every_command()}
    assert documented == registered


def test_the_reference_names_every_alias() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    aliases = [f"`/{alias}`" for command in every_command() for alias in command.aliases]
    assert [alias for alias in aliases if alias not in text] == []


async def test_help_and_commands_show_only_what_the_sender_may_use() -> None:
    for_owner, for_stranger = await House().says("/commands"), await House().says("/commands", owner=False)
    assert "`/model" in for_owner
    assert "`/model" not in for_stranger
    assert "`/whoami`" in for_stranger
    assert "`/stop`" in await House().says("/help", owner=False, session=OWN)
    assert "`/stop`" not in await House().says("/help", owner=False, session=MAIN)


async def test_whoami_tells_the_stable_id_the_role_and_the_conversation() -> None:
    assert await House().says("/whoami") == "You are `telegram:123`, here as **owner**.\nConversation: `agent:main:main`"
    assert "Chat: `-100`" in await House().says("/id", message=group(), owner=False)


async def test_version_is_told() -> None:
    assert await House().says("/version") == "Ostiary 1.2.3"


async def test_new_alone_resets_and_greets() -> None:
    house = House()
    assert await house.says("/new") == "A new conversation. Hello! I am on `anthropic/claude-opus-5`; what shall we do?"
    assert house.controls.asked == ["reset /new"]


async def test_text_after_new_is_the_first_message() -> None:
    house = House()
    assert await house.hears("/reset: write  a poem\nabout rain") == Handled(text="write  a poem\nabout rain")
    assert house.controls.asked == ["reset /reset"]


async def test_directives_after_new_act_for_the_first_message() -> None:
    assert await House().hears("/new /think high write a poem") == Handled(text="write a poem", directives={"thinking": "high"})


@pytest.mark.parametrize("text", ["/new sonnet", "/new claude-sonnet-5", "/new anthropic/claude-sonnet-5", "/new Sonn"])
async def test_a_model_named_after_new_is_set_after_the_reset(text: str) -> None:
    house = House()
    assert "claude-sonnet-5" in await house.says(text)
    assert house.controls.asked[:2] == ["reset /new", "set model=anthropic/claude-sonnet-5 by telegram:123"]


async def test_a_model_and_a_text_after_new_are_told_apart() -> None:
    house = House()
    assert await house.hears("/new sonnet hello there") == Handled(text="hello there")
    assert house.controls.settings["model"] == "anthropic/claude-sonnet-5"


@pytest.mark.parametrize(
    "rest", ["hello", "write a poem", "net income please", "default values are what?", "100 ideas", "a/b tests?", "é"]
)
async def test_ordinary_words_after_new_are_not_taken_for_models(rest: str) -> None:
    house = House()
    assert await house.hears(f"/new {rest}") == Handled(text=rest)
    assert house.controls.settings == {}


async def test_a_wrong_model_of_a_known_provider_resets_nothing() -> None:
    house = House()
    assert "no model is called" in (await house.says("/new anthropic/claude-nonsense hi")).lower()
    assert house.controls.asked == []


async def test_new_stops_what_is_running_first() -> None:
    house = House(controls=RecordingControls(running="turn_1", queued=1))
    await house.says("/new")
    assert house.controls.asked == ["stop", "reset /new"]


@pytest.mark.parametrize(
    ("running", "queued", "reply"),
    [
        ("", 0, "Nothing was running."),
        ("turn_1", 0, "Stopped 1 run."),
        ("turn_1", 2, "Stopped 1 run and dropped 2 queued messages."),
        ("", 1, "Dropped 1 queued message."),
    ],
)
async def test_stop_says_what_it_stopped(running: str, queued: int, reply: str) -> None:
    assert await House(controls=RecordingControls(running=running, queued=queued)).says("/stop") == reply


async def test_status_tells_model_context_state_usage_and_settings() -> None:
    house = House(controls=RecordingControls(settings={"thinking": "high", "model": "sonnet"}, running="turn_1", queued=2))
    assert await house.says("/status") == "\n".join(
        [
            "**Model** `anthropic/claude-sonnet-5`",
            "**Context** 2,000 of 20,000 tokens (10%)",
            "**Conversation** `agent:main:main` · 3 turns · 6 messages",
            "**Now** answering, 2 queued",
            "**Used** 1,200 tokens in · 34 out · cache 5 read, 0 written · $0.0123",
            "**Settings** thinking high",
        ]
    )


async def test_status_tells_the_owner_how_the_house_stands_and_nobody_else() -> None:
    commands = Commands()
    add_builtin_commands(commands.add, version="1", house=lambda: "awake, since 1 min (/wake)")
    house = House(commands=commands)
    assert "**House** awake, since 1 min (/wake)" in await house.says("/status")
    assert "awake" not in await house.says("/status", owner=False, session=OWN)


async def test_status_survives_a_model_that_is_gone() -> None:
    house = House(controls=RecordingControls(settings={"model": "gone/away"}, waiting_for="approval", usage=Usage(input=1)))
    reply = await house.says("/status")
    assert "`gone/away`" in reply
    assert "waiting for approval" in reply
    assert "cost unknown" in reply


async def test_context_list_reports_what_was_sent() -> None:
    assert await House().says("/context") == "\n".join(
        [
            "**System prompt** 4,000 characters (~1,000 tokens)",
            "**Tool schemas** 1,200 characters (~300 tokens), 2 tools",
            "**History** 6 messages (~700 tokens)",
            "**In all** 2,000 of 20,000 tokens (10%)",
            "",
            "**Files**",
            "- AGENTS.md: 1,742 characters",
            "- TOOLS.md: truncated, 20,000 of 54,210 characters",
            "- SOUL.md: missing",
            "**Tools** read, session_status",
        ]
    )


async def test_context_detail_ranks_tools_by_size() -> None:
    reply = await House().says("/context detail")
    assert reply.endswith(
        "**Largest tools**\n- session_status: 800 characters (~200 tokens)\n- read: 400 characters (~100 tokens)"
    )


@pytest.mark.parametrize("report", [{}, {"history": {"messages": 0, "tokens": 1}}])
async def test_context_before_the_first_turn_says_so(report: dict[str, object]) -> None:
    house = House(controls=RecordingControls(report=report, usage=Usage()))
    assert "**Used** nothing yet" in await house.says("/status")
    assert "Nothing has been sent" in await house.says("/context list")


async def test_context_of_an_unexpected_shape_is_no_error() -> None:
    house = House(controls=RecordingControls(report={"prompt": 5, "files": "x", "tools": [1, None], "window": "?"}))
    assert "0 characters" in await house.says("/context detail")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("/think high", {"thinking": "high"}),
        ("/thinking on", {"thinking": "low"}),
        ("/think default", {"thinking": ""}),
        ("/verbose full", {"verbose": "full"}),
        ("/reasoning stream", {"reasoning": "stream"}),
        ("/usage tokens", {"usage": "tokens"}),
        ("/usage off", {"usage": ""}),
        ("/send off", {"send": "off"}),
        ("/send inherit", {"send": ""}),
        ("/model 2", {"model": "anthropic/claude-sonnet-5", "profile": ""}),
        ("/model opus@anthropic:work", {"model": "anthropic/claude-opus-5", "profile": "anthropic:work"}),
        ("/model default", {"model": "", "profile": ""}),
        ("/queue followup", {"queue.mode": "followup"}),
        (
            "/queue collect debounce:500ms cap:3 drop:new",
            {"queue.mode": "collect", "queue.debounce_ms": "500", "queue.cap": "3", "queue.drop": "new"},
        ),
        ("/queue debounce:1.5s", {"queue.debounce_ms": "1500"}),
        ("/queue default", {"queue.mode": "", "queue.debounce_ms": "", "queue.cap": "", "queue.drop": ""}),
    ],
)
async def test_a_setting_is_kept_and_confirmed(text: str, settings: dict[str, str]) -> None:
    house = House()
    assert await house.says(text)
    assert house.controls.settings == settings


@pytest.mark.parametrize(
    "text",
    [
        "/think banana", "/verbose 7", "/reasoning maybe", "/usage lots", "/send perhaps", "/model 0", "/model 99",
        "/model nonsense", "/queue sideways", "/queue collect cap:0", "/queue cap:99999", "/queue debounce:1h",
        "/queue debounce:11m", "/queue drop:all", "/context everything",
    ],
)  # fmt: skip
async def test_a_value_that_cannot_be_changes_nothing_and_says_what_can(text: str) -> None:
    house = House()
    assert "/" in await house.says(text)
    assert house.controls.asked == []


@pytest.mark.parametrize("name", ["think", "verbose", "reasoning", "usage", "queue", "send"])
async def test_a_setting_asked_for_without_a_value_is_told(name: str) -> None:
    house = House(controls=RecordingControls(settings={"thinking": "low", "queue.mode": "steer"}))
    assert re.search(r"\*\*(low|default|off|mode steer)\*\*", await house.says(f"/{name}"))
    assert house.controls.asked == []


async def test_models_are_numbered_and_the_current_one_is_marked() -> None:
    expected = "1. `anthropic/claude-opus-5` ← now\n2. `anthropic/claude-sonnet-5`"
    assert (await House().says("/models")).startswith(expected)
    assert await House().says("/model") == await House().says("/model list") == await House().says("/models")


async def test_model_status_tells_facts_fallbacks_and_the_pinned_profile() -> None:
    reply = await House(controls=RecordingControls(settings={"profile": "anthropic:work"})).says("/model status")
    assert "`anthropic/claude-opus-5` (the default)" in reply
    assert "**Then** `anthropic/claude-sonnet-5`" in reply
    assert "`anthropic:work` (pinned)" in reply


async def test_activation_is_for_groups() -> None:
    house = House()
    assert "for groups" in await house.says("/activation always")
    assert house.controls.settings == {}
    await house.says("/activation always", message=group())
    assert house.controls.settings == {"activation": "always"}


async def test_usage_cost_sums_the_conversation_up() -> None:
    assert await House().says("/usage cost") == (
        "This conversation so far: 1,200 tokens in · 34 out · cache 5 read, 0 written · $0.0123, in 3 turns."
    )
