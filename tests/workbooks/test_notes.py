"""The notes at the head of the rows: each belongs to a row, is short, and adds to what is printed beside it anyway."""

from __future__ import annotations

import re
from functools import cache

from blueprint.inputs import load
from blueprint.language import Block
from blueprint.language.blocks import About
from blueprint.page.outline import Blueprint
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common.conventions import LIVE
from blueprint.workbooks.common.guides import note_of as note_in
from blueprint.workbooks.common.guides import notes_in
from blueprint.workbooks.registry import kinds
from tests.replayed import window_book, with_everything_logged


@cache
def builds() -> dict[str, Blueprint]:
    """Makes the outlines whose notes are read; not where tests are collected, in each worker."""
    return {
        "default": blueprint_of(load("default")),
        "very-very-sleepy": blueprint_of(load("very-very-sleepy")),
        "ten-libraries": blueprint_of(load("ten-libraries")),
        "live default": blueprint_of(load("default", ["conventions=live"])),
        "fixed responses": blueprint_of(load("default", ['rollout.responses=["very happy <eos>", ""]'])),
        "gradients": blueprint_of(load("default", ["gradients=on", "conventions=live"])),
        "epochs": blueprint_of(load("epochs", ["update.epochs=1"])),
        "a minibatch": window_book().blueprint,
        "a minibatch, all logged": window_book(batch=with_everything_logged()).blueprint,
    }


@cache
def blocks() -> list[tuple[str, Block]]:
    """Lists all blocks with the outline in which they stand."""
    return [(build, block) for build, made in builds().items() for block in made.blocks()]


@cache
def names() -> frozenset[str]:
    """Returns the names of all blocks."""
    return frozenset(block.name for _, block in blocks())


PLACES = [place for kind in kinds() if kind.name == "rlhf_ppo" for place in kind.notes]
NOTES = notes_in(PLACES, LIVE)


def note_of(name: str) -> str:
    """Returns the note of a block."""
    return note_in(name, NOTES)


@cache
def abouts() -> dict[tuple[str, About], str]:
    """Returns where a block is called so; it may be called otherwise where conventions are live: every way is looked at once."""
    return {(block.name, block.about): build for build, block in blocks() if note_of(block.name)}


LONGEST = 320

LIVE_ROWS = (
    "response", "kept", "place.until", "place.last", "place.first_past", "place.second_past", "place.end",
    "place.one_past", "place.two_past", "kl.abs", "kl.chosen", "kl.support", "score.ended", "score.corrected",
    "score.clipped", "score.place", "score.placed", "kl_coef.reward", "rewards.raw", "reward.whitened", "reward.shifted",
    "reward.counted", "reward.bessel", "reward.divisor", "values.kept", "gae.over", "gae.ahead", "advantage.counted",
    "advantage.bessel", "advantage.divisor", "advantage.shifted", "surrogate.pessimistic", "surrogate.floor",
    "loss.kept", "loss.mean_ratio", "loss.keep",
    *(f"{loss}.weight.{row}" for loss in ("policy", "value", "entropy")
      for row in ("length", "rows", "token_mean", "token_sum", "seq_sum", "seq_norm", "seq_mean", "chosen", "row")),
    "value.counted", "value.larger", "kl_new.k1", "kl_new.k3", "kl_new.used", "kl_new.exact", "kl_loss", "kl_coef.loss",
    "vf_coef.used", "adds.kl_loss", "watch.over", "watch.eps", "watch.slots.count", "watch.words.count",
    "watch.values.count", "entropy.watched", "policy_kl.k2", "approx_kl.used", "ratio.mean", "clip_fraction.used",
    "clip_fraction.dual", "clip_fraction.value", "kl.statistic", "ev.free", "ev.returns.variance", "ev.residual_old",
    "ev.residual_new", "ev.mse", "ev.error", "ev.used",
)  # fmt: skip
# These stand once in a workbook, for all libraries.
SHARED = ("place.", "kl_new.exact")

MUST_HAVE = (
    "gamma", "gae_lambda", "kl_coef", "clip_range", "value_clip_range", "vf_coef", "ent_coef", "policy_kl_coef",
    "update_step", "whiten_eps", "kl_estimator", "whiten_advantages", "given", "max_new_tokens", "vocabulary",
    "rollout.read", "rollout.draw", "rollout.drawn", "rollout.ends", "rollout.ended", "word_written", "mask",
    "response.length", "response.words",
    *(f"{model}.{row}" for model in ("old", "reference", "policy")
      for row in ("E", "W", "Y", "inputs", "memory", "logits", "top", "logsumexp", "log_p", "p", "p_log_p", "logprobs")),
    *(f"{model}.{row}" for model in ("reward_model", "old_critic", "critic")
      for row in ("E", "W", "head.w", "head.b", "inputs", "memory", "out")),
    *(f"policy.delta.{weight}" for weight in ("E", "W", "Y")),
    *(f"critic.delta.{weight}" for weight in ("E", "W", "head.w", "head.b")),
    "old_critic.values", "critic.values", "reward.score", "kl.k1", "kl.k2", "kl.k3", "kl.used", "kl.exact",
    "reward.penalty", "rewards", "td_errors", "advantages", "returns", "advantage.mean", "advantage.centred",
    "advantage.variance", "advantage.whitened", "advantages_used", "log_ratio", "ratio", "surrogate.unclipped",
    "ratio.clipped", "surrogate.clipped", "surrogate", "clip_fraction.changed", "clip_fraction.outside", "policy_loss",
    "value.error", "value.square", "value.clipped", "value.square_clipped", "value.word_loss", "value_loss",
    "policy.entropy", "entropy", "policy_kl.exact", "policy_kl.k1", "policy_kl.k3", "policy_kl", "adds.value_loss",
    "adds.entropy", "adds.policy_kl", "total_loss", "share", "clip_fraction.loss", "clip_fraction.ratio", "approx_kl.k1",
    "approx_kl.k3", "kl.per_word", "kl.per_response", "score.mean", "non_score_reward", "response.mean_length",
    "response.longest", "advantage.mean_abs", "explained_variance", "case.ratio", "case.loss",
    "check.master", "check.returns", "check.ratio", "check.total",
    "preset", *LIVE, *(f"{table}.{key}" for table in ("presets", "library") for key in LIVE),
    *LIVE_ROWS, *(f"library.{row}" for row in LIVE_ROWS if not row.startswith(SHARED)),
    "library.names", "library.differences",
)  # fmt: skip

