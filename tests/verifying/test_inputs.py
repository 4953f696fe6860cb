"""What a file lacks, and what stands in it where nothing reads it: where a replay starts, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch, MinibatchError
from blueprint.verifying import text_of
from blueprint.verifying.compare import lines_of
from blueprint.verifying.logged import ALL, missing, reads
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.dumps import FIRST, changed, dump, settings


def without(batch: Minibatch, *names: str) -> Minibatch:
    """Returns a dump that has not some of its tensors."""
    return replace(batch, tensors={name: each for name, each in batch.tensors.items() if name not in names})


# library, what the file has not, what is then taken from the file, what cannot be compared
LACKING = [
    ("trl_0.11.4", ("logprobs_ref",), ("rewards",), {"kl.statistic"}),
    ("trl_0.11.4", ("scores",), ("rewards",), set[str]()),
    ("trl_0.11.4", ("values_old",), ("advantages", "returns"), {"value_loss"}),
    ("trl_0.11.4", ("values_old", "scores", "logprobs_ref"), ("rewards", "advantages", "returns"),
     {"kl.statistic", "value_loss"}),
    ("trl_0.11.4", ("logprobs_new",), (), {"policy_loss", "clip_fraction.used", "approx_kl.used"}),
    ("trl_0.11.4", ("values_new",), (), {"value_loss", "ev.used", "total_loss"}),
    ("trl_0.11.4", ("entropy",), (), {"entropy"}),
    ("verl", ("logprobs_ref",), (), {"kl.statistic"}),
    ("verl", ("logprobs_old",), (), {"policy_loss", "clip_fraction.used", "approx_kl.used", "kl.statistic"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("library", "lacks", "started", "uncompared"),
    LACKING,
    ids=[f"{each[0]} without {', '.join(each[1])}" for each in LACKING],
)
def test_what_is_missing_is_said_and_the_rest_is_verified(
    library: str, lacks: tuple[str, ...], started: tuple[str, ...], uncompared: set[str]
) -> None:
    run = FIRST[library]
    verdict = verify(without(dump(run), *lacks), settings(run), library)
    assert verdict.agrees
    assert verdict.replayed.started == started
    assert set(verdict.uncompared) >= uncompared
    assert {line.compared.name for line in verdict.lines}.isdisjoint(verdict.uncompared)
    assert verdict.lines
    for name in started:
        assert f"{name} stands in the file and is taken from there" in text_of(verdict)


def test_a_started_row_leads_to_what_the_library_logged() -> None:
    """Without scores and reference, the file's own rewards lead to the recorded advantages and losses."""
    run = FIRST["openrlhf"]
    batch = dump(run)
    found = replay(without(batch, "scores", "logprobs_ref"), settings(run))
    assert found.started == ("rewards",)
    assert found.whole["policy_loss"] == pytest.approx(batch.logged["policy_loss"], rel=1e-12)
    assert found.whole["value_loss"] == pytest.approx(batch.logged["value_loss"], rel=1e-12)


def test_a_logged_number_that_nothing_is_compared_with_is_named() -> None:
    run = FIRST["verl"]
    batch = replace(dump(run), logged={"grad_norm": 1.5})
    assert "grad_norm = 1.5 was logged, but is nothing that is compared" in verify(batch, settings(run)).notes


def test_what_is_read_ends_at_rows_that_are_known() -> None:
    assert reads("policy_loss", {"advantages"}) == {"logprobs_old", "logprobs_new"}
    assert reads("advantages", {"rewards"}) == {"values_old"}
    assert reads("rewards", ()) == {"scores", "logprobs_old", "logprobs_ref", "distributions"}


def test_needs_follow_the_settings() -> None:
    run = FIRST["verl"]
    held = {"logprobs_old", "logprobs_new", "values_old", "values_new", "scores"}
    assert missing(held, settings(run)) == {
        "kl": "logprobs_ref",
        "kl_loss": "logprobs_ref",
        "policy_kl": "distributions",
        "entropy": "entropy",
        "entropy.watched": "entropy",
    }
    paid = settings(run) | {"reward.kl_in": "loss"}
    assert missing(held, paid)["total_loss"] == "logprobs_ref"


def test_a_file_without_results_is_told_and_its_losses_are_printed() -> None:
    run = FIRST["trl_1.12"]
    batch = replace(without(dump(run), "rewards", "advantages", "returns"), logged={})
    verdict = verify(batch, settings(run), run.preset)
    assert verdict.agrees
    assert verdict.lines == ()
    assert "has no results that could be compared" in text_of(verdict)
    assert f"policy_loss, recomputed: {dump(run).logged['policy_loss']:.9g}" in text_of(verdict)


