"""A file of KTO for the page of `papers`: log-probs of each response and of those to other prompts, and which are good."""

import torch

from blueprint.papers.kto import kto
from blueprint.witness.raw import Named, Page, Raw


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    mask, good = raw.mask("mask"), raw.mask("response.good")
    logp, logp_ref = (raw.tensor(f"{model}.logprobs").where(mask, 0).sum(1) for model in ("policy", "reference"))
    apart = raw.tensor("elsewhere.policy") - raw.tensor("elsewhere.reference")
    logp.requires_grad_()
    made = kto(
        logp - logp_ref, good, apart, beta=raw.number("beta"), desirable=raw.number("desirable_weight"),
        undesirable=raw.number("undesirable_weight"), loss=raw.word("loss_type"),
    )  # fmt: skip
    (slope,) = torch.autograd.grad(made.loss, [logp])
    logp = logp.detach()
    rewards, logps = (
        {side: each[of].sum() / of.sum().clamp(min=1) for side, of in (("chosen", good), ("rejected", ~good))}
        for each in (made.rewards, logp)
    )
    return {
        "single.policy": logp,
        "single.reference": logp_ref,
        "single.ratio": logp - logp_ref,
        "elsewhere.ratio": apart,
        "elsewhere.kl": apart.mean().clamp(min=0),
        "single.z": made.reference_point,
        "single.loss": made.losses.detach(),
        "total_loss": made.loss.detach(),
        "single.slope": slope,
        "single.reward": made.rewards,
        **{f"single.reward.{side}": each for side, each in rewards.items()},
        **{f"single.logps.{side}": each for side, each in logps.items()},
        "single.margin": rewards["chosen"] - rewards["rejected"],
    }


PAGE = Page(results)
