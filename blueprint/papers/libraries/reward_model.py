"""Reward models as eleven libraries compute them: the page `reward_model.py` with their conventions as keywords.

Tensors are [N, T]: N responses, T positions; or [P], a number for each pair. Sources: TRL 1.16.0, `RewardTrainer`;
OpenRLHF 0.11.2, `rm_trainer.py`; LLaMA-Factory 0.9.5; NeMo-Aligner af2b3bd; NeMo-RL 7ea279a; HALOs 4831988; open-instruct
e6c3044; DeepSpeed-Chat 83757d9 and trlX 3340c2f, `reward_model.py`; Open-Assistant f1e6ed9, `losses.py`; OpenAI
lm-human-preferences cbfd210, `label_types.py`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid


@dataclass(frozen=True)
class RewardModel:
    """What one batch comes to: by response [N], by pair [P], by ranking, or one number."""

    scores: Tensor  # as they are read, [N]
    used: Tensor  # without their mean, and scaled, [N]
    chosen: Tensor
    rejected: Tensor
    difference: Tensor
    probability: Tensor
    losses: Tensor
    preference_loss: Tensor
    centering_loss: Tensor
    l2_loss: Tensor
    loss: Tensor
    accuracy: Tensor
    mean_chosen: Tensor
    mean_rejected: Tensor
    margin: Tensor
    highest: Tensor
    lowest: Tensor


def read(head: Tensor, text: Tensor, is_end: Tensor, where: str) -> Tensor:
    """Returns the score of each response, [N].

    text: which tokens are there, is_end: which of them is the end token, [N, T]. where: after the "last_token"; with pad
    and end token alike TRL reads "before_end"; "last_column" is the mistake of tutorials, which read after pads.
    """
    if where == "last_column":
        return head[:, -1]
    seen = text & ~is_end if where == "before_end" else text
    last = (torch.arange(seen.shape[1], device=seen.device) * seen).argmax(1)  # transformers: of no token the first
    return head[torch.arange(len(head)), last]


def losses_by_position(head: Tensor, ids: Tensor, text: Tensor, chosen: Tensor, rejected: Tensor) -> Tensor:
    """Returns the loss of each pair over positions, [P]: from the first token that differs to the longer one's end.

    Of equal texts DeepSpeed-Chat compares the last column, a pad as a rule. Behind the shorter text the head reads pads.
    """
    losses = []
    for w, l in zip(chosen.tolist(), rejected.tolist(), strict=True):  # noqa: E741
        differs = (ids[w] != ids[l]).nonzero()[:, 0].tolist()
        first, end = (differs[0], int(max(text[w].sum(), text[l].sum()))) if differs else (-1, None)
        losses.append(-logsigmoid(head[w, first:end] - head[l, first:end]).mean())
    return torch.stack(losses)


def losses_of_best(scores: Tensor, chosen: Tensor, rejected: Tensor, ranking: Tensor) -> Tensor:
    """Returns the loss of a soft-max over the responses of a ranking, its best being the label, for each of its pairs, [P].

    The best is that which no pair of its ranking rejects.
    """
    losses = scores.new_zeros(len(chosen))
    for number in sorted(set(ranking.tolist())):
        of_ranking = ranking == number
        best = chosen[of_ranking & ~torch.isin(chosen, rejected[of_ranking])]
        if len(best):
            others = rejected[of_ranking & (chosen == best[0])]
            logits = scores[torch.cat([best[:1], others])]
            losses = losses.where(
                ~of_ranking, cross_entropy(logits, torch.zeros((), dtype=torch.long, device=scores.device))
            )
    return losses


def average(x: Tensor, counts: Tensor, ranking: Tensor, over: str, eps: float) -> Tensor:
    """Returns the mean over all "pairs" that count, or over pairs of each ranking and then over "rankings"."""
    if over == "pairs" or not counts.any():
        return x[counts].sum() / (counts.sum().clamp(min=1).to(x.dtype) + eps)
    return torch.stack(
        [x[counts & (ranking == number)].mean() for number in sorted(set(ranking[counts].tolist()))]
    ).mean()


def reward_model(
    head: Tensor, ids: Tensor, text: Tensor, is_end: Tensor, chosen: Tensor, rejected: Tensor, ranking: Tensor,
    counts: Tensor, margin: Tensor, *, score: str = "last_token", subtract: float = 0.0, divide: float = 1.0,
    form: str = "logsigmoid", use_margin: bool = False, over: str = "pairs", mean_eps: float = 0.0,
    center: float = 0.0, l2: float = 0.0,
) -> RewardModel:  # fmt: skip
    """Returns the loss of a reward model, and what is logged.

    head: the model's number after each token, ids: the tokens, [N, T]; for text and is_end see `read`. chosen, rejected:
    places among the N responses, ranking: of which ranking a pair is, counts: whether it counts, [P].
    form: "logsigmoid", "log_exp" (OpenRLHF, without a margin), "per_position" (DeepSpeed-Chat, trlX), "softmax_best" (OpenAI).
    """
    scores = read(head, text, is_end, score)
    used = (scores - subtract) / divide
    r_w, r_l = used[chosen], used[rejected]
    match form:
        case "logsigmoid":
            losses = -logsigmoid(r_w - r_l - margin if use_margin else r_w - r_l)
        case "log_exp":
            losses = torch.log1p((r_l - r_w).exp())
        case "per_position":
            losses = losses_by_position(head, ids, text, chosen, rejected)
        case "softmax_best":
            losses = losses_of_best(used, chosen, rejected, ranking)
        case _:
            raise ValueError(form)
    preference, squares, sizes = (
        average(x, counts, ranking, over, mean_eps) for x in (losses, (r_w + r_l) ** 2, (r_w**2 + r_l**2) / 2)
    )
    accuracy, mean_w, mean_l, gap = (
        average(x, counts, ranking, "pairs", mean_eps) for x in ((r_w > r_l).to(head.dtype), r_w, r_l, r_w - r_l)
    )
    both = torch.cat([r_w, r_l])
    return RewardModel(
        scores, used, r_w, r_l, r_w - r_l, torch.sigmoid(r_w - r_l), losses, preference, center * squares, l2 * sizes,
        preference + center * squares + l2 * sizes, accuracy, mean_w, mean_l, gap, both.max(), both.min(),
    )  # fmt: skip