# The versions that were read; a library without one says nothing that could be checked.
VERSIONS = {
    "lm-human-preferences": ("cbfd210",), "TRL": ("0.11.4", "1.12"), "OpenRLHF": ("0.11.2",), "verl": ("0.9.1",),
    "trlX": ("3340c2f",), "DeepSpeed-Chat": ("83757d9",), "NeMo-Aligner": ("0.7",), "NeMo-RL": ("7ea279a",),
    "torchtune": ("bd2a0fc",), "CleanRL": ("fe8d8a0",), "Stable-Baselines3": ("2.9.2",), "TorchRL": ("0.14.1",),
}  # fmt: skip
LIBRARY = re.compile(rf"\b({'|'.join(sorted(VERSIONS, key=len, reverse=True))})\b(?! PR#|#)(?: (\S*\w))?")


def test_a_key_is_a_block_or_the_end_of_several() -> None:
    def stands(key: str) -> bool:
        if not key.startswith("."):
            return key in names()
        return any(name.endswith(key) and note_of(name) == NOTES[key] for name in names())

    assert [key for key in NOTES if not stands(key)] == []


def test_no_key_is_written_twice() -> None:
    files = {file for place in PLACES for file in (place.glob("*.toml") if place.is_dir() else [place])}
    assert len(files) > 8
    assert sum(len(notes_in([file])) for file in files) + len(notes_in([], LIVE)) == len(NOTES)


def test_some_rows_have_another_note_where_conventions_are_live() -> None:
    live = notes_in(PLACES, LIVE, there=["presets.names"])
    other = {key for key, note in live.items() if note != NOTES[key]}
    assert other == {"old_critic.values", "critic.values"}
    for build, told in (("default", NOTES), ("live default", live), ("a minibatch", live)):
        notes = builds()[build].notes
        assert [key for key in other if notes.get(key, told[key]) != told[key]] == []


def test_a_note_is_one_to_four_sentences() -> None:
    assert {key: len(note) for key, note in NOTES.items() if len(note) > LONGEST} == {}
    assert [key for key, note in NOTES.items() if note != " ".join(note.split())] == []
    assert [key for key, note in NOTES.items() if not note.endswith(".") or "!" in note] == []
    sentences = {key: len(re.findall(r"[.?](?= |$)", note)) for key, note in NOTES.items()}
    assert {key: number for key, number in sentences.items() if not 1 <= number <= 4} == {}


def test_what_one_hovers_over_has_a_note() -> None:
    assert [name for name in MUST_HAVE if name not in names() or not note_of(name)] == []


def test_a_row_that_only_repeats_another_has_none() -> None:
    assert [(build, block.name) for build, block in blocks() if block.link and note_of(block.name)] == []


def test_a_note_adds_to_the_meaning_and_the_source() -> None:
    assert len(abouts()) > 500
    new = {where: _words(note_of(where[0])) - _words(where[1].meaning) - _words(where[1].source) for where in abouts()}
    assert {abouts()[where]: where[0] for where, words in new.items() if len(words) < 6} == {}, "they merely repeat"
    assert [name for name, about in abouts() if about.meaning.lower() in note_of(name).lower()] == []


def test_a_library_is_named_with_its_version() -> None:
    found = [(library, version) for note in NOTES.values() for library, version in LIBRARY.findall(note)]
    assert len(found) > 100
    assert {library for library, _ in found} == set(VERSIONS)
    assert [each for each in found if each[1] not in VERSIONS[each[0]]] == []


def test_what_is_repeated_for_a_library_or_a_preset_has_the_note_of_the_original() -> None:
    assert note_of("library.gamma") == note_of("presets.gamma") == NOTES["gamma"]
    assert note_of("library.policy.weight.row") == note_of("value.weight.row") == NOTES[".weight.row"]
    assert note_of("library.value.counted") == NOTES["value.counted"]
    assert note_of("library.names") == NOTES["library.names"]
    assert note_of("library.kl_estimator.number") == note_of("library.nothing") == ""


def test_the_longest_ending_counts() -> None:
    assert note_of("policy.delta.E") == NOTES[".delta.E"] != note_of("old.E") == NOTES[".E"]
    assert note_of("policy.E") == NOTES["policy.E"] != NOTES[".E"]
    assert note_of("reward_model.out") != note_of("critic.out") == NOTES[".out"]
    assert note_of("kl_estimator.number") == note_of("nothing") == note_of("") == ""


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
