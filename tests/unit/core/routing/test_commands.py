import pytest

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.core.routing.commands import Authority, Command, CommandCall, CommandReply, Commands, Head, parse_head

USER = UserId(channel="telegram", stable_id="1")


async def nothing(call: CommandCall) -> CommandReply:
    return CommandReply()


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("/status", Head(name="status", bot="", args="")),
        ("  /Status  ", Head(name="status", bot="", args="")),
        ("/new hello  there", Head(name="new", bot="", args="hello  there")),
        ("/new: hello", Head(name="new", bot="", args="hello")),
        ("/new:hello", Head(name="new", bot="", args="hello")),
        ("/new\nhello", Head(name="new", bot="", args="hello")),
        ("/new@ostiary_bot hi", Head(name="new", bot="ostiary_bot", args="hi")),
    ],
)
def test_commands_are_read_in_all_their_forms(text: str, head: Head) -> None:
    assert parse_head(text) == head


@pytest.mark.parametrize(
    "text", ["", "status", "/", "/ status", "/usr/bin", "/1", "hey /status", "//status", "/a.b", "/" + "a" * 99]
)
def test_other_texts_are_not_commands(text: str) -> None:
    assert parse_head(text) is None


@pytest.mark.parametrize(
    ("authority", "scope", "owner", "external"),
    [
        ("anyone", "main", True, True),
        ("own", "main", True, False),
        ("own", "telegram:direct:1", True, True),
        ("own", "telegram:group:-1", True, False),
        ("own", "cron:direct:1", True, False),
        ("owner", "telegram:direct:1", True, False),
    ],
)
def test_authority_decides_who_may_use_a_command_where(authority: Authority, scope: str, owner: bool, external: bool) -> None:
    command = Command(name="x", summary="", run=nothing, authority=authority)
    session = SessionKey("main", scope)
    assert command.may_be_used_by(Principal(user=USER, role=OWNER), session) is owner
    assert command.may_be_used_by(Principal(user=USER, role=EXTERNAL), session) is external


def test_a_command_belongs_to_the_owner_unless_it_says_otherwise() -> None:
    assert Command(name="x", summary="", run=nothing).authority == "owner"


def test_a_name_that_is_taken_is_refused_and_both_origins_are_named() -> None:
    commands = Commands()
    commands.add(Command(name="status", aliases=("s",), summary="", run=nothing))
    with pytest.raises(BadInput, match=r"plugin weather.*status.*built in"):
        commands.add(Command(name="weather", aliases=("s",), summary="", run=nothing, origin="plugin weather"))
    assert commands.find("weather") is None


@pytest.mark.parametrize("name", ["", "Status", "a b", "1x", "x/y", "x" * 33, "é"])
def test_a_name_nobody_can_type_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        Commands().add(Command(name=name, summary="", run=nothing))


def test_commands_are_found_by_alias_in_any_case() -> None:
    commands = Commands()
    command = Command(name="whoami", aliases=("id",), summary="", run=nothing)
    commands.add(command)
    assert commands.find("ID") is command
