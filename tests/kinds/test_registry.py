"""Kinds of workbooks are found, hold what they say, and keep out of each other's way."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from blueprint.workbooks import Kind, KindError, add_kind, kind_named, kinds, registry
from blueprint.workbooks.kind import imported


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds is gone when it ends."""
    monkeypatch.setattr(registry, "_added", {})


def own(name: str = "mine", *levels: str) -> Kind:
    """Makes a record in which nothing but what it must have is given."""
    return Kind(name, f"the kind {name}", dict.fromkeys(levels), lambda numbers, _: numbers)


def test_every_part_of_every_record_is_where_it_says() -> None:
    folders = sorted({path.parent.name for path in Path(registry.__file__).parent.glob("*/__init__.py")} - {"common"})
    assert len(folders) >= 14
    assert [kind.name for kind in kinds()] == ["rlhf_ppo", *(name for name in folders if name != "rlhf_ppo")]
    for kind in kinds():
        parts = [getattr(kind, field.name) for field in fields(kind)[2:]]  # name and title are words
        several = [each for part in parts if isinstance(part, dict) for each in part.values()]
        addresses = [part for part in (*parts, *several) if isinstance(part, str) and ":" in part]
        assert all(imported(address) is not None for address in addresses)
        assert len(addresses) >= 4, kind.name
        assert all(kind.level(word) for word in kind.levels)


def test_what_a_kind_has_not_is_said() -> None:
    with pytest.raises(KindError) as refused:
        own().part("settings")
    assert str(refused.value) == "the kind mine: this kind of workbook has no settings; its record says what it has."


def test_a_kind_of_ones_own_is_known_once_it_is_added_and_replaced_when_it_is_added_again() -> None:
    with pytest.raises(
        KindError, match="kind mine: there is none of that name; write one of rlhf_ppo, advantage, bandit, "
    ):
        kind_named("mine")
    add_kind(own())
    again = replace(own(), title="again")
    add_kind(again)
    assert kind_named("mine") is again
    assert kinds()[-1] is again


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (own("classic_ppo"), "kind classic_ppo: there is one of that name already; give yours another name."),
        (own("mine", "classic"), "kind mine, level classic: taken by classic PPO; give yours another name."),
    ],
)
def test_a_name_or_a_level_that_is_taken_is_refused(kind: Kind, sentence: str) -> None:
    with pytest.raises(KindError) as refused:
        add_kind(kind)
    assert str(refused.value) == sentence


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(KindError) as refused:
        add_kind({"name": "mine"})  # type: ignore[arg-type]
    assert str(refused.value) == "add_kind: found dict, expected a record; write add_kind(Kind(name, …))."


def test_a_level_and_its_record_call_each_other_by_one_name() -> None:
    kind = replace(own(), levels={"steps": "blueprint.workbooks.classic_ppo.rollout:LEVEL"})
    with pytest.raises(KindError) as refused:
        kind.level("steps")
    found = "found level classic of kind classic_ppo; name both alike in both places."
    assert str(refused.value) == f"kind mine, level steps: {found}"


def test_built_in_numbers_of_one_name_are_refused() -> None:
    with pytest.raises(
        KindError, match="kind mine, built-in numbers classic: taken by classic PPO; give yours another"
    ):
        add_kind(replace(own(), numbers=kind_named("classic_ppo").numbers))
