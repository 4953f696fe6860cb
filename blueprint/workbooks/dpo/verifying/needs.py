"""What each quantity of a step takes under the conventions in force, and what a file lacks of it."""

from blueprint.dumps import SIDES
from blueprint.verifying import Settings
from blueprint.workbooks.dpo.dumps import PairStep

OF_LOGITS = ("logits.chosen", "logits.rejected", "entropy", "token_accuracy")
TRUE = ("rpo_squared", "rpo_backward", "rpo_forward")


def lacking(batch: PairStep, settings: Settings) -> dict[str, str]:
    """Returns by quantity what is missing for it."""
    has, form = batch.tensors, settings["loss.form"]
    tokens = [] if "chosen.logprobs" in has else ["log-probs of each token"]
    known = bool({"chosen.logp_ref", "chosen.logprobs_ref"} & has.keys())
    reference = [] if known or settings["reference.used"] == "off" else ["log-probs under the reference"]
    means = tokens if settings["logp.of"] != "sum" else []
    rewards = [*reference, *means]
    watched = settings["watch.rewards"]
    rewards = [] if watched == "sum" and known else rewards
    if watched in ("sum", "with_reference") and not known:
        rewards = ["log-probs under the reference"]
    loss = [*reference, *means]
    loss += ["log-probs of responses to other prompts"] if form == "kto" else []
    loss += ["true rewards"] if form in TRUE else []
    loss += tokens if form == "orpo_tokens" else []
    loss += ["log_sum_sq_probs"] if settings["loss.weight"] != "off" and "chosen.log_squares" not in has else []
    nll = tokens if float(settings["loss.nll_coef"]) else []
    found = dict.fromkeys(OF_LOGITS, "logits")
    takes = {
        "nll": tokens, "preference_loss": loss, "loss.pair": loss, "total_loss": [*loss, *nll],
        **dict.fromkeys((*(f"{side}.reward" for side in SIDES), "margin"), rewards),
        **dict.fromkeys(("rewards.chosen", "rewards.rejected", "rewards.margins", "rewards.accuracies"), rewards),
    }  # fmt: skip
    return found | {name: " and ".join(dict.fromkeys(each)) for name, each in takes.items() if each}
