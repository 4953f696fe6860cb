"""What libraries log besides the loss: rewards of both sides, their margin, and how often the chosen one is ahead."""

from blueprint.witness import Asked, Nodes
from blueprint.workbooks.dpo.witness.places import SIDES, Places


def watched_rows(r: Nodes, places: Places, use: Asked) -> None:
    """Adds the rewards that are logged, [P], and their means; two that are equal are no success."""
    for model, name in (("policy", "sum"), ("reference", "sum_ref")):
        places.sides(r, name, r[f"{model}.sum"])
    for side in SIDES:
        logged_rows(side, r, use)
    r["watch.margin"] = r["chosen.logged"] - r["rejected.logged"]
    r["watch.right"] = (r["chosen.logged"] > r["rejected.logged"]).to(r["watch.margin"])
    means = {
        "chosen": "chosen.logged",
        "rejected": "rejected.logged",
        "margins": "watch.margin",
        "accuracies": "watch.right",
    }
    for name, of in means.items():
        r[f"rewards.{name}"] = r[of].sum() / r["loss.over"]
    r["watch.logps"] = r["policy.sum" if use.word("watch.rewards") == "sum" else "policy.logp"]
    places.sides(r, "logps", r["watch.logps"])
    for side in SIDES:
        r[f"logps.{side}"] = r[f"{side}.logps"].sum() / r["loss.over"]
    r["odds.certain"] = r["chosen.certain"] + r["rejected.certain"]


def logged_rows(side: str, r: Nodes, use: Asked) -> None:
    """Adds the reward of one side in each way."""
    beta, word = use.number("beta"), use.word("watch.rewards")
    r[f"{side}.logged.same"] = beta * r[f"{side}.ratio"]
    r[f"{side}.logged.sum"] = beta * (r[f"{side}.sum"] - r[f"{side}.sum_ref"])
    r[f"{side}.logged.with_reference"] = beta * r[f"{side}.against"]
    r[f"{side}.logged"] = r[f"{side}.ratio" if word == "no_beta" else f"{side}.logged.{word}"]
