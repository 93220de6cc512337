from collections.abc import Mapping

import pytest

from ostiary.adapters.models.catalogue import AgentModels, Catalogue, CatalogueSettings
from ostiary.adapters.models.providers import Cost, ModelSettings, ProviderSettings
from ostiary.contracts.errors import BadInput, NotAllowed
from ostiary.contracts.model import ModelRef

KEYED = frozenset({"anthropic", "openai"})
SMALL = ProviderSettings(
    name="tiny",
    base_url="http://127.0.0.1:9/v1",
    models=(
        ModelSettings(id="eight", context_window=8000),
        ModelSettings(id="twenty", context_window=20_000),
        ModelSettings(id="blind"),
        ModelSettings(id="seeing", sees_images=True),
    ),
)


def catalogue(
    primary: str = "anthropic/claude-sonnet-5-5",
    *fallbacks: str,
    allowed: Mapping[str, str] | None = None,
    image: str = "",
    image_fallbacks: tuple[str, ...] = (),
    keyed: frozenset[str] = KEYED | {"tiny"},
    profiles: frozenset[str] = frozenset(),
) -> Catalogue:
    return Catalogue(
        CatalogueSettings(
            providers=(SMALL,),
            defaults=AgentModels(primary=primary, fallbacks=fallbacks, image=image, image_fallbacks=image_fallbacks),
            allowed=allowed or {},
            keyed=keyed,
            profiles=profiles,
        )
    )


def chosen(text: str, *, in_catalogue: Catalogue | None = None) -> str:
    return str((in_catalogue or catalogue()).choose("main", text).primary)


def test_with_nothing_configured_the_embedded_model_answers() -> None:
    choice = Catalogue(CatalogueSettings()).choose("main")
    assert (str(choice.primary), choice.fallbacks) == ("embedded/qwen2.5-coder-0.5b", ())


def test_a_key_in_the_environment_is_enough_to_choose_its_provider() -> None:
    assert str(Catalogue(CatalogueSettings(keyed=frozenset({"google"}))).choose("main").primary).startswith("google/")


def test_a_configured_provider_comes_before_a_key_that_lies_around() -> None:
    own = ProviderSettings(name="mine", base_url="http://10.0.0.1/v1", models=(ModelSettings(id="m1"),))
    found = Catalogue(CatalogueSettings(providers=(own,), keyed=frozenset({"google", "mine"})))
    assert str(found.choose("main").primary) == "mine/m1"


def test_the_owners_own_server_is_asked_without_a_key_if_none_was_given() -> None:
    own = ProviderSettings(name="mine", base_url="http://10.0.0.1/v1", models=(ModelSettings(id="m1"),))
    assert str(Catalogue(CatalogueSettings(providers=(own,))).choose("main").primary) == "mine/m1"


def test_a_built_in_provider_without_a_key_is_not_the_usual_one() -> None:
    own = ProviderSettings(name="anthropic", models=(ModelSettings(id="m1"),))
    assert Catalogue(CatalogueSettings(providers=(own,))).choose("main").primary.provider == "embedded"


def test_only_a_known_server_on_this_machine_is_free() -> None:
    far = ProviderSettings(name="vllm", base_url="https://gpu.example.com/v1")
    proxy = ProviderSettings(name="proxy", base_url="http://127.0.0.1:4000/v1", local=True)
    found = Catalogue(CatalogueSettings(providers=(far, proxy)))
    assert [found.free(name) for name in ("embedded", "ollama", "vllm", "anthropic", "nosuch")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_an_agents_own_models_win_over_the_defaults() -> None:
    found = Catalogue(
        CatalogueSettings(
            defaults=AgentModels(primary="anthropic/claude-opus-5-5", fallbacks=("openai/gpt-5.5",)),
            agents={"work": AgentModels(primary="openai/gpt-5.4"), "solo": AgentModels(fallbacks=())},
        )
    )
    assert str(found.choose("work").primary) == "openai/gpt-5.4"
    assert [str(ref) for ref in found.choose("work").fallbacks] == ["openai/gpt-5.5"]
    assert found.choose("solo").fallbacks == ()
    assert str(found.choose("other").primary) == "anthropic/claude-opus-5-5"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("anthropic/claude-opus-5", "anthropic/claude-opus-5"),
        ("ANTHROPIC/Claude-Opus-5", "anthropic/claude-opus-5"),
        ("claude/claude-opus-5", "anthropic/claude-opus-5"),
        ("claude-opus-5", "anthropic/claude-opus-5"),
        ("opus", "anthropic/claude-opus-5-5"),
        ("opus 4.6", "anthropic/claude-opus-4-6"),
        ("opus-4-6", "anthropic/claude-opus-4-6"),
        ("son", "anthropic/claude-sonnet-5-5"),
        ("sonet", "anthropic/claude-sonnet-5-5"),
        ("anthropic/haiku", "anthropic/claude-haiku-5-5"),
        ("gpt 5.4 mini", "openai/gpt-5.4-mini"),
        ("codex", "openai/gpt-5.3-codex"),
        ("openai", "openai/gpt-6.1-sol"),
        ("embedded", "embedded/qwen2.5-coder-0.5b"),
    ],
)
def test_people_may_call_a_model_what_they_like(text: str, expected: str) -> None:
    assert chosen(text) == expected


