"""PPO for language models: every row from the inputs and the options, in the order of derivation.

One computation for all: a plain workbook has the default options, a workbook with live conventions its own, libraries side
by side are files that have the same texts, and a file that is too large for memory comes in tiles.
"""

from collections.abc import Mapping
from types import MappingProxyType

import torch

from blueprint.verifying.formulas import losses, metrics, rewards
from blueprint.verifying.formulas.options import Named, Options, Texts, with_end

NOTHING: Mapping[str, torch.Tensor] = MappingProxyType({})


def recompute(
    texts: Texts, options: Options, floor: torch.Tensor, given: Mapping[str, torch.Tensor] = NOTHING
) -> Named:
    """Returns every quantity by the name of its block: [F], [F, N] or [F, N, T (and its edge)].

    `floor` [F] is the variance of the returns up to which the explained variance is 0. Several libraries on one file are
    several files: repeat its texts, and give each its options. `given` is used instead of what is computed: see `instead`.
    """
    rows = update(texts, signal(texts, options, given), options, given)
    return rows | metric_rows(texts, rows, options, floor)


def signal(texts: Texts, options: Options, given: Mapping[str, torch.Tensor] = NOTHING) -> Named:
    """Returns what the loss learns from: places, KL, rewards, advantages and returns."""
    rows = rewards.response_rows(texts.slots, texts.mask, options)
    rows |= rewards.ending_rows(texts, rows, options) | rewards.kl_rows(texts, options)
    rows |= rewards.price_rows(rows, options) | rewards.statistic_rows(rows, options)
    rows |= instead({"score.place": rewards.score_place(rows, options)}, given)
    rows |= instead(rewards.score_rows(texts, rows, options), given)
    rows |= instead(rewards.reward_rows(rows), given)
    rows |= instead(rewards.whitened_rewards(texts.slots, rows, options), given)
    rows |= instead({"values.kept": with_end(rows["kept"] * texts.old_values)}, given)
    rows |= instead(rewards.gae_rows(texts.slots, rows, options), given)
    return rows | instead(rewards.whitened_advantages(texts.slots, rows, options), given)


def instead(found: Named, given: Mapping[str, torch.Tensor]) -> Named:
    """Returns the rows with those that are given put in their place, and as `computed.NAME` what stood there.

    A number that is not a number is not given: what was computed stands there.
    """
    both = {name: (found[name], given[name]) for name in given if name in found}
    used = {name: torch.where(theirs.isnan(), ours, theirs) for name, (ours, theirs) in both.items()}
    return found | used | {f"computed.{name}": ours for name, (ours, _) in both.items()}


def counts(texts: Texts, before: Named, options: Options) -> Named:
    """Returns the rows before, and from them which tokens count and what each weighs in losses and metrics."""
    rows = before | losses.counted_rows(before, options) | losses.mode_rows(options)
    for name in losses.WEIGHED:
        rows |= losses.weight_rows(name, rows, options)
    return rows | metrics.watch_rows(texts, rows, options)


def update(texts: Texts, before: Named, options: Options, given: Mapping[str, torch.Tensor] = NOTHING) -> Named:
    """Returns the rows before, and from them the losses of tokens, their weights, and the parts of the loss."""
    rows = counts(texts, before, options)
    rows |= losses.ratio_rows(texts, rows, options)
    rows |= losses.surrogate_rows(rows, options) | losses.value_rows(texts.values, rows, options)
    rows |= losses.keep_rows(rows, options)
    rows |= instead(losses.part_rows(texts, rows, options), given)
    rows |= losses.total_rows(rows, options)
    return rows | losses.share_rows(texts, rows, options)


def metric_rows(texts: Texts, rows: Named, options: Options, floor: torch.Tensor) -> Named:
    """Returns the metrics, from the rows of `signal` and `update`."""
    found = metrics.update_rows(texts, rows, options) | metrics.clip_rows(rows, options)
    found |= metrics.fraction_rows(rows | found, options)
    return found | metrics.explained_rows(texts, rows, options, floor)


def read_rows(texts: Texts, options: Options) -> Named:
    """Returns 1 at every response position at which an input is read, by its name in Texts, [F, N, T].

    Only slots and mask are looked at. What stands at other response positions changes no number of the batch.
    """
    rows = rewards.response_rows(texts.slots, texts.mask, options)
    rows |= {"response.ended": texts.ended} | rewards.price_rows(rows, options)
    rows |= losses.counted_rows(rows, options)
    response = rows["response"]
    paid = torch.maximum(response, rows["kl.support"])
    return {
        "old_logprobs": paid,
        "reference_logprobs": paid,
        "logprobs": response,
        "entropy": response,
        "old_values": torch.maximum(rows["kept"], rows["value.counted"]),
        "values": torch.maximum(response, rows["value.counted"]),
    }


def compared_rows(texts: Texts, options: Options) -> Named:
    """Returns 1 at every response position at which a row means something, [F, N, T]: rewards and what they become.

    Scores count at every response position, rewards where a value is kept or the score lands, returns where a value is kept or the
    value loss counts, advantages on the tokens of the response. What libraries leave elsewhere is read by none.
    """
    rows = rewards.response_rows(texts.slots, texts.mask, options)
    rows |= losses.counted_rows(rows | {"response.ended": texts.ended}, options)
    return {
        "scores": texts.slots,
        "rewards": torch.maximum(rows["kept"], rewards.score_place(rows, options)),
        "advantages": rows["response"],
        "returns": torch.maximum(rows["response"], rows["value.counted"]),
    }
