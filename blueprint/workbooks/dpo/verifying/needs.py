"""What each quantity of a step takes under the conventions in force, and what a file lacks of it."""

from blueprint.dumps import SIDES
from blueprint.verifying import Settings
from blueprint.workbooks.dpo.dumps import PairStep

OF_LOGITS = ("logits.chosen", "logits.rejected", "entropy", "token_accuracy")
REFERENCE = "log-probs under the reference"
TRUE = ("rpo_squared", "rpo_backward", "rpo_forward")


def lacking(batch: PairStep, settings: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it."""
    known = bool({"chosen.logp_ref", "chosen.logprobs_ref"} & batch.tensors.keys())
    tokens = [] if "chosen.logprobs" in batch.tensors else ["log-probs of each token"]
    reference = [] if known or settings["reference.used"] == "off" else [REFERENCE]
    watched = settings["watch.rewards"]
    rewards = [] if watched == "sum" and known else [*reference, *(tokens if settings["logp.of"] != "sum" else [])]
    if watched in ("sum", "with_reference") and not known:
        rewards = [REFERENCE]
    loss = [each for use in uses(batch, settings) for each in (*reference, *_of_loss(batch, use, tokens))]
    nll = tokens if float(settings["loss.nll_coef"]) else []
    found = dict.fromkeys(OF_LOGITS, "logits")
    takes = {
        "nll": tokens, "preference_loss": loss, "loss.pair": loss, "total_loss": [*loss, *nll],
        **dict.fromkeys((*(f"{side}.reward" for side in SIDES), "margin"), rewards),
        **dict.fromkeys(("rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies"), rewards),
    }  # fmt: skip
    return found | {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}


def uses(batch: PairStep, settings: Settings) -> list[Settings]:
    """Returns the conventions of each loss of which the loss is the sum; usually there is one."""
    return [{**settings, **own} for _, own in batch.terms] or [settings]


def _of_loss(batch: PairStep, use: Settings, tokens: list[str]) -> list[str]:
    """Returns what one loss takes besides the reference."""
    form = use["loss.form"]
    found = tokens if use["logp.of"] != "sum" or form == "orpo_tokens" else []
    squares = use["loss.weight"] != "off" and "chosen.log_squares" not in batch.tensors
    return [
        *found,
        *(["log-probs of responses to other prompts"] if form == "kto" else []),
        *(["true rewards"] if form in TRUE else []),
        *(["log_sum_sq_probs"] if squares else []),
    ]
