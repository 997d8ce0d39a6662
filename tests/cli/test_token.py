"""`fencepost token`: what it prints once, and never again."""

import json
from pathlib import Path

import pytest

from fencepost.model.access import read_credential
from tests.cli.calls import call, called, called_json, refused


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    called("migrate", "--store", url)
    return url


def test_a_token_is_printed_once_and_nowhere_else(store: str, tmp_path: Path) -> None:
    result = call("token", "create", "ci", "--role", "operator", "--expires", "90d", "--store", store)
    assert result.exit_code == 0, result.stderr
    text = result.stdout.strip()
    credential = read_credential(text)
    assert credential is not None
    secret = text.rpartition("_")[2]
    assert secret not in result.stderr
    (shown,) = called_json("token", "list", "--store", store)
    assert shown["token_id"] == credential.credential_id
    assert (shown["name"], shown["role"], shown["namespace"]) == ("ci", "operator", "default")
    assert (shown["state"], shown["rotated_from"], shown["last_used_at"]) == ("good", None, None)
    for command in (("token", "list"), ("token", "list", "--json"), ("log",), ("log", "--json")):
        assert secret not in called(*command, "--store", store)
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes(), file


def test_a_token_for_everywhere_is_asked_for_by_name(store: str) -> None:
    made = called_json("token", "create", "all", "--role", "admin", "--namespace", "*", "--store", store)
    assert (made["namespace"], made["expires_at"]) == ("*", None)
    assert read_credential(made["token"]) is not None
    called("token", "create", "one", "--role", "viewer", "--namespace", "billing", "--store", store)
    listed = called_json("token", "list", "--store", store)
    assert [one["namespace"] for one in listed] == ["billing", "*"]
    assert all("token" not in one for one in listed)
    (mine,) = called_json("token", "list", "--namespace", "billing", "--store", store)
    assert mine["name"] == "one"


def test_a_rotated_token_stays_good_for_the_overlap_only(store: str) -> None:
    made = called_json("token", "create", "ci", "--role", "viewer", "--store", store)
    new = called_json("token", "rotate", made["token_id"], "--overlap", "1h", "--store", store)
    assert new["rotated_from"] == made["token_id"]
    assert new["token"] != made["token"]
    newer = called_json("token", "rotate", new["token_id"], "--store", store)
    states = {one["token_id"]: one["state"] for one in called_json("token", "list", "--store", store)}
    assert states == {made["token_id"]: "good", new["token_id"]: "expired", newer["token_id"]: "good"}
    line = refused("token", "rotate", made["token_id"], "--store", store)
    assert "was rotated already" in line


def test_a_revoked_token_is_listed_as_such(store: str) -> None:
    made = called_json("token", "create", "ci", "--role", "viewer", "--store", store)
    told = called("token", "revoke", made["token_id"], "--reason", "lost", "--store", store)
    assert told == f"revoked: {made['token_id']} (ci)\n"
    assert "revoked" in called("token", "list", "--store", store)
    (entry, _) = called_json("log", "--store", store)
    assert (entry["action"], entry["subject"], entry["reason"]) == ("token.revoke", made["token_id"], "lost")


def test_a_link_is_printed_with_its_address(store: str) -> None:
    line = called("token", "link", "--url", "http://127.0.0.1:8580/", "--store", store).strip()
    base, _, text = line.partition("?link=")
    assert base == "http://127.0.0.1:8580/sign-in"
    assert read_credential(text) is not None
    made = json.loads(called("token", "link", "--url", "https://x.test", "--json", "--store", store))
    assert made["link"].startswith("https://x.test/sign-in?link=fp_l")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "ci", "--role", "viewer", "--expires", "5 parsecs"), "--expires"),
        (("create", "", "--role", "viewer"), "name ''"),
        (("create", "ci", "--role", "viewer", "--namespace", "a b"), "namespace"),
        (("rotate", "t1"), "token 't1': there is none of that id"),
        (("revoke", "t1"), "token 't1': there is none of that id"),
        (("link", "--url", "127.0.0.1:8580"), "expected an address such as http://127.0.0.1:8580"),
        (("link", "--url", "http://x", "--expires", "2d"), "at most 86400 s"),
    ],
)
def test_a_wrong_call_is_one_line(store: str, arguments: tuple[str, ...], told: str) -> None:
    assert told in refused("token", *arguments, "--store", store)


def test_a_role_must_be_said(store: str) -> None:
    assert "--role" in refused("token", "create", "ci", "--store", store)
