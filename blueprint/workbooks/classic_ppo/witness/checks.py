"""How far ends are from 0 or 1, sums from what they must be, and GAE from what it is at the ends of λ and γ."""

import torch
from torch import Tensor

from blueprint.witness import checks
from blueprint.witness.batch import Batch
from blueprint.witness.rows import Rows, add_verdicts
from blueprint.witness.settings import single
from blueprint.witness.tensors import Named, sums_from

PARTS = ("policy_loss", "adds.value_loss", "adds.entropy")


def add_checks(batch: Batch, rows: Rows) -> None:
    """Adds every check that the files have."""
    parts = torch.stack([rows[name] for name in PARTS], dim=-1)
    rows.add({"check.parts_size": parts.abs().sum(dim=-1)})
    add_identities(batch, rows)
    found = input_distances(rows) | checks.probability_distances(rows, {"old": "old", "new": "policy"})
    found |= {
        "check.k3": (-rows["policy_kl.k3"]).clamp(min=0),
        "check.whitened": rows["advantage.whitened"].mean(dim=(-2, -1)).abs(),
        "check.parts": checks.sum_distance(parts, rows["total_loss"]),
        "check.settings": batch.outside_all,
        "check.norm": other_norm(batch),
    }
    values = rows["values.old"][..., :-1]
    found |= checks.gae_distances(rows, values, 1.0, 1.0) | {"check.lambda_1": checks.to_go_distance(rows, values)}
    add_verdicts(batch, rows, found)


def input_distances(rows: Rows) -> Named:
    """Returns how far actions are from those that exist, ends from 0 or 1, and where a task ended within an episode."""
    actions, done, over = (rows[name] for name in ("actions", "done", "terminated"))
    last = rows["old.log_p"].shape[-1] - 1
    no_flag = [(each * (1 - each)).abs() for each in (done, over)]
    return {
        "check.actions": (-actions).clamp(min=0) + (actions - last).clamp(min=0),
        "check.done": no_flag[0] + no_flag[1],
        "check.terminated": (over > done).to(over.dtype),
    }


def other_norm(batch: Batch) -> Tensor:
    """Returns 1 for the files whose setting asks for another norm than the one that they were built with, [F]."""
    built = (str(single(file, "value_norm.built")).lower() for file in batch.files)
    pairs = zip(batch.used("value_norm"), built, strict=True)
    return batch.filled(float(str(asked).lower() != norm) for asked, norm in pairs)


def add_identities(batch: Batch, rows: Rows) -> None:
    """Adds the advantages for λ = 0, λ = 1 and γ = 0, and the discounted reward to go with what it ends in."""
    gamma, rewards, values, done = batch.setting("gamma"), rows["rewards"], rows["values.old"], rows["done"]
    # Where an episode ends the reward to go ends in V(next), unless that is cut off; at the last step in V(next) as it is.
    over = done == 1
    cut = over * (1 - rows["stop"]) * values[..., 1:]
    to_go = sums_from(rewards + gamma * cut, gamma * ~over, values[..., -1])
    alone = rewards - values[..., :-1]
    rows.add(checks.identity_rows(rows, alone, to_go, gamma * (1 - done), 0 * done))
    rows.add({"identity.after": torch.where(over, cut, to_go[..., 1:])} | checks.size_rows(rows, values[..., :-1]))
