"""A step of DPO computed again in torch, in float64, from the log-probs that its file has.

The formulas are those of the page of libraries; here is what they are fed with, what is logged of them, and how far rounding may
move it.

What may be done otherwise, in `ways`: known mistakes, and conventions that no setting names.

mask: of which tokens a response is: "no_last" without the last one, "one_more" with the one behind, "one_less" without the first,
"text" with the prompt, "all" with prompt and pads. moved: log-probs that stand so many columns later (1) or earlier (−1).
sides: models, "policy" or "reference", whose chosen and rejected responses are exchanged. reference: "none" where it is left out,
"policy" where the policy stands for it; inverted: the log-ratio is reference over policy.
factor: by quantity, what it is multiplied by. ties: how much of a success two equal rewards are.
accuracy_of: "margin" for that in the loss. likely: losses are 1 − σ and no −log σ. summed: sums over pairs and no means.
parts: losses are means over so many parts of the pairs, one below the other. shares: the weights of several losses.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import SIDES, Array
from blueprint.verifying import NO_RESULTS, PLAIN, Again, Given, Settings, Ways
from blueprint.workbooks.dpo.dumps import PairStep
from blueprint.workbooks.dpo.verifying.feeding import MODELS, WHOLE, Fed, exchanged, fed, given_sums, put
from blueprint.workbooks.dpo.verifying.formulas import derived
from blueprint.workbooks.dpo.verifying.losses import losses, terms_of
from blueprint.workbooks.dpo.verifying.needs import lacking
from blueprint.workbooks.dpo.verifying.room import add_room

Rows = Mapping[str, Tensor]
EXCHANGE = frozenset({"sides", "reference", "inverted"})
"""Ways in which models or sides stand in the place of others."""
LOSSES = ("preference_loss", "nll", "total_loss")


def recompute(
    batch: PairStep,
    settings: Settings,
    ways: Ways = PLAIN,
    given: Given = NO_RESULTS,
    sized: bool = False,
    device: str = "cpu",
) -> Again:
    """Computes a step again under the values of a preset.

    given: results of the file that stand in place of computed ones. sized: whether it is asked how far rounding may move what
    comes out.
    """
    found = Again(batch, settings, lacks=lacking(batch, settings))
    if "chosen.log_squares" not in batch.tensors:
        settings = {**settings, "loss.weight": "off"}  # what is made of weights is lacking, all else is not
    with torch.no_grad():
        of = fed(batch, ways, device)
        plain = derived(exchanged(of, ways), settings)
        _sequences(found, plain, ways)
        known = _with_given(of, plain if EXCHANGE.isdisjoint(ways) else derived(of, settings), given, settings)
        used = exchanged(known, ways)
        rows = plain if known is of else derived(used, settings)
        _watched(found, rows, ways, given)
        terms = terms_of(batch, settings, ways)
        _losses(found, losses(used, rows, plain, terms, ways), ways)
        if sized:
            add_room(found, used, lambda moved: losses(moved, derived(moved, settings), plain, terms, ways))
    return found


def _sequences(found: Again, rows: Rows, ways: Ways) -> None:
    """Takes the log-probs of whole responses where those of tokens are there: as the loss has them, and their sums."""
    names = {"": "sum"} | ({".mean": "mean"} if found.settings["logp.of"] != "sum" else {})
    for model, name in MODELS.items():
        if f"chosen.{name}" not in found.batch.tensors:
            continue
        for more, row in names.items():
            both = rows[f"{model}.{row}"].chunk(2)
            for side, each in zip(SIDES, both, strict=True):
                found.rows[f"{side}.{WHOLE[model]}{more}"] = _numbers(each) * _factor(ways, f"{side}.{WHOLE[model]}")


def _with_given(of: Fed, rows: Rows, given: Given, settings: Settings) -> Fed:
    """Returns what is fed, with the file's own log-probs of responses in place of the sums of its tokens.

    Where the loss takes means, the file may have these: then each counts as its own sum.
    """
    known = {model: given_sums(given, model) for model in MODELS}
    if all(each is None for each in known.values()):
        return of
    used = dict(of)
    for model, theirs in known.items():
        if theirs is None:
            continue
        sums, wanted = rows[f"{model}.sum"], torch.from_numpy(theirs).to(rows[f"{model}.sum"])
        if settings["logp.of"] != "sum" and (wanted - rows[f"{model}.mean"]).abs().sum() < (wanted - sums).abs().sum():
            wanted = wanted * rows[f"{model}.count"]
        put(used, model, sums, wanted)
    return used


def _watched(found: Again, rows: Rows, ways: Ways, given: Given) -> None:
    """Takes rewards, margins and the means that are logged of them; two rewards that are equal are no success."""
    both = [_numbers(rows[f"{side}.logged"]) * _factor(ways, f"{side}.reward") for side in SIDES]
    for side, each in zip(SIDES, both, strict=True):
        found.rows[f"{side}.reward"] = each
    used = [np.asarray(given.get(f"{side}.reward", each)) for side, each in zip(SIDES, both, strict=True)]
    margin = found.rows["margin"] = (used[0] - used[1]) * _factor(ways, "margin")
    ahead = _numbers(rows["margin.argument"]) if ways.get("accuracy_of") == "margin" else margin
    right = (ahead > 0) + ways.get("ties", 0.0) * (ahead == 0)
    margin = np.asarray(given.get("margin", margin))
    means = {
        "rewards.chosen": used[0],
        "rewards.rejected": used[1],
        "rewards.margins": margin,
        "rewards.accuracies": right,
    }
    for side in SIDES:
        row = given.get(f"{side}.logp", found.rows.get(f"{side}.logp", found.batch.tensors.get(f"{side}.logp")))
        means |= {} if row is None else {f"logps.{side}": np.asarray(row)}
        if f"{side}.logp.mean" in found.rows:
            means[f"logps.{side}.mean"] = found.rows[f"{side}.logp.mean"]
    over = found.batch.pairs / (found.batch.pairs + float(found.settings["loss.mean_eps"]))
    for name, row in means.items():
        mean = float(_averaged(torch.from_numpy(np.asarray(row, np.float64)), ways)) * _factor(ways, name)
        found.numbers[name] = mean * over if name.startswith("rewards.") else mean
        found.sizes[name] = float(np.abs(row[np.isfinite(row)]).mean()) if np.isfinite(row).any() else 1.0


def _losses(found: Again, made: Mapping[str, Tensor], ways: Ways) -> None:
    found.rows["loss.pair"] = _numbers(made["loss.pair"]) * _factor(ways, "loss.pair")
    for name in LOSSES:
        found.numbers[name] = float(made[name]) * _factor(ways, name)
        found.sizes[name] = abs(found.numbers[name])


def _averaged(terms: Tensor, ways: Ways) -> Tensor:
    if "parts" in ways:
        return torch.stack([each.mean() for each in terms.chunk(ways["parts"])]).mean()
    return terms.mean()


def _factor(ways: Ways, name: str) -> float:
    return float(ways.get("factor", {}).get(name, 1.0))


def _numbers(row: Tensor) -> Array:
    return np.asarray(row.cpu().numpy(), np.float64)
