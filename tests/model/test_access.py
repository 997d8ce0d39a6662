"""Credentials: what they look like, and that they do not show themselves."""

import copy
import os
import pickle

import pytest

from fencepost.errors import InvalidSpec
from fencepost.model.access import EVERYWHERE, CredentialKind, NewToken, Role, mint, read_credential
from fencepost.model.identifiers import DEFAULT_NAMESPACE, checked_name


def test_a_credential_is_read_as_it_was_made_and_is_known_by_its_digest() -> None:
    made, other = mint(CredentialKind.TOKEN, os.urandom), mint(CredentialKind.TOKEN, os.urandom)
    read = read_credential(made.reveal())
    assert read is not None
    assert (read.credential_id, read.kind) == (made.credential_id, CredentialKind.TOKEN)
    assert read.fits(made.digest)
    assert not read.fits(other.digest)
    assert made.digest not in made.reveal()


def test_an_id_alone_is_not_enough() -> None:
    one = mint(CredentialKind.TOKEN, os.urandom)
    other = one.reveal().rpartition("_")[0] + "_" + "0" * 64
    read = read_credential(other)
    assert read is not None
    assert read.credential_id == one.credential_id
    assert not read.fits(one.digest)


def test_each_credential_has_256_bits_of_chance() -> None:
    asked: list[int] = []

    def dice(size: int) -> bytes:
        asked.append(size)
        return os.urandom(size)

    assert len({mint(CredentialKind.SESSION, dice).reveal() for _ in range(50)}) == 50
    assert asked == [8, 32] * 50


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fp_",
        "fp_t0000000000000001",
        f"fp_x0000000000000001_{'0' * 64}",
        f"fp_t0000000000000001_{'0' * 63}",
        f"fp_t0000000000000001_{'0' * 65}",
        f"fp_t0000000000000001_{'G' * 64}",
        f" fp_t0000000000000001_{'0' * 64}",
        f"fp_t0000000000000001_{'0' * 64}\n",
        f"FP_t0000000000000001_{'0' * 64}",
        "fp_t" + "0" * 100_000,
    ],
)
def test_what_is_no_credential_is_not_read_as_one(text: str) -> None:
    assert read_credential(text) is None


def test_nothing_shows_a_secret() -> None:
    made = mint(CredentialKind.TOKEN, os.urandom)
    secret = made.reveal().rpartition("_")[2]
    new = NewToken(made.credential_id, made.digest, "ci", Role.VIEWER, DEFAULT_NAMESPACE)
    shown = f"{made} {made!r} {[made]} {new}"
    assert secret not in shown
    assert made.digest not in shown
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(made)
    with pytest.raises(TypeError, match="cannot be pickled"):
        copy.copy(made)


def test_what_is_derived_differs_by_purpose_and_by_credential() -> None:
    one, other = mint(CredentialKind.SESSION, os.urandom), mint(CredentialKind.SESSION, os.urandom)
    derived = {one.derived("csrf"), one.derived("other"), other.derived("csrf"), one.digest}
    assert len(derived) == 4
    assert one.derived("csrf") == one.derived("csrf")


def test_no_tenant_can_have_the_name_of_everywhere() -> None:
    with pytest.raises(InvalidSpec, match="namespace"):
        checked_name("namespace", EVERYWHERE)
