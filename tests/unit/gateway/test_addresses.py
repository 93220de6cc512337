"""Where the gateway listens, and what it shows for it."""

import ssl
from pathlib import Path

import pytest

from ostiary.contracts.errors import BadInput
from ostiary.gateway import addresses, tls


def test_loopback_is_the_only_address_unless_the_owner_asks_for_more() -> None:
    assert addresses.host_for("loopback") == "127.0.0.1"
    assert addresses.host_for("lan") == "0.0.0.0"


def test_a_tailnet_that_is_not_there_is_refused_and_auto_stays_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "own_addresses", lambda: ("127.0.0.1", "192.0.2.7"))
    assert addresses.host_for("auto") == "127.0.0.1"
    with pytest.raises(BadInput, match="tailnet"):
        addresses.host_for("tailnet")


def test_a_tailnet_address_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "own_addresses", lambda: ("127.0.0.1", "100.101.2.3"))
    assert addresses.host_for("tailnet") == addresses.host_for("auto") == "100.101.2.3"


def test_this_machine_has_at_least_loopback() -> None:
    assert "127.0.0.1" in addresses.own_addresses()


def test_our_own_certificate_is_made_once_kept_private_and_usable(tmp_path: Path) -> None:
    first = tls.own(tmp_path / "tls", ("127.0.0.1", "localhost"))
    again = tls.own(tmp_path / "tls", ("127.0.0.1", "localhost"))
    assert first == again
    assert len(first.fingerprint.split(":")) == 32
    assert first.key.stat().st_mode & 0o777 == 0o600
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(first.certificate, first.key)


def test_a_damaged_certificate_is_made_again(tmp_path: Path) -> None:
    first = tls.own(tmp_path, ("localhost",))
    first.certificate.write_text("nonsense")
    assert tls.own(tmp_path, ("localhost",)).fingerprint != first.fingerprint


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    one, other = tls.own(tmp_path / "one", ("localhost",)), tls.own(tmp_path / "other", ("localhost",))
    assert tls.given(one.certificate, one.key).fingerprint == one.fingerprint
    with pytest.raises(BadInput, match="do not belong together"):
        tls.given(one.certificate, other.key)
    with pytest.raises(BadInput, match="is not a file"):
        tls.given(tmp_path / "nowhere", one.key)
