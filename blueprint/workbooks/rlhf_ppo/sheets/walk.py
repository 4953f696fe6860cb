"""What Walk derives of one position of RLHF PPO: how the token came about, its reward and advantage, and its loss."""

from collections.abc import Iterator

from blueprint.page.outline import Listed, Section, Step
from blueprint.workbooks.common import Loss, Rows, Titled, loss_sheet, several, titled_sections

POLICIES = {"old policy": "old", "reference": "reference", "new policy": "policy"}
SIGNAL = {
    "Reward": ("kl.k1", "kl.k2", "kl.k3", "kl.used", "reward.penalty", "rewards"),
    "Advantage": (
        "td_errors", "advantages", "returns",
        "advantage.mean", "advantage.centred", "advantage.variance", "advantage.whitened", "advantages_used",
    ),
}  # fmt: skip
"""The steps to the reward and the advantage of one token."""
LIVE_SIGNAL = {
    "Where things are counted": ("slots", "response", "kept"),
    "KL to the reference": (
        "kl.free", "kl.held", "kl.k1", "kl.abs", "kl.k2", "kl.k3", "kl.chosen", "kl.clamped", "kl.used",
    ),
    "Reward": (
        "score.place", "score.placed", "kl.support", "reward.penalty", "rewards.raw", "reward.whitened", "reward.shifted",
        "rewards",
    ),
    "Advantage": ("values.kept", "gae.ahead", "td_errors", "advantages", "returns"),
    "Whitening": (
        "advantage.mean", "advantage.centred", "advantage.variance", "advantage.divisor", "advantage.whitened",
        "advantage.shifted", "advantages_used",
    ),
}  # fmt: skip
"""The same with the steps of every convention, where they are live."""


def walk_sections(rows: Rows, loss: Loss) -> list[Section]:
    """Outlines the whole derivation of one token, from what was read to its share of the loss."""
    value = (rows["critic.out"], rows["critic.values"]) if "critic.memory" in rows else ()
    titled = (*model_sections(rows), *signal_sections(rows), *loss_sheet.walked(loss, value, rows["policy.entropy"]))
    return titled_sections(*titled)


def model_sections(rows: Rows) -> Iterator[Titled]:
    """Outlines how the old policy wrote the token, and what all models say of it, as far as they are run here."""
    a, mask = rows["rollout.written"], rows["mask"]
    logits = {name: rows.get(f"{name}.tempered", rows[f"{name}.logits"]) for name in POLICIES.values()}
    exponentials, p = Listed(rows["old.exponentials"]), Listed(rows["old.p"], adds=True)
    soft = (Listed(logits["old"]), rows["old.top"], exponentials, rows["old.logsumexp"], p)
    every_next = ("Every next token: logits and soft-max", soft)
    if "old.memory" in rows:
        read, h, drawn = rows["rollout.read"], rows["old.memory"], rows["rollout.drawn"]
        embedded = Listed(rows["old.E"], member=read, says="embedding of the token read")
        yield "The token read, and the memory", (read, embedded, Listed(h, by=-1), Step(h, member=0), Listed(h))
        yield every_next
        upto = Step(rows["old.cumulative"], member=drawn)
        yield "The draw, and the token written", (rows["rollout.draw"], upto, drawn, mask, a)
    else:
        yield every_next
        yield "The token written", (mask, a)
    for title, name in POLICIES.items():
        steps = (Step(logits[name], member=a), Step(rows[f"{name}.log_p"], member=a), rows[f"{name}.logprobs"])
        yield f"How likely was the token to the {title}?", steps
    if "reward_model.out" in rows:
        scored, V = Step(rows["reward_model.out"], later=True), (rows["old_critic.out"], rows["old_critic.values"])
        yield "Reward model and old critic", (scored, rows["reward.score"], *V)


def walk_sections_of_signal(rows: Rows) -> list[Section]:
    """Outlines the derivation of one token's advantage, from given log-probs, value and score."""
    given = several(rows, "mask", "old.logprobs", "reference.logprobs", "score", "values")
    return titled_sections(("The position", given), *signal_sections(rows))


def signal_sections(rows: Rows) -> Iterator[Titled]:
    """Outlines reward and advantage of one token."""
    for title, names in (LIVE_SIGNAL if "slots" in rows else SIGNAL).items():
        yield title, several(rows, *names)
