"""A file of the frontier for the page of `papers`: weights of tokens, what they are worth, a row of β and a row of n."""

import numpy as np
import torch
from torch import Tensor

from blueprint.papers.frontier import Point, best_of, bound, counted, distances, point, said, tilted
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
    betas = raw.tensor("sweep.beta")
    sweep = [tilted(reference, proxy, gold, float(beta)) for beta in betas]
    draws, least = raw.tensor("best.draws"), raw.number("least_kl")
    kept = [best_of(float(n), reference, proxy_ties, gold) for n in draws]
    return {
        "reference.logp": reference,
        "reference.chance": reference.exp(),
        "reward.proxy": proxy,
        "reward.gold": gold,
        "reference.proxy": start.proxy,
        "reference.gold": start.gold,
        "optimum.p": here.logp.exp(),
        "optimum.proxy": here.proxy,
        "optimum.gold": here.gold,
        "optimum.kl": here.kl,
        "optimum.objective": here.proxy - raw.number("beta") * here.kl,
        **_rows("sweep", sweep, least),
        "sweep.objective": torch.stack([each.proxy - beta * each.kl for beta, each in zip(betas, sweep, strict=True)]),
        "sweep.best_beta": betas[torch.stack([each.gold for each in sweep]).argmax()],
        "sweep.likeliest_p": torch.stack([each.logp.max().exp() for each in sweep]),
        **_rows("best", kept, least),
        "best.best_draws": draws[torch.stack([each.gold for each in kept]).argmax()],
        "best.kl_bound": bound(draws),
        **_forms(raw, start, sweep, kept),
    }


def _rows(name: str, points: list[Point], least: float) -> Named:
    """Return the rows of a row of policies, and which of them is best for gold."""
    found = {
        part: torch.stack([getattr(each, part) for each in points]) for part in ("proxy", "gold", "kl")
    }  # [B] each
    top = found["gold"].argmax()
    return {
        f"{name}.p": torch.stack([each.logp.exp() for each in points]),
        **{f"{name}.{part}": row for part, row in found.items()},
        f"{name}.distance": distances(points, least),
        f"{name}.gold_best": found["gold"][top],
        f"{name}.best_kl": found["kl"][top],
    }


def _forms(raw: Raw, start: Point, sweep: list[Point], kept: list[Point]) -> Named:
    """Return gold by the two forms of Gao et al., with the coefficients that are typed."""
    d, d_n = (distances(points, raw.number("least_kl")) for points in (sweep, kept))
    rl = d * raw.number("rl_alpha") - raw.number("rl_beta") * torch.special.xlogy(d, d)
    bon = d_n * raw.number("bon_alpha") - raw.number("bon_beta") * d_n.square()
    found: Named = {}
    for name, form, points in (("rl", rl, sweep), ("bon", bon, kept)):
        gap = (torch.stack([each.gold for each in points]) - start.gold - form).abs()
        found |= {f"form.{name}": start.gold + form, f"form.{name}_gap": gap, f"form.{name}_worst": gap.max()}
    return found


def _tokens(raw: Raw) -> tuple[Tensor, Tensor]:
    """Return the tokens of every response, 0 where there is none, and where there is one."""
    known = block(raw.file, "vocabulary")
    found = [ids(block(raw.file, f"word.{at}"), known, f"word.{at}") for at in PLACES]  # -1: a blank
    tokens = torch.as_tensor(np.stack(found, -1).astype(np.int64), device=raw.device)
    return tokens.clamp(min=0), tokens >= 0


PAGE = Page(results)
