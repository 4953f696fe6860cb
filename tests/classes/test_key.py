"""A key: written so that its owner alone may read it, read again as it was, and refused in a sentence where it is none."""

import stat
from pathlib import Path
from typing import Any

import pytest

from blueprint.classes import ClassError
from blueprint.classes.key import (
    TOKEN,
    Key,
    KeyBlank,
    KeyStudent,
    base_of,
    departures,
    token_of,
    with_departures,
)
from blueprint.inputs import NumbersError, load, toml_of

SECRET = "0f" * 32


def blank(**more: Any) -> KeyBlank:
    given = {"id": "b01", "title": "advantages", "block": "advantages", "cells": [[0, 4]], "sheet": "GAE"}
    return KeyBlank(**{**given, "addresses": ["N51"], "decimals": 4, **more})


def student(id: str = "4711", **more: Any) -> KeyStudent:
    token = token_of(id, "hw1", "0123abcd", SECRET)
    given = {"id": id, "variant": "0123abcd", "token": token, "file": f"students/{id}.xlsx", "sha256": "ab" * 32}
    return KeyStudent(**{**given, "typed": {"gamma.yours": 0.95}, "answers": {"b01": [0.25]}, **more})


def key(**more: Any) -> Key:
    given = {"assignment": "hw1", "seed": 2026, "secret": SECRET, "level": 1, "kind": "rlhf_ppo", "blanks": [blank()]}
    return Key(**{**given, "numbers": toml_of(load("default")), "students": [student(), student("Ünal, =1")], **more})


def test_a_key_comes_back_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.touch(0o644)
    key().save(path)
    assert Key.load(path) == key()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"version": 1', '"version": 2', "version: Input should be 1"),
        ('"seed": 2026', '"seed": "x"', "seed: Input should be a valid integer"),
        ('"check": false', '"chekc": false', "chekc: Extra inputs are not permitted"),
        ('"b01": [', '"b02": [', "student 4711: the answers are not those of the blanks"),
        ('"id": "Ünal, =1"', '"id": "4711"', "student's id 4711 stands there twice"),
        ("0.25", '"NaN"', "students.0.answers.b01.0: Input should be a finite number"),
        ("{", "", "Invalid JSON"),
        ('"addresses": [', '"addresses": [""], "was": [', "blanks.0.addresses.0: String should match pattern"),
    ],
)
def test_what_is_no_key_is_refused_in_a_sentence(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "key.json"
    key().save(path)
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(ClassError, match="is not a key that class make wrote: ") as refused:
        Key.load(path)
    assert says in str(refused.value)


def test_numbers_that_are_no_toml_are_refused_in_a_sentence() -> None:
    with pytest.raises(NumbersError) as refused:
        base_of(key(numbers="a = ["))
    assert str(refused.value) == (
        "the numbers in hw1.toml are not TOML (Invalid value (at end of document)): write it anew."
    )


def test_no_file_and_no_student_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ClassError, match="cannot be read as a key"):
        Key.load(tmp_path / "key.json")
    with pytest.raises(ClassError, match="student 4712: the key has none of that id; write one as 4711"):
        key().student("4712")


def test_a_token_says_whose_file_it_is_and_holds_no_id() -> None:
    first, second = key().students
    assert TOKEN.fullmatch(first.token)
    assert "4711" not in first.token
    assert first.token != second.token == token_of(second.id, "hw1", "0123abcd", SECRET)
    assert token_of("4711", "hw1", "0123abcd", "aa" * 32) not in {first.token, second.token}


def test_what_a_student_has_otherwise_comes_back() -> None:
    base = base_of(key())
    other = with_departures(base, key().students[0].typed)
    assert departures(base, other) == {"gamma.yours": 0.95}
    off = with_departures(base, {"clip_range.yours": "off", "gamma.yours": None})
    assert departures(base, off) == {"clip_range.yours": "off"}
