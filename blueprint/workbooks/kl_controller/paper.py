"""A file of the KL controller for the page of `papers`: the KL and the length of each response of each batch."""

import torch

from blueprint.papers.kl_controller import AdaptiveKLController, mean_of_sums, mean_per_token
from blueprint.witness.raw import Named, Page, Raw

STATISTICS = {"seq_sum": mean_of_sums, "token_mean": mean_per_token}


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    kl, lengths = raw.tensor("responses.kl"), raw.tensor("responses.length")
    statistics = {
        name: torch.stack([mean(*of) for of in zip(kl, lengths, strict=True)]) for name, mean in STATISTICS.items()
    }
    fed, first = statistics[raw.word("kl_stat")], kl.new_tensor(raw.number("kl_coef"))
    controller = AdaptiveKLController(first, raw.number("target"), raw.number("horizon"), raw.number("error_clip"))
    betas, factors = [first], []
    for each in fed:
        factors.append(controller.update(each, raw.number("n_steps")))
        betas.append(controller.value)
    return {
        "kl.seq_sum": statistics["seq_sum"],
        "kl.token_mean": statistics["token_mean"],
        "kl.fed": fed,
        "factor": torch.stack(factors),
        "kl_coef.before": torch.stack(betas[:-1]),
        "kl_coef.after": torch.stack(betas),
        "final_kl_coef": controller.value,
    }


PAGE = Page(results)