def test_a_name_that_fits_several_lists_them() -> None:
    with pytest.raises(BadInput) as raised:
        chosen("gpt 6")
    assert "openai/gpt-6-sol" in raised.value.hint
    assert "openai/gpt-6-luna" in raised.value.hint


def test_a_name_that_fits_nothing_says_what_is_near() -> None:
    with pytest.raises(BadInput, match="There is no model 'zzzzz'"):
        chosen("zzzzz")
    with pytest.raises(BadInput) as raised:
        chosen("openai/gqt-9x")
    assert "openai/" in raised.value.hint


def test_an_unknown_provider_says_what_is_near() -> None:
    with pytest.raises(BadInput) as raised:
        catalogue("antropic/claude-sonnet-5").choose("main")
    assert raised.value.hint == "Did you mean anthropic?"


def test_a_provider_with_an_open_list_takes_a_model_we_never_heard_of() -> None:
    assert chosen("ollama/llama9:70b") == "ollama/llama9:70b"
    assert chosen("tiny/unheard-of") == "tiny/unheard-of"


def test_numbers_are_those_of_the_list() -> None:
    found = catalogue("anthropic/claude-sonnet-5-5", "openai/gpt-5.4")
    listed = [str(facts.ref) for facts in found.choices("main")]
    assert listed[:2] == ["anthropic/claude-sonnet-5-5", "openai/gpt-5.4"]
    assert chosen("2", in_catalogue=found) == listed[1]
    assert chosen(str(len(listed)), in_catalogue=found) == listed[-1]


@pytest.mark.parametrize("number", ["0", "9999", "00"])
def test_a_number_outside_the_list_is_refused(number: str) -> None:
    with pytest.raises(BadInput, match="no model number"):
        chosen(number)


def test_an_alias_wins_over_a_likeness() -> None:
    found = catalogue(allowed={"anthropic/claude-opus-5": "best", "openai/gpt-5.4": "Sonnet"})
    assert chosen("sonnet", in_catalogue=found) == "openai/gpt-5.4"
    assert chosen("BEST", in_catalogue=found) == "anthropic/claude-opus-5"


def test_the_owner_may_write_an_alias_as_primary() -> None:
    assert chosen("", in_catalogue=catalogue("best", allowed={"anthropic/claude-opus-5": "best"})) == "anthropic/claude-opus-5"


def test_a_model_off_the_allowlist_is_refused_with_what_is_allowed() -> None:
    found = catalogue(allowed={"openai/gpt-5.4": ""})
    with pytest.raises(
        NotAllowed, match=r"opus-5-5 is not allowed here; allowed are anthropic/claude-sonnet-5-5, openai/gpt-5.4"
    ):
        chosen("opus", in_catalogue=found)


def test_an_allowlist_of_nothing_usable_allows_nothing_more() -> None:
    found = catalogue(allowed={"nosuch/model": ""})
    assert [str(facts.ref) for facts in found.choices("main")] == ["anthropic/claude-sonnet-5-5"]
    assert any("nosuch/model" in problem for problem in found.problems(["main"]))
    with pytest.raises(NotAllowed):
        chosen("opus", in_catalogue=found)


def test_the_agents_own_models_are_always_allowed() -> None:
    found = catalogue("anthropic/claude-sonnet-5-5", "openai/gpt-5.5", allowed={"openai/gpt-5.4": ""})
    assert chosen("openai/gpt-5.5", in_catalogue=found) == "openai/gpt-5.5"


def test_a_model_without_a_key_says_how_to_add_one() -> None:
    with pytest.raises(BadInput) as raised:
        chosen("google/gemini-4-argon")
    assert raised.value.hint == "Run: ostiary models auth add google"


def test_an_override_falls_back_to_the_usual_models() -> None:
    choice = catalogue("anthropic/claude-sonnet-5-5", "openai/gpt-5.4").choose("main", "opus")
    assert [str(ref) for ref in choice.fallbacks] == ["openai/gpt-5.4", "anthropic/claude-sonnet-5-5"]


