"""The table of names: every library's names are understood, two readings are refused, and the page shows the table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.dumps import TENSOR, UNUSED, MinibatchError, Raw, read_minibatch
from blueprint.dumps.recognise import AID, LOGGED, NAMES, SETTING, Alias, preset_of, recognise
from blueprint.inputs import load
from blueprint.workbooks.common.conventions import LIVE, rlhf
from blueprint.workbooks.registry import blueprint_of
from tests.dumps.batches import batch, raw_npz
from tests.dumps.pages import names, tensors, unexpressed

PAGE = (Path(__file__).parents[2] / "docs" / "minibatch.md").read_text(encoding="utf-8")
WORDWISE = [
    alias
    for alias in NAMES.aliases(TENSOR)
    if alias.row.shape == "[B, T]" and alias.row.name != "response_ids" and alias.strength
]


def raw(*names: str) -> Raw:
    """Returns a file of zeros, two responses of three words."""
    return Raw({name: np.zeros((2, 3)) for name in names}, dict.fromkeys(names, "float64"))


@pytest.mark.parametrize("alias", WORDWISE, ids=lambda alias: f"{alias.library}-{alias.spelling}")
def test_every_librarys_names_are_understood(alias: Alias) -> None:
    found = recognise(raw(alias.spelling))
    if alias.spelling == "rewards" or alias.row.name == "scores":
        assert alias.spelling in found.called.values()
    else:
        assert found.called == {alias.row.name: alias.spelling}
    assert not found.unknown


def test_what_a_name_means_does_not_depend_on_the_library_but_for_rewards() -> None:
    meant: dict[str, set[str]] = {}
    for alias in NAMES.aliases(TENSOR, AID):
        if alias.strength:
            meant.setdefault(alias.spelling, set()).add(alias.row.name)
    assert {name: neutral for name, neutral in meant.items() if len(neutral) > 1} == {"rewards": {"rewards", "scores"}}
    assert not meant.keys() & {alias.spelling for alias in NAMES.aliases(UNUSED)}


def test_every_library_is_a_preset_and_has_names_of_its_own() -> None:
    assert set(NAMES.libraries) <= rlhf().presets.keys()
    for library in NAMES.libraries:
        own = NAMES.own_to(library)
        assert own
        assert recognise(raw(sorted(own)[0])).preset == library


def test_settings_are_keys_of_a_numbers_file_and_words_may_stand_there() -> None:
    for row in (row for row in NAMES.rows if row.kind == SETTING):
        setting = LIVE[row.name.removeprefix("ppo.")]
        words = {word for said, word in row.words.items() if said not in ("if", "times")}
        assert words <= {*setting.words, "off", "0"}, row.name


def test_logged_results_are_rows_of_a_workbook() -> None:
    book = Book(blueprint_of(load("default", ["conventions=live"])))
    logged = {row.name for row in NAMES.rows if row.kind == LOGGED}
    assert len(logged) > 5
    assert logged <= book.blocks.keys()


def test_the_page_shows_the_table() -> None:
    for table in (tensors(), names(TENSOR, AID, UNUSED), names(SETTING), names(LOGGED), unexpressed()):
        assert table in PAGE


def test_two_tensors_that_could_be_the_same_are_refused() -> None:
    found = raw("logprobs_old", "action_log_probs")
    found.tensors["action_log_probs"][0, 0] = -1
    with pytest.raises(MinibatchError) as error:
        recognise(found)
    assert str(error.value) == (
        "logprobs_old and action_log_probs could both be logprobs_old; keep one, or say which in the metadata: "
        '"names": {"logprobs_old": "logprobs_old", "action_log_probs": "unused"}.'
    )


@pytest.mark.parametrize(("old", "new"), [("old_logprobs", "logprobs"), ("old_action_log_probs", "action_log_probs")])
def test_the_old_name_beside_it_makes_a_name_the_new_one(old: str, new: str) -> None:
    """As in TRL 0.11.4, `train_minibatch`, and OpenRLHF 0.11.2, `training_step`."""
    assert recognise(raw(new, old)).called == {"logprobs_old": old, "logprobs_new": new}
    assert recognise(raw(new)).called == {"logprobs_old": new}


def test_a_name_with_a_second_meaning_keeps_the_first_beside_the_names_of_another_library() -> None:
    with pytest.raises(MinibatchError, match="logprobs and mb_logprobs could both be logprobs_old"):
        recognise(Raw({"logprobs": np.zeros((2, 3)), "mb_logprobs": np.ones((2, 3))}, {}))


@pytest.mark.parametrize(
    "name", ["token_type_ids", "actions", "prompt_mask", "returns_std", "reward_margin", "raw_rewards"]
)
def test_a_name_that_is_merely_a_little_like_a_known_one_gets_no_hint(name: str) -> None:
    assert recognise(raw(name)).unknown == {name: None}


def test_equal_tensors_are_no_contradiction() -> None:
    found = recognise(raw("token_level_scores", "rm_scores"))
    assert found.called == {"scores": "token_level_scores"}
    assert "rm_scores was left aside, token_level_scores is scores" in found.notes


def test_metadata_say_which_is_which(tmp_path: Path) -> None:
    given = batch() | {"mine": batch()["logprobs_old"], "action_log_probs": batch()["logprobs_new"]}
    del given["logprobs_old"], given["logprobs_new"]
    names = {"mine": "logprobs_old", "action_log_probs": "logprobs_new"}
    found = read_minibatch(raw_npz(tmp_path, given, json.dumps({"names": names})))
    assert np.array_equal(found.tensors["logprobs_old"], batch()["logprobs_old"])
    assert np.array_equal(found.tensors["logprobs_new"], batch()["logprobs_new"])
    assert (found.called["logprobs_old"], found.called["logprobs_new"]) == ("mine", "action_log_probs")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"a": "rewards"}, "metadata, names: the file has no a; it has logprobs_old."),
        ({"logprobs_old": "reward"}, "metadata, names: reward is no neutral name; did you mean rewards?"),
        ("rewards", 'metadata, names: expected {"name in the file": "neutral name", …}.'),
    ],
)
def test_metadata_that_name_nothing_are_refused(names: object, sentence: str) -> None:
    with pytest.raises(MinibatchError) as error:
        recognise(Raw(raw("logprobs_old").tensors, {}, metadata={"names": names}))
    assert str(error.value) == sentence


def test_names_tell_which_of_trls_trainers_it_was_where_the_version_is_missing() -> None:
    for called, preset in ((["all_logprobs"], "trl_0.11.4"), (["mb_logprobs"], "trl_1.12"), (["ref_logprobs"], None)):
        found = recognise(Raw(raw(*called).tensors, {}, metadata={"library": "TRL"}))
        assert (found.library, found.preset) == ("TRL", preset)


def test_an_unknown_name_is_kept_aside_with_the_nearest_known() -> None:
    found = recognise(raw("old_log_prbs", "quux"))
    assert (dict(found.called), dict(found.unknown)) == ({}, {"old_log_prbs": "old_log_probs", "quux": None})


def test_rewards_with_one_number_per_response_are_scores() -> None:
    found = recognise(Raw({"prev_logprobs": np.zeros((2, 3)), "rewards": np.zeros(2)}, {}))
    assert found.called == {"logprobs_old": "prev_logprobs", "scores": "rewards"}
    assert recognise(raw("prev_logprobs", "rewards")).called["rewards"] == "rewards"


def test_openrlhfs_binary_scores_give_way_to_its_rewards() -> None:
    arrays = {"action_log_probs": np.zeros((2, 3)), "rewards": np.ones(2), "scores": np.zeros(2)}
    assert recognise(Raw(arrays, {}, metadata={"library": "OpenRLHF"})).called["scores"] == "rewards"
    with pytest.raises(MinibatchError, match="rewards and scores could both be scores"):
        recognise(Raw(arrays, {}, metadata={"library": "other"}))


@pytest.mark.parametrize(
    ("library", "version", "preset"),
    [
        ("TRL", "0.11.4", "trl_0.11.4"),
        ("trl", "1.12.0", "trl_1.12"),
        ("trl", "0.16.1", "trl_1.12"),
        ("trl", None, None),
        ("OpenRLHF", "0.11.2", "openrlhf"),
        ("NeMo-RL", None, "nemo_rl"),
        ("verl", "0.9.1", "verl"),
        ("mine", "1", None),
    ],
)
def test_the_preset_follows_from_library_and_version(library: str, version: str | None, preset: str | None) -> None:
    assert preset_of(library, version) == preset
