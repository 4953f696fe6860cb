"""The notes of every kind but RLHF PPO, whose own are in `test_notes`: each hangs on a row, once, and is short."""

from __future__ import annotations

import re

import pytest

from blueprint.inputs import load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.guides import notes_in
from blueprint.workbooks.kind import Kind
from blueprint.workbooks.registry import kinds
from tests.page.workshop import SLOPED
from tests.workbooks.test_notes import LIBRARY, LONGEST, VERSIONS

KINDS = [kind for kind in kinds() if kind.notes and kind.name != "rlhf_ppo"]
EVERY_SETTING = {"dpo", "grpo", "optimum", "value_iteration"}
"""Kinds of which each setting has a note; of the others some say all in their meaning."""
ALLOWED = {
    "loss.log_exp": "! is part of a formula", "score.read": "longer", "loss.form": "longer", "packing": "longer",
    "loss.normaliser": "longer", "baseline": "a sentence for each of five",
    "group.reward": "says its meaning", "ratio": "says its meaning",
}  # fmt: skip
"""Notes of reward models, fine-tuning, REINFORCE and GRPO that are more than a few lines, or say their row's meaning again."""
VERSIONED = {"classic_ppo"}
"""Kinds whose notes name a library with its version each time."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_notes_hang_on_rows_and_are_short(kind: Kind) -> None:
    settings = kind.part("settings")
    own, notes = notes_in(kind.notes), notes_in(kind.notes, settings)
    built = [blueprint_of(load(name, ["gradients=on"] if name in SLOPED else [])) for name in kind.built_in()]
    meanings = {block.name: block.about.meaning.lower() for made in built for block in made.blocks()}
    assert len(notes) > 9
    assert [
        key
        for key in notes
        if not (key in meanings or (key[0] == "." and any(name.endswith(key) for name in meanings)))
    ] == []
    assert [key for key, setting in settings.items() if setting.note and key in own] == []
    assert kind.name not in EVERY_SETTING or [key for key in settings if not notes.get(key)] == []
    told = {key: note for key, note in notes.items() if key not in ALLOWED}
    assert [key for key, note in told.items() if len(note) > LONGEST or not note.endswith(".") or "!" in note] == []
    assert [key for key, note in told.items() if len(re.findall(r"[.?](?= |$)", note)) > 4] == []
    assert [key for key, note in told.items() if meanings.get(key, "…") in note.lower()] == []
    named = [each for note in notes.values() for each in LIBRARY.findall(note)] if kind.name in VERSIONED else []
    assert [each for each in named if each[1] not in VERSIONS[each[0]]] == []
