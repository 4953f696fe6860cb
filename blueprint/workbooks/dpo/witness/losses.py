"""The loss of each pair by every form, [P]: papers and libraries are named beside each."""

from math import log

import torch
from torch import Tensor

from blueprint.witness import Asked, Nodes, log_sigmoid
from blueprint.workbooks.dpo.witness.places import SIDES, Places
from blueprint.workbooks.dpo.witness.sorting import sorted_rows

OF_ITS_OWN = {"kto": "loss.kto_mean", "apo_zero_unpaired": "loss.apo_zero_unpaired_mean"}
"""Forms that take each response by itself: the pairs have none."""


def pair_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds all forms, and the one in use."""
    margin_forms(r, use)
    for add in (target_forms, reward_forms, threshold_forms):
        add(r, use)
    places.sides(r, "true", r["true.reward"])
    true_forms(r)
    r["sorted.policy"] = r["chosen.logp"] - r["rejected.logp"]
    r["sorted.reference"] = r["chosen.logp_ref"] - r["rejected.logp_ref"]
    sorted_rows("aot", r["sorted.policy"], r["sorted.reference"], r, places, use)
    sorted_rows("aot_unpaired", r["chosen.ratio"], r["rejected.ratio"], r, places, use)
    odds_forms(r, use)
    token_odds(r, places, use)
    form, nothing = use.word("loss.form"), torch.zeros_like(r["margin"], requires_grad=r["margin"].requires_grad)
    r["loss.pair"] = nothing if form in (*OF_ITS_OWN, "none") else r[f"loss.{form}"]


def margin_forms(r: Nodes, use: Asked) -> None:
    """DPO and cDPO, robust DPO (2403.00409), hinge (RSO, 2309.06657), EXO (2402.00856), DiscoPOP (2406.08414): forms of u."""
    u, right, wrong, eps = (
        r["margin.argument"],
        r["margin.right"],
        r["margin.wrong"],
        use.number("loss.label_smoothing"),
    )
    r["loss.sigmoid"] = (eps - 1) * right - eps * wrong
    r["loss.turned"] = (eps - 1) * right + eps * wrong
    r["loss.robust"] = r["loss.turned"] / (1 - 2 * eps)
    r["loss.hinge"] = (1 - u).clamp(min=0)
    r["loss.sure"] = u.sigmoid()
    r["loss.unsure"] = 1 - r["loss.sure"]
    few = use.number("loss.exo_eps")
    r["loss.exo"] = r["loss.sure"] * (right - log(1 - few)) + r["loss.unsure"] * (wrong - log(few))
    r["loss.discopop_at"] = u / use.number("loss.discopop_tau")
    r["loss.discopop_weight"] = r["loss.discopop_at"].sigmoid()
    r["loss.discopop_log"] = log_sigmoid(r["loss.discopop_at"])
    r["loss.discopop"] = (r["loss.discopop_log"] - u).exp() - (1 - r["loss.discopop_weight"]) * right


def target_forms(r: Nodes, use: Asked) -> None:
    """IPO (2310.12036, eq. 17), SPPO (2405.00675) and SLiC (2305.10425): h, or either log-ratio, against a number made of β."""
    beta, h = use.number("beta"), r["margin"]
    r["loss.ipo_target"] = r["loss.sppo_target"] = h.new_tensor(0.5 / beta)
    r["loss.ipo_off"] = h - r["loss.ipo_target"]
    r["loss.ipo"] = r["loss.ipo_off"].square()
    r["loss.slic"] = (beta - h).clamp(min=0)
    r["loss.sppo_chosen"] = r["chosen.ratio"] - r["loss.sppo_target"]
    r["loss.sppo_rejected"] = r["rejected.ratio"] + r["loss.sppo_target"]
    r["loss.sppo"] = r["loss.sppo_chosen"].square() + r["loss.sppo_rejected"].square()


def reward_forms(r: Nodes, use: Asked) -> None:
    """NCA (2402.05369), APO-zero and APO-down (2408.06266): the implicit rewards by themselves."""
    r["chosen.good"] = log_sigmoid(r["chosen.reward"])
    for side in SIDES:
        r[f"{side}.turned"] = -r[f"{side}.reward"]
        r[f"{side}.not_good"] = log_sigmoid(r[f"{side}.turned"])
        r[f"{side}.likely"] = r[f"{side}.reward"].sigmoid()
    r["margin.likely"] = r["margin.scaled"].sigmoid()
    r["loss.nca"] = -r["chosen.good"] - 0.5 * (r["chosen.not_good"] + r["rejected.not_good"])
    r["loss.apo_zero"] = 1 - r["chosen.likely"] + r["rejected.likely"]
    r["loss.apo_down"] = 1 - r["margin.likely"] + r["chosen.likely"]


def threshold_forms(r: Nodes, use: Asked) -> None:
    """BCO (2404.04656): good and bad are told apart by δ, which is a number."""
    r["loss.bco_both"] = r["chosen.reward"] + r["rejected.reward"]
    r["loss.bco_mean"] = 0.5 * r["loss.bco_both"].mean()
    delta = (
        r["loss.bco_mean"] if use.word("loss.bco_threshold") == "batch_mean" else torch.zeros_like(r["loss.bco_mean"])
    )
    r["loss.bco_delta"] = delta
    r["loss.bco_held"] = delta.detach()
    r["loss.bco_above"] = r["chosen.reward"] - r["loss.bco_held"]
    r["loss.bco_below"] = r["loss.bco_held"] - r["rejected.reward"]
    r["loss.bco_chosen"] = log_sigmoid(r["loss.bco_above"])
    r["loss.bco_rejected"] = log_sigmoid(r["loss.bco_below"])
    r["loss.bco"] = -r["loss.bco_chosen"] - r["loss.bco_rejected"]


def true_forms(r: Nodes) -> None:
    """NeMo-Aligner's reward-aware forms: the preference by true rewards against that by the policy, or the margins squared."""
    r["true.margin"] = r["chosen.true"] - r["rejected.true"]
    r["loss.rpo_off"] = r["margin.scaled"] - r["true.margin"]
    for name, x in (("true", r["true.margin"]), ("own", r["margin.scaled"])):
        r[f"{name}.turned"] = -x
        r[f"{name}.right"] = log_sigmoid(x)
        r[f"{name}.wrong"] = log_sigmoid(r[f"{name}.turned"])
        r[f"{name}.likely"] = x.sigmoid()
    for way in ("right", "wrong"):
        r[f"loss.rpo_{way}"] = r[f"true.{way}"] - r[f"own.{way}"]
    r["loss.rpo_squared"] = r["loss.rpo_off"].square()
    for name, p, sign in (("backward", r["true.likely"], 1), ("forward", r["own.likely"], -1)):
        r[f"loss.rpo_{name}"] = sign * (p * r["loss.rpo_right"] + (1 - p) * r["loss.rpo_wrong"])


