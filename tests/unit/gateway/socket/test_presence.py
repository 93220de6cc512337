from ostiary.gateway.protocol.connect import Client
from ostiary.gateway.socket.presence import MOST, PresenceTable

READ = frozenset({"read"})


class Now:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def client(mode: str = "ui") -> Client:
    return Client(id="page", version="1", platform="linux", mode=mode, display_name="Page")


def table(now: Now) -> PresenceTable:
    return PresenceTable(now=now, version="1", platform="linux")


def names(table: PresenceTable) -> list[str]:
    return [entry.instance_id for entry in table.list()]


def test_the_gateway_lists_itself_first() -> None:
    assert names(table(Now())) == ["gateway"]


def test_command_lines_are_not_listed() -> None:
    listed = table(Now())
    assert not listed.arrived("one", client("cli"), READ)  # type: ignore[arg-type]
    assert names(listed) == ["gateway"]


def test_nobody_takes_the_gateways_place() -> None:
    listed = table(Now())
    assert not listed.arrived("gateway", client(), READ)  # type: ignore[arg-type]


def test_an_instance_is_listed_once_however_often_it_comes() -> None:
    listed = table(Now())
    listed.arrived("one", client(), READ)  # type: ignore[arg-type]
    listed.arrived("one", client(), READ)  # type: ignore[arg-type]
    assert names(listed) == ["gateway", "one"]


def test_who_is_not_heard_of_for_five_minutes_goes() -> None:
    now = Now()
    listed = table(now)
    listed.arrived("one", client(), READ)  # type: ignore[arg-type]
    listed.arrived("two", client(), READ)  # type: ignore[arg-type]
    now.at += 200
    listed.heard(["two"])
    now.at += 101
    assert listed.expire()
    assert names(listed) == ["gateway", "two"]


def test_beyond_two_hundred_the_oldest_goes() -> None:
    listed = table(Now())
    for number in range(MOST + 50):
        listed.arrived(f"i{number}", client(), READ)  # type: ignore[arg-type]
    assert len(listed.list()) == MOST
    assert "i49" not in names(listed)


def test_a_beacon_says_what_is_done_by_who_is_known() -> None:
    listed = table(Now())
    listed.arrived("one", client(), READ)  # type: ignore[arg-type]
    before = listed.version
    assert listed.beacon("one", "reads", "focus")
    assert not listed.beacon("two", "reads", "focus")
    assert (listed.list()[1].text, listed.list()[1].reason, listed.version) == ("reads", "focus", before + 1)
