"""A file of the frontier for the page of `papers`: weights of tokens, what they are worth, a row of β and a row of n."""

import numpy as np
import torch
from torch import Tensor

from blueprint.papers.frontier import Point, best_of, bound, counted, point, said, tilted
from blueprint.witness.raw import Named, Page, Raw
from blueprint.witness.settings import block, ids

PLACES = ("1", "2", "3")


def results(raw: Raw) -> Named:
    """Return the named results of a file."""
    tokens, written = _tokens(raw)
    reference = said(tokens, written, raw.tensor("reference.weights"))
    count = counted(tokens, written, len(raw.tensor("reference.weights"))).to(reference.dtype)
    occurs = count.clamp(max=1)
    repeats, unended = (count - occurs).sum(-1), 1 - count[:, 0]
    proxy = occurs @ raw.tensor("proxy.once") + count @ raw.tensor("proxy.each")
    gold = occurs @ raw.tensor("gold.once") + raw.number("repeated") * repeats + raw.number("cut") * unended
    # Sums of the same parts may differ in their last digit: what ties by hand must tie here.
    proxy_ties = proxy.mul(1e9).round().div(1e9)
    here, start = tilted(reference, proxy, gold, raw.number("beta")), point(reference, reference, proxy, gold)
    sweep = [tilted(reference, proxy, gold, float(beta)) for beta in raw.tensor("sweep.beta")]
    draws = raw.tensor("best.draws")
    kept = [best_of(float(n), reference, proxy_ties, gold) for n in draws]
    return {
        "reference.logp": reference,
        "response.p": reference.exp(),
        "reward.proxy": proxy,
        "reward.gold": gold,
        "reference.proxy": start.proxy,
        "reference.gold": start.gold,
        "optimum.p": here.logp.exp(),
        "optimum.proxy": here.proxy,
        "optimum.gold": here.gold,
        "optimum.kl": here.kl,
        "objective": here.proxy - raw.number("beta") * here.kl,
        **_rows("sweep", sweep),
        **_rows("best", kept),
        "best.kl_bound": bound(draws),
        **_forms(raw, start, sweep, kept),
    }


def _rows(name: str, points: list[Point]) -> Named:
    """Return the rows of a row of policies, and which of them is best for gold."""
    found = {
        part: torch.stack([getattr(each, part) for each in points]) for part in ("proxy", "gold", "kl")
    }  # [B] each
    top = found["gold"].argmax()
    return {
        f"{name}.p": torch.stack([each.logp.exp() for each in points]),
        **{f"{name}.{part}": row for part, row in found.items()},
        f"{name}.distance": found["kl"].clamp(min=0).sqrt(),
        f"{name}.gold_best": found["gold"][top],
        f"{name}.best_kl": found["kl"][top],
    }


def _forms(raw: Raw, start: Point, sweep: list[Point], kept: list[Point]) -> Named:
    """Return gold by the two forms of Gao et al., with the coefficients that are typed."""
    d, d_n = (torch.stack([each.kl for each in points]).clamp(min=0).sqrt() for points in (sweep, kept))
    rl = d * raw.number("rl_alpha") - raw.number("rl_beta") * torch.special.xlogy(d, d)
    bon = d_n * raw.number("bon_alpha") - raw.number("bon_beta") * d_n.square()
    return {"form.rl": start.gold + rl, "form.bon": start.gold + bon}


def _tokens(raw: Raw) -> tuple[Tensor, Tensor]:
    """Return the tokens of every response, 0 where there is none, and where there is one."""
    known = block(raw.file, "vocabulary")
    found = [ids(block(raw.file, f"word.{at}"), known, f"word.{at}") for at in PLACES]  # -1: a blank
    tokens = torch.as_tensor(np.stack(found, -1).astype(np.int64), device=raw.device)
    return tokens.clamp(min=0), tokens >= 0


PAGE = Page(results)