def odds_forms(r: Nodes, use: Asked) -> None:
    """ORPO (2403.07691, eq. 4 and 7), as TRL 1.16.0 writes it: of certainty the log-odds are infinite, and so is what follows.

    The steps shown have 0 there instead, and where another loss is asked for, that is all that there is.
    """
    asked = use.word("loss.form") == "orpo"
    r["odds.asked"] = r["margin"].new_tensor(float(asked))
    for side in SIDES:
        x = r[f"{side}.logp"]
        below = x < 0
        safe = torch.where(below, x, -torch.ones_like(x))
        r[f"{side}.log_odds"] = torch.where(below, safe - log1mexp(safe), 0)
        r[f"{side}.certain"] = (~below).to(x)
        r[f"{side}.endless"] = r[f"{side}.certain"] * asked
    r["odds.difference"] = r["chosen.log_odds"] - r["rejected.log_odds"]
    r["odds.right"] = log_sigmoid(r["odds.difference"])
    r["odds.lost"] = (1 - r["rejected.endless"]).log()
    if asked and (r["chosen.certain"] + r["rejected.certain"]).any():
        chosen, rejected = (r[f"{side}.logp"] for side in SIDES)
        ratio = (chosen - rejected) - (log1mexp(chosen) - log1mexp(rejected))
        r["odds.endless"] = torch.where(r["rejected.certain"] > 0, r["odds.right"], log_sigmoid(ratio))
    else:
        r["odds.endless"] = r["odds.right"]
    r["loss.orpo"] = -use.number("beta") * (r["odds.endless"] + r["odds.lost"])


def log1mexp(x: Tensor) -> Tensor:
    """Returns log(1 − e^x), whose slope TRL loses where e^x is rounded to 1."""
    far = x < -log(2)
    return torch.where(far, torch.log1p(-torch.where(far, x, -1.0).exp()), torch.log(-torch.expm1(x)))


def token_odds(r: Nodes, places: Places, use: Asked) -> None:
    """ColossalChat 4f9953b: odds of every token, their mean over all chosen and over all rejected tokens of the batch."""
    x = r["policy.logprobs"]
    r["odds.token"] = r["response.tokens"] * (x - (use.number("loss.odds_one") - x.exp()).log())
    r["odds.sum"] = r["odds.token"].sum(1)
    places.sides(r, "odds", r["odds.sum"])
    places.sides(r, "odds.length", r["logp.length"])
    for side in SIDES:
        r[f"odds.{side}"] = r[f"{side}.odds"].sum() / r[f"{side}.odds.length"].sum()
    r["odds.batch"] = (r["odds.chosen"] - r["odds.rejected"]).expand(len(places.columns))
    r["odds.batch_right"] = log_sigmoid(r["odds.batch"])
    r["loss.orpo_tokens"] = -r["odds.batch_right"]
