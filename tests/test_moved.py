"""Imports of rooms that have another name now."""

from __future__ import annotations

from importlib import import_module

import pytest

from blueprint.moved import MOVED


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_ends_in_a_sentence_that_names_the_new_one(old: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=f"^{old} is now {MOVED[old]}: write .*from blueprint"):
        import_module(old)
    import_module(MOVED[old])


def test_another_module_that_is_not_there_is_simply_not_there() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'blueprint\.nothing'"):
        import_module("blueprint.nothing")


@pytest.mark.parametrize("name", ["replay", "verify"])
def test_a_name_that_stands_with_its_kind_now_is_told_where(name: str) -> None:
    with pytest.raises(ImportError, match=f"of RLHF PPO: write `from .*verifying.{name} import {name}`") as told:
        getattr(import_module("blueprint.verifying"), name)
    place = str(told.value).partition("`from ")[2].partition(" import")[0]
    assert callable(getattr(import_module(place), name))
