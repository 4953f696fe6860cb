"""The reward model: scores of responses from comparisons, on one page of plain torch.

Bradley and Terry 1952, Rank Analysis of Incomplete Block Designs: the log-odds that one is preferred are the difference
of two scores. Ouyang et al. 2022 (InstructGPT), eq. 1: all K(K−1)/2 pairs of a ranking, averaged per ranking. Touvron et
al. 2023 (Llama 2), §3.2.2: a margin for pairs in which one is much better. Eisenstein et al. 2023, Helping or Herding?,
eq. 2: scores are held around 0. Tensors are [N, T]: N responses, T tokens; or [P], a number for each pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


@dataclass(frozen=True)
class RewardModel:
    """What one batch comes to, [N], [P] or one number."""

    scores: Tensor  # [N]
    difference: Tensor
    probability: Tensor  # that the chosen response is preferred
    losses: Tensor
    preference_loss: Tensor
    centering_loss: Tensor
    loss: Tensor
    accuracy: Tensor


def pairs_of(rankings: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the chosen and the rejected response of all pairs, and the number of their ranking, [P].

    rankings: the places of responses among the N, the best one first.
    """
    pairs = [(*pair, number) for number, ranking in enumerate(rankings) for pair in combinations(ranking, 2)]
    chosen, rejected, ranking = torch.tensor(pairs).T
    return chosen, rejected, ranking


def last_scores(head: Tensor, mask: Tensor) -> Tensor:
    """Returns the score after the last token of each response, [N]: there the model has seen all of it."""
    last = mask.shape[1] - 1 - mask.flip(1).int().argmax(1)
    return head[torch.arange(len(head)), last]


def reward_model(
    head: Tensor, mask: Tensor, chosen: Tensor, rejected: Tensor, ranking: Tensor, *,
    margin: Tensor | float = 0.0, center: float = 0.0,
) -> RewardModel:  # fmt: skip
    """Returns the loss of a reward model and every step to it.

    head: the model's number after each token, [N, T]; mask: which tokens there are. chosen, rejected: places among the N
    responses, [P]. ranking: of which ranking a pair is, [P]; give every pair its own number, and all pairs weigh alike.
    """
    scores = last_scores(head, mask)
    r_w, r_l = scores[chosen], scores[rejected]
    losses = -logsigmoid(r_w - r_l - margin)

    def mean_of(x: Tensor) -> Tensor:
        return torch.stack([x[ranking == number].mean() for number in sorted(set(ranking.tolist()))]).mean()

    preference_loss = mean_of(losses)
    centering_loss = center * mean_of((r_w + r_l) ** 2)
    return RewardModel(
        scores=scores,
        difference=r_w - r_l,
        probability=torch.sigmoid(r_w - r_l),
        losses=losses,
        preference_loss=preference_loss,
        centering_loss=centering_loss,
        loss=preference_loss + centering_loss,
        accuracy=(r_w > r_l).to(head.dtype).mean(),
    )
