"""A standing grant covers what its pattern says and nothing beside it."""

import json

import pytest

from ostiary.contracts.content import Label, Trust
from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import Principal, SessionKey
from ostiary.contracts.messages import UserId
from ostiary.contracts.model import ToolSchema
from ostiary.contracts.policy import Action
from ostiary.contracts.tool import Effect, ToolSpec
from ostiary.core.approvals.grants import EXACTLY, Grant, grant_for, offers_for, stated
from ostiary.core.approvals.wording import digest_of

OWNER = Principal(user=UserId(channel="memory", stable_id="owner"), role="owner")
GUEST = Principal(user=UserId(channel="memory", stable_id="guest"), role="owner")


def action(tool: str, *, principal: Principal = OWNER, agent: str = "main", **arguments: object) -> Action:
    schema = ToolSchema(name=tool, description="", parameters={})
    return Action(
        principal=principal,
        session=SessionKey(agent, "main"),
        channel="memory",
        tool=ToolSpec(schema=schema, effects=frozenset({Effect.EXECUTE})),
        arguments=arguments,
        label=Label(trust=Trust.OWNER),
    )


def granted(asked: Action, pattern: str) -> Grant:
    return grant_for(asked, pattern, id="g", until=100.0, by="memory:owner", now=0.0)


@pytest.mark.parametrize(
    ("path", "is_covered"),
    [
        ("notes/b.md", True),
        ("notes/sub/b.md", False),
        ("notes/../b.md", False),
        ("Notes/b.md", False),
        ("notes\\b.md", False),
        ("other/b.md", False),
        ("notes/", True),
        ("notes", False),
    ],
)
def test_a_folder_means_the_files_in_it(path: str, is_covered: bool) -> None:
    grant = granted(action("write", path="notes/a.md", content="x"), "notes/*")
    assert grant.covers(action("write", path=path, content="y"), 1.0) is is_covered


@pytest.mark.parametrize("pattern", ["*", "?*", "[!x]*", "[a-z]*", "*.md", " */", "**", "?"])
def test_a_pattern_that_begins_with_anything_is_refused(pattern: str) -> None:
    with pytest.raises(BadInput, match=r"everything|does not cover"):
        granted(action("write", path="a.md", content="x"), pattern)


@pytest.mark.parametrize("pattern", ["https://good.example*", "https://*", "http*", "https://good.example.evil*"])
def test_an_address_is_granted_by_its_whole_host(pattern: str) -> None:
    with pytest.raises(BadInput, match=r"everything|does not cover"):
        granted(action("browser", action="click", url="https://good.example/a"), pattern)


def test_one_page_of_a_host_may_stand_for_its_neighbours() -> None:
    grant = granted(action("browser", action="open", url="https://good.example/a"), "https://good.example/*")
    assert grant.covers(action("browser", action="open", url="https://good.example/b"), 1.0)
    assert not grant.covers(action("browser", action="open", url="https://good.example/%2E%2E"), 1.0)
    assert not grant.covers(action("browser", action="type", url="https://good.example/b"), 1.0)


def test_a_name_with_signs_of_a_pattern_is_meant_literally() -> None:
    asked = action("write", path="a*[b]?.md", content="x")
    (offer,) = offers_for("write", asked.arguments)
    grant = granted(asked, offer)
    assert (grant.covers(asked, 1.0), grant.covers(action("write", path="aXbY.md", content="x"), 1.0)) == (True, False)


def test_a_grant_is_for_one_person_one_agent_and_its_time() -> None:
    grant = granted(action("write", path="a.md", content="x"), "a.md")
    same = {"path": "a.md", "content": "y"}
    assert grant.covers(action("write", **same), 99.0)
    assert not grant.covers(action("write", **same), 100.0)
    assert not grant.covers(action("write", principal=GUEST, **same), 1.0)
    assert not grant.covers(action("write", agent="other", **same), 1.0)


def test_exactly_this_means_every_argument() -> None:
    grant = granted(action("pay", amount=1, to="ann"), EXACTLY)
    assert grant.covers(action("pay", to="ann", amount=1), 1.0)
    others = ({"amount": 1.0, "to": "ann"}, {"amount": True, "to": "ann"}, {"amount": 1}, {"amount": 1, "to": "ann", "x": None})
    assert [grant.covers(action("pay", **other), 1.0) for other in others] == [False] * 4