def test_a_profile_may_be_pinned_after_an_at_sign() -> None:
    found = catalogue(profiles=frozenset({"anthropic:work", "anthropic:me@home.net"}))
    assert found.choose("main", "opus@anthropic:work").profile == "anthropic:work"
    assert found.choose("main", "anthropic/opus@work").profile == "anthropic:work"
    assert found.choose("main", "anthropic/claude-opus-5@me@home.net").profile == "anthropic:me@home.net"


def test_an_at_sign_in_a_model_name_is_part_of_it() -> None:
    choice = catalogue().choose("main", "tiny/@cf/meta/llama")
    assert (str(choice.primary), choice.profile) == ("tiny/@cf/meta/llama", "")


def test_images_go_to_the_primary_if_it_sees_and_only_to_fallbacks_that_see() -> None:
    choice = catalogue("tiny/seeing", "tiny/blind", "openai/gpt-5.4", image="openai/gpt-5.5").choose("main", with_images=True)
    assert str(choice.primary) == "tiny/seeing"
    assert [str(ref) for ref in choice.fallbacks] == ["openai/gpt-5.4"]


def test_images_go_to_the_image_model_only_if_the_primary_is_blind() -> None:
    found = catalogue("tiny/blind", image="openai/gpt-5.5", image_fallbacks=("openai/gpt-5.4",))
    assert str(found.choose("main").primary) == "tiny/blind"
    choice = found.choose("main", with_images=True)
    assert [str(ref) for ref in (choice.primary, *choice.fallbacks)] == ["openai/gpt-5.5", "openai/gpt-5.4"]


def test_a_window_that_is_too_small_is_refused_and_a_small_one_is_noted() -> None:
    with pytest.raises(BadInput, match=r"tiny/eight holds only 8,000 tokens, and at least 16,000 are needed"):
        chosen("tiny/eight")
    found = catalogue("tiny/twenty", "tiny/eight")
    assert found.choose("main").fallbacks == ()
    assert [problem.partition(" ")[0] for problem in found.problems(["main"])] == ["tiny/twenty", "tiny/eight"]


def test_the_embedded_model_is_exempt_from_the_guard() -> None:
    assert catalogue("embedded/qwen2.5-coder-0.5b").problems(["main"]) == ()


def test_a_custom_model_has_the_stated_defaults() -> None:
    facts = catalogue().facts(ModelRef("tiny", "blind"))
    assert (facts.context_window, facts.max_tokens, facts.sees_images, facts.reasons) == (200_000, 8192, False, False)


def test_a_newer_model_of_a_known_family_is_taken_for_its_kin() -> None:
    facts = catalogue().facts(ModelRef("anthropic", "claude-opus-9"))
    assert facts.sees_images
    assert facts.context_window == 1_000_000
    assert facts.name == "claude-opus-9"


def test_what_the_owner_says_of_a_built_in_model_wins() -> None:
    own = ProviderSettings(
        name="anthropic", models=(ModelSettings(id="claude-opus-5", context_window=50_000, cost=Cost(input=1, output=2)),)
    )
    found = Catalogue(CatalogueSettings(providers=(own,)))
    assert found.facts(ModelRef("anthropic", "claude-opus-5")).context_window == 50_000
    assert found.cost(ModelRef("anthropic", "claude-opus-5")) == Cost(input=1, output=2)
    assert found.endpoint(ModelRef("anthropic", "claude-opus-5")).base_url == "https://api.anthropic.com"
    assert found.facts(ModelRef("anthropic", "claude-haiku-5-5")).context_window == 1_000_000


def test_replace_leaves_only_what_is_configured_and_the_embedded_model() -> None:
    found = Catalogue(CatalogueSettings(providers=(SMALL,), mode="replace"))
    assert set(found.providers) == {"tiny", "embedded"}


def test_another_server_behind_a_known_name_has_no_known_prices() -> None:
    own = ProviderSettings(name="openai", base_url="http://127.0.0.1:8080/v1")
    assert Catalogue(CatalogueSettings(providers=(own,))).providers["openai"].prices == ""


def test_a_fallback_without_a_key_is_a_problem_to_tell() -> None:
    problems = catalogue("anthropic/claude-sonnet-5-5", "google/gemini-4-argon").problems(["main"])
    assert problems == ("google/gemini-4-argon has no key: run ostiary models auth add google",)


@pytest.mark.parametrize("text", ["/", "anthropic/", "/x", "@", "💥", "a" * 5000, "x/" * 500, "\x00", "1.5", "-1"])
def test_nonsense_is_refused_politely(text: str) -> None:
    with pytest.raises(BadInput) as raised:
        chosen(text)
    assert len(str(raised.value)) < 300
