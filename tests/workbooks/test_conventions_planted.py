"""Mistakes planted in the definitions of conventions: what a library's own code computed sees each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

pytest.importorskip("torch", reason="the table of recorded quantities is written in torch")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block, Operand, Sum, exp, maximum, minimum
from blueprint.language.blocks import Definition
from blueprint.language.nodes import wrap
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common import n, t
from tests.recorded_ppo import RUNS, differing
from tests.workbooks.switched import asked
from tests.workbooks.test_conventions_golden import found_in

Blocks = Mapping[str, Block]


class Wrong(NamedTuple):
    """A mistake: the block whose body is wrong, what stands there instead, and the recorded run that sees it."""

    name: str
    block: str
    change: Callable[[Blocks], Operand]
    run: str
    variant: str = "result"


OPENAI, OLD, NEW = "openai_lm_human_preferences", "trl_0.11.4_PPOTrainer", "trl_1.12.0_PPOTrainer"
VERL, TUNE, RLHF, TRLX = "verl_0.9.1", "torchtune_head", "openrlhf_0.11.2", "trlx_head"
CHAT, ALIGNER, NEMO = "deepspeed_chat", "nemo_aligner_0.7", "nemo_rl_head"

# fmt: off
MISTAKES = (
    Wrong("one position too many is kept", "kept",
          lambda b: maximum(b["response"][n, t], b["place.first_past"][n, t]), OLD, "variant_whiten_rewards"),
    Wrong("the second position behind is forgotten", "kept",
          lambda b: maximum(b["response"][n, t], minimum(b["advantage.tail_slots"], 1) * b["place.first_past"][n, t]), TRLX),
    Wrong("two past is one past", "place.two_past", lambda b: b["place.one_past"][n, t], TRLX),
    Wrong("a full row loses its score", "place.one_past", lambda b: b["place.first_past"][n, t], NEW),
    Wrong("the score on all tokens but the last", "place.last", lambda b: b["signal.mask"][n, t] * b["place.until"][n, t + 1], OLD),
    Wrong("|k1| for k1", "kl.abs", lambda b: b["kl.k1"][n, t], ALIGNER),
    Wrong("k3 the other way round", "kl.k3", lambda b: exp(b["kl.k1"][n, t]) - 1 - b["kl.k1"][n, t], NEMO),
    Wrong("the first pad's KL is forgotten", "kl.support", lambda b: b["response"][n, t] * 1, CHAT),
    Wrong("score not clipped", "score.clipped", lambda b: b["score.corrected"][n] * 1, CHAT),
    Wrong("the penalty is added", "score.subtracted",
          lambda b: b["score.shortened"][n] + (1 - b["score.ended"][n]) * b["reward.missing_eos_value"], NEW,
          "variant_missing_eos_penalty_1"),
    Wrong("the score is set although it ended", "score.replaced", lambda b: b["reward.missing_eos_value"] * 1, TUNE),
    Wrong("mean of the rewards lost", "reward.shifted", lambda b: b["kept"][n, t] * b["reward.whitened"][n, t], OPENAI),
    Wrong("pads zeroed where the library leaves them", "reward.shifted",
          lambda b: b["kept"][n, t] * (b["reward.whitened"][n, t] + b["reward.mean"]), OLD, "variant_whiten_rewards"),
    Wrong("n for n − 1", "advantage.bessel", lambda b: wrap(1), OLD),
    Wrong("n − 1 for n", "advantage.bessel",
          lambda b: maximum(b["advantage.count"], 1) / maximum(b["advantage.count"] - 1, 1), RLHF),
    Wrong("mean of the advantages not put back", "advantage.shifted", lambda b: b["advantage.whitened"][n, t] * 1, TUNE),
    Wrong("statistics over the mask", "advantage.counted", lambda b: b["response"][n, t] * 1, TRLX),
    Wrong("dual clip for every token", "surrogate.floor", lambda b: b["loss.dual_clip"] * b["advantages_used"][n, t], VERL),
    Wrong("dual clip forgotten", "surrogate", lambda b: b["surrogate.pessimistic"][n, t] * 1, VERL),
    Wrong("clip above as below", "ratio.clipped",
          lambda b: maximum(1 - b["clip_range"], minimum(1 + b["clip_range"], b["ratio"][n, t])), VERL, "variant_clip_higher"),
    Wrong("cut responses are counted", "loss.kept", lambda b: wrap(1), ALIGNER),
    Wrong("the value loss forgets its position", "value.counted", lambda b: b["loss.response"][n, t] * 1, NEW),
    Wrong("the smaller square", "value.larger", lambda b: minimum(b["value.square"][n, t], b["value.square_clipped"][n, t]), OLD),
    Wrong("mean of sums for mean of means", "policy.weight.seq_mean",
          lambda b: b["policy.weight.wrote"][n] / b["policy.weight.rows"], VERL, "variant_seq_mean_token_mean"),
    Wrong("longest response for positions", "policy.weight.seq_norm",
          lambda b: 1 / (b["policy.weight.rows"] * b["response.words"]), VERL, "variant_seq_mean_token_sum_norm"),
    Wrong("policy's mode for the value loss", "value.mode", lambda b: b["loss.aggregation.number"] * 1,
          RLHF, "variant_seq_mean_token_mean"),
    Wrong("pads in the KL of the update", "watch.over", lambda b: b["response"][n, t] * 1, NEW),
    Wrong("both optimisers in one sum", "vf_coef.used", lambda b: b["loss.joint.number"] * b["vf_coef"] * 2, OPENAI),
    Wrong("KL of the loss by the old policy", "kl_loss",
          lambda b: Sum((n, t), b["policy.weight.row"][n, t] * b["kl.used"][n, t]), NEMO, "variant_kl_in_loss_k3"),
)
# fmt: on


def book_of(wrong: Wrong | None, run: str, variant: str) -> tuple[object, Book]:
    """Builds the workbook of a recorded run, with a mistake in it."""
    recorded = next(each for each in RUNS if each.place == (run, variant))
    blueprint = blueprint_of(load("ten-libraries", asked(recorded.preset, recorded.changes)))
    if wrong is not None:
        blocks = {block.name: block for block in blueprint.blocks()}
        definitions = blocks[wrong.block].definitions
        definitions[-1] = Definition(definitions[-1].target, wrap(wrong.change(blocks)))
    return recorded, Book(blueprint)


@pytest.mark.parametrize("wrong", MISTAKES, ids=lambda wrong: wrong.name)
def test_a_librarys_own_numbers_see_the_mistake(wrong: Wrong) -> None:
    recorded, book = book_of(wrong, wrong.run, wrong.variant)
    arrays = {block.name: array for block, array in book.values.arrays.items()}
    assert differing(recorded, found_in(arrays)) != []  # type: ignore[arg-type]