@pytest.mark.parametrize("change", [{"until": "never"}, {"fixed": []}, {"extra": 1}])
def test_what_was_not_written_as_a_grant_is_none(change: dict[str, object]) -> None:
    packed = json.loads(granted(action("write", path="a.md"), "a.md").packed())
    with pytest.raises(ValueError, match="not a grant"):
        Grant.unpack(json.dumps(packed | change).encode())


def test_a_digest_sees_every_difference_and_no_order() -> None:
    one = digest_of("t", {"a": 1, "b": [1, {"c": "é"}]}, {"cwd": "/"})
    assert one == digest_of("t", {"b": [1, {"c": "é"}], "a": 1}, {"cwd": "/"})
    others = [
        digest_of("t", {"a": 1.0, "b": [1, {"c": "é"}]}, {"cwd": "/"}),
        digest_of("t", {"a": True, "b": [1, {"c": "é"}]}, {"cwd": "/"}),
        digest_of("t", {"a": "1", "b": [1, {"c": "é"}]}, {"cwd": "/"}),
        digest_of("t", {"a": 1, "b": [{"c": "é"}, 1]}, {"cwd": "/"}),
        digest_of("t", {"a": 1, "b": [1, {"c": "e\u0301"}]}, {"cwd": "/"}),
        digest_of("t", {"a": 1, "b": [1, {"c": "é"}]}, {"cwd": "/ "}),
        digest_of("u", {"a": 1, "b": [1, {"c": "é"}]}, {"cwd": "/"}),
        digest_of("t", {"a": 1, "b": [1, {"c": "é"}], "d": None}, {"cwd": "/"}),
    ]
    assert len({one, *others}) == 9


@pytest.mark.parametrize(
    ("pattern", "now", "holds"),
    [
        ("python3 x.py", {"file:x.py": "1", "files": "a"}, True),
        ("python3 x.py", {"file:x.py": "2", "files": "b"}, False),
        ("python3 x.py", {}, False),
        ("=python3 x.py", {"file:x.py": "2", "files": "b"}, False),
    ],
)
def test_an_exact_command_is_granted_with_the_files_it_names(pattern: str, now: dict[str, str], holds: bool) -> None:
    bound = {"file:x.py": "1", "files": "a", "cwd": "/workspace"}
    grant = grant_for(action("exec", command="python3 x.py"), pattern, id="g", until=9.0, by="memory:owner", now=0.0, bound=bound)
    assert Grant.unpack(grant.packed()).holds(now) is holds


def test_an_open_pattern_is_bound_to_no_file() -> None:
    asked = action("exec", command="git status")
    bound = {"folder:.": "1", "files": "a"}
    assert grant_for(asked, "git status *", id="g", until=9.0, by="memory:owner", now=0.0, bound=bound).bound == {}


@pytest.mark.parametrize("pattern", ["git status*", "git status", "=git status"])
def test_a_grant_ends_when_the_fence_is_another(pattern: str) -> None:
    bound = {"fence": "bubblewrap", "env": "none", "files": "a"}
    grant = grant_for(action("exec", command="git status"), pattern, id="g", until=9.0, by="memory:owner", now=0.0, bound=bound)
    assert [grant.holds({**bound, **change}) for change in ({}, {"fence": "host"}, {"env": "more"})] == [True, False, False]


@pytest.mark.parametrize(
    ("tool", "pattern", "is_wider"),
    [
        ("exec", "ls*", False),
        ("exec", "git status*", True),
        ("vault_exec", "npm test*", True),
        ("exec", "pytest*", True),
        ("exec", "pytest -q", False),
        ("exec", "=pytest *", False),
        ("exec", EXACTLY, False),
        ("write", "notes/*", False),
    ],
)
def test_a_pattern_says_that_it_runs_what_the_files_make_it_run(tool: str, pattern: str, is_wider: bool) -> None:
    wider = " (and any code that files there make it run)"
    assert stated(tool, pattern) == (pattern + wider if is_wider else pattern)
