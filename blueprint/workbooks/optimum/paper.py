"""A file of the optimum for the page of `papers`: logits of the reference, rewards, where the policy stands, and pairs."""

import numpy as np
import torch
from torch import Tensor

from blueprint.papers.optimum import asked, best, divergence, reached, response_logps
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import block, ids


def results(raw: Raw) -> Named:
    """Returns the named results of a file."""
    beta, r = raw.number("beta"), raw.tensor("reward.scores")
    tokens = torch.stack([_words(raw, f"word.{name}") for name in ("first", "second")], -1)
    pairs = torch.stack([raw.ids(f"pair.{name}") - 1 for name in ("left", "right")], -1)
    reference = response_logps(raw.tensor("reference.first"), raw.tensor("reference.second"), tokens)
    optimum, top = best(reference, r, beta)
    z = reference + raw.number("way") * r / beta + raw.tensor("policy.beside")
    ours, far, here = reached(z, reference, r, beta), divergence(z, optimum), z.log_softmax(-1)
    loss, least = (asked(each, reference, r, pairs, beta) for each in (z, optimum))
    on_the_way = [reference + step * r / beta for step in raw.tensor("way.step")]
    return {
        "reference.logp": reference,
        "response.p": reference.exp(),
        "optimum.log_p": optimum,
        "optimum.p": optimum.exp(),
        "objective.best": top,
        "policy.log_p": here,
        "policy.p": here.exp(),
        "policy.log_ratio": here - reference,
        "mean_reward": ours.mean_reward,
        "kl.reference": ours.kl,
        "objective": ours.objective,
        "objective.gradient": ours.gradient,
        "objective.below": top - ours.objective,
        "kl.optimum": far,
        "implicit.reward": beta * (here - reference),
        "prefers.p": loss.preferred,
        "pair.margin": loss.margin,
        "pair.loss": loss.losses,
        "pair.least": least.losses,
        "dpo_loss": loss.loss,
        "dpo_loss.best": least.loss,
        "dpo_loss.above": loss.loss - least.loss,
        "dpo.gradient": loss.gradient,
        "way.p": torch.stack([each.softmax(-1) for each in on_the_way]),
        "way.below": torch.stack([beta * divergence(each, optimum) for each in on_the_way]),
        "way.above": torch.stack([asked(each, reference, r, pairs, beta).loss - least.loss for each in on_the_way]),
    }


def _words(raw: Raw, name: str) -> Tensor:
    found = ids(block(raw.file, name), block(raw.file, "vocabulary"), name, blanks=False)
    return torch.as_tensor(np.asarray(found, dtype=np.int64), device=raw.device)


PAGE = Page(results)
