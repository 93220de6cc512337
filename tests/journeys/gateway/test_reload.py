"""The configuration changed under a running gateway: taken over at once and whole, or not at all."""

import json

from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import TOKEN, Gateway, Home, config, finished, said, until
from tests.journeys.gateway.model import Model


def generation(gateway: Gateway) -> int:
    return int(gateway.status()["generation"])


def with_model(home: Home, name: str) -> None:
    home.configure(home.file.read_text().replace('"primary": "kit/kit-1"', f'"primary": "{name}"'))


def test_another_model_counts_from_the_next_turn_on(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("from ", "the first")),), holds={2: gate}), "from the second")
    with home.up() as gateway:
        connection = gateway.open("POST", "/v1/chat/completions", said("hi", "ada"))
        model.wait_asked()
        with_model(home, "kit/kit-2")
        until(lambda: generation(gateway) == 2)
        model.release(gate)
        assert finished(connection.getresponse()).text == "from the first"
        connection.close()
        assert gateway.say("and now?", "ada").text == "from the second"
    assert [request.body["model"] for request in model.requests] == ["kit-1", "kit-2"]


def test_a_broken_file_keeps_the_last_good_one_and_says_so_until_it_is_mended(home: Home, model: Model) -> None:
    model.begin("one", "two")
    good = home.file.read_text()
    with home.up() as gateway:
        home.configure('{ gateway: { auth: { token: "other-token-0123456789" } ')
        until(lambda: gateway.status()["config_problem"] != "")
        assert "ostiary.json5" in gateway.status()["config_problem"]
        assert TOKEN not in json.dumps(gateway.status())
        assert gateway.say("hi", "ada").text == "one"
        assert "problem" in home.run("status").stdout
        home.configure(good)
        until(lambda: gateway.status()["config_problem"] == "")
        assert gateway.say("hi", "ada").text == "two"


def test_a_file_that_is_removed_changes_nothing(home: Home, model: Model) -> None:
    model.begin("one")
    with home.up() as gateway:
        home.file.unlink()
        until(lambda: gateway.status()["config_problem"] != "")
        assert gateway.say("hi", "ada").text == "one"


def test_a_new_token_counts_at_once_and_the_old_one_no_longer(home: Home, model: Model) -> None:
    model.begin("one")
    home.environ["NEW_TOKEN"] = "new-token-0123456789"
    with home.up() as gateway:
        home.configure(config(model.url, gateway={"auth": {"token": "${NEW_TOKEN}"}, "drainSeconds": 1}))
        until(lambda: gateway.call("GET", "/v1/models").status == 401)
        gateway.token = "new-token-0123456789"
        assert gateway.say("hi", "ada").text == "one"


def test_the_command_line_changes_a_running_gateway_and_keeps_comments(home: Home, model: Model) -> None:
    home.configure("// mine\n" + home.file.read_text())
    model.begin("one")
    with home.up() as gateway:
        assert home.run("models", "set", "kit/kit-2").returncode == 0
        until(lambda: generation(gateway) == 2)
        assert gateway.say("hi", "ada").text == "one"
    assert model.last["model"] == "kit-2"
    assert home.file.read_text().startswith("// mine\n")
    assert "${KIT_KEY}" in home.file.read_text()