@pytest.mark.parametrize("nothing", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("library", ["trl_0.11.4", "openrlhf", "verl", "nemo_rl"])
def test_what_stands_outside_the_mask_is_ignored(library: str, nothing: float) -> None:
    run = FIRST[library]
    batch = dump(run)
    rows = {name: each for name, each in batch.tensors.items() if each.dtype.kind == "f" and each.ndim == 2}
    dirty = {name: np.where(batch.mask, each, nothing) for name, each in rows.items()}
    clean = verify(batch, settings(run), library)
    verdict = verify(changed(batch, **dirty), settings(run), library)
    assert verdict.agrees
    assert verdict.replayed.whole["total_loss"] == clean.replayed.whole["total_loss"]
    assert verdict.replayed.whole["value_loss"] == clean.replayed.whole["value_loss"]


# library, tensor, which response and slot, what the refusal says of the conventions that read it there
READ_OUTSIDE = [
    ("trl_1.12", "values_old", (1, 4), "advantage.tail_slots or value.tail"),
    ("trl_1.12", "values_new", (1, 4), "value.tail"),
    ("trlx", "values_old", (1, 5), "advantage.tail_slots"),
    ("dschat", "logprobs_ref", (1, 4), "reward.kl_at_first_pad"),
    ("openai", "logprobs_new", (2, 5), "batch.response_mask"),
]


@pytest.mark.parametrize(("library", "name", "at", "readers"), READ_OUTSIDE)
def test_what_a_preset_reads_outside_the_mask_must_be_a_number(
    library: str, name: str, at: tuple[int, int], readers: str
) -> None:
    run = FIRST[library]
    batch = dump(run)
    assert not batch.mask[at]
    values = np.array(batch.tensors[name])
    values[at] = np.nan
    with pytest.raises(MinibatchError) as refused:
        replay(changed(batch, **{name: values}), settings(run))
    sentence = str(refused.value)
    assert sentence.startswith(f"dump.npz: {name} is nan in row {at[0]}, column {at[1] + 3}, outside the mask, where ")
    assert readers in sentence


def test_inside_the_mask_a_number_must_stand() -> None:
    run = FIRST["verl"]
    batch = dump(run)
    values = np.array(batch.tensors["values_old"])
    values[1, 2] = np.inf
    with pytest.raises(
        MinibatchError, match="values_old is inf in row 1, column 5, inside the mask: a number must stand"
    ):
        replay(changed(batch, values_old=values), settings(run))
    scores = np.array([1.0, np.nan, 0.0, 2.0])
    with pytest.raises(MinibatchError, match="the score of row 1 is not finite"):
        replay(changed(batch, scores=scores), settings(run))


def test_entropy_that_is_nothing_behind_the_last_word_is_not_watched_there() -> None:
    run = FIRST["trl_1.12"]
    batch = dump(run)
    entropy = np.where(batch.mask, batch.tensors["entropy"], np.nan)
    logged = {"entropy.watched": batch.logged["entropy"]}
    verdict = verify(replace(changed(batch, entropy=entropy), logged=logged), settings(run), run.preset)
    assert verdict.uncompared == {"entropy.watched": "entropy behind the last token"}
    whole = verify(replace(batch, logged=logged), settings(run), run.preset)
    assert [line.says for line in whole.lines if line.compared.name == "entropy.watched"] == ["agrees"]


def test_scores_that_stand_on_words_are_held_against_where_the_preset_has_them() -> None:
    run = FIRST["verl"]
    batch = dump(run)
    placed = replay(batch, settings(run)).rows(range(4))["score.placed"]
    right = verify(changed(batch, scores=placed), settings(run), run.preset)
    assert (right.lines[0].called, right.lines[0].says) == ("scores", "agrees")
    later = replay(batch, settings(run) | {"reward.score_slot": "one_past"}).rows(range(4))["score.placed"]
    wrong = verify(changed(batch, scores=later), settings(run), run.preset)
    assert wrong.first is not None
    assert wrong.first.compared.name == "scores"
    assert any("reward.score_slot = one_past" in each.said for each in wrong.causes)


def test_scores_on_several_words_are_rewards_of_words() -> None:
    run = FIRST["verl"]
    batch = dump(run)
    scores = np.where(batch.mask, 0.25, 0.0)
    inputs = without(batch, "rewards", "advantages", "returns")
    given = changed(inputs, scores=scores)
    found = replay(given, settings(run))
    np.testing.assert_array_equal(found.rows(range(4))["rewards"], scores)
    lines = lines_of(ALL, Judge(given, found).called, Judge(given, found).compared(), {})
    assert lines
    assert "scores" not in {line.called for line in lines}


def test_who_ended_is_assumed_where_the_file_does_not_say() -> None:
    run = FIRST["nemo_aligner"]
    inputs = without(dump(run), "ended", "rewards", "advantages", "returns")
    verdict = verify(replace(inputs, logged={}), settings(run), run.preset)
    assert any("does not say which responses ended" in note for note in verdict.notes)


def test_rows_that_are_not_there_and_empty_minibatches_are_refused() -> None:
    run = FIRST["verl"]
    batch = dump(run)
    with pytest.raises(MinibatchError, match=r"dump\.npz has no row 4: rows are counted from 0 to 3"):
        replay(batch, settings(run)).rows([0, 4])
    empty = replace(
        batch,
        tensors={name: each[:0] for name, each in batch.tensors.items()},
        slots=batch.slots[:0],
        first=batch.first[:0],
    )
    with pytest.raises(MinibatchError, match="has no responses"):
        replay(empty, settings(run))


def test_settings_that_are_none_are_refused() -> None:
    run = FIRST["verl"]
    batch, values = dump(run), settings(run)
    with pytest.raises(MinibatchError, match=r"loss\.aggregation is 'token_mean': write one of token-mean"):
        replay(batch, values | {"loss.aggregation": "token_mean"})
    with pytest.raises(MinibatchError, match="gamma is 'high': write a number"):
        replay(batch, values | {"gamma": "high"})
    with pytest.raises(MinibatchError, match="no value for gamma"):
        replay(batch, {name: each for name, each in values.items() if name != "gamma"})
