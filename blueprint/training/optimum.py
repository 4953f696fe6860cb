"""What a run could come to at best, exactly: every response there is, its probability, its score and its gold.

The policy that maximises the mean of proxy − β·KL is π*(y) ∝ π_ref(y)·exp(r(y)/β) (Rafailov et al. 2023, Direct Preference
Optimization, eq. 4). No training is needed to know it, so a run is held against it without a second implementation of the loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from blueprint.inputs import refusal
from blueprint.papers import many_runs as page
from blueprint.papers.many_runs import Weights
from blueprint.training import people
from blueprint.training.before import Models, prompts_of
from blueprint.training.run_toml import RunNumbers

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_RESPONSES = 2_000_000
"""Responses that are listed: a few hundred MB."""
AT_ONCE = 1 << 16
"""Responses that the models read at once."""


@dataclass(frozen=True)
class Optimum:
    """Means under a policy, averaged over prompts: what people want, the reward model's score, and the exact KL to the reference.

    likeliest: the most probable response to the first prompt, and its probability.
    """

    gold: float
    proxy: float
    kl: float
    likeliest: str
    probability: float


class Everything:
    """Every response to each prompt under the models of one seed: log π_ref, score [Q, N] and gold [N]."""

    def __init__(self, numbers: RunNumbers, models: Models, seed: int | None = None) -> None:
        """Lists them. seed: the first one if left out. Raises NumbersError where there are too many."""
        at = numbers.all_seeds.index(numbers.seed if seed is None else seed)
        sft, reward_model = (
            {name: each[at : at + 1].cpu() for name, each in model.items()}
            for model in (models.sft, models.reward_model)
        )
        self.numbers = numbers
        self.tokens, self.mask = every_response(numbers)
        self.gold = people.gold(numbers, self.tokens, self.mask)
        with torch.no_grad():
            found = [self._read(sft, reward_model, prompt[None]) for prompt in prompts_of(numbers, "cpu")]
        self.log_ref, self.score = (torch.stack(each) for each in zip(*found, strict=True))

    def _read(self, sft: Weights, reward_model: Weights, prompt: Tensor) -> tuple[Tensor, Tensor]:
        """Returns log-probs and scores of all responses to a prompt, [N]."""
        logps, scores = [], []
        for tokens, mask in zip(torch.split(self.tokens, AT_ONCE), torch.split(self.mask, AT_ONCE), strict=True):
            logp = page.written(page.log_probs(sft, prompt, tokens[None]), tokens[None])[0]
            logps.append(logp.where(mask, 0).sum(1))
            scores.append(page.scores(reward_model, prompt, tokens[None], mask[None])[0])
        return torch.cat(logps), torch.cat(scores)

    def best(self, beta: float) -> Optimum:
        """Returns what the best policy at a KL coefficient comes to; at 0 it writes the response with the highest score."""
        if beta == 0:
            log_p = torch.full_like(self.score, -torch.inf).scatter(1, self.score.argmax(1, keepdim=True), 0)
        else:
            log_p = (self.log_ref + self.score / beta).log_softmax(1)
        return self._under(log_p.exp(), log_p)

    def best_of(self, n: int) -> Optimum:
        """Returns what the highest-scored of n responses of the reference comes to.

        Its KL is exact; log n − (n − 1)/n is an upper bound of it. With F the cumulative probability in the order of scores, a
        response is the best of n with F^n − F_before^n; responses of one score share it by their probability.
        """
        p = torch.zeros_like(self.score)
        for q in range(len(self.score)):
            levels, level = torch.unique(self.score[q], return_inverse=True)
            mass = torch.zeros_like(levels).scatter_add(0, level, self.log_ref[q].exp())
            above = mass.cumsum(0).clamp(max=1) ** n
            won = above - torch.cat([above.new_zeros(1), above[:-1]])
            p[q] = self.log_ref[q].exp() * (won / mass)[level]
        return self._under(p, p.clamp(min=1e-300).log())

    def frontier(self, betas: Sequence[float] = (), n: Sequence[int] = ()) -> DataFrame:
        """Returns a row for each KL coefficient, and for each number of responses of which the best is taken."""
        import pandas as pd

        rows = {f"β = {beta:g}": self.best(beta) for beta in betas} | {
            f"best of {each}": self.best_of(each) for each in n
        }
        return pd.DataFrame({name: vars(each) for name, each in rows.items()}).T.infer_objects()

    def table(self, responses: Sequence[str]) -> DataFrame:
        """Returns what the reward model and people make of some responses to the first prompt, a row for each."""
        import pandas as pd

        spelled = [text_of(self.numbers, *row) for row in zip(self.tokens.tolist(), self.mask.tolist(), strict=True)]
        at = [spelled.index(text) for text in responses]
        seen = {"reference": self.log_ref[0, at].exp(), "reward": self.score[0, at], "gold": self.gold[at]}
        return pd.DataFrame({name: each.numpy() for name, each in seen.items()}, index=list(responses))

    def _under(self, p: Tensor, log_p: Tensor) -> Optimum:
        likeliest = int(p[0].argmax())
        kl = torch.where(p > 0, p * (log_p - self.log_ref), 0).sum(1).mean()
        text = text_of(self.numbers, self.tokens[likeliest].tolist(), self.mask[likeliest].tolist())
        gold, proxy = ((p * each).sum(1).mean() for each in (self.gold, self.score))
        return Optimum(float(gold), float(proxy), float(kl), text, float(p[0, likeliest]))


def every_response(numbers: RunNumbers) -> tuple[Tensor, Tensor]:
    """Returns the tokens of every response, and where they are, [N, T]; shorter ones first."""
    V, T = len(numbers.text.vocabulary), numbers.text.max_new_tokens
    number = sum((V - 1) ** each for each in range(T + 1))
    if number > MOST_RESPONSES:
        raise refusal(
            "text.max_new_tokens",
            f"{T}, with which there are {number:,} responses",
            f"at most {MOST_RESPONSES:,}, to list all",
        )
    tokens, mask = [], []
    for length in range(T + 1):  # how many words stand before the end token; of T words it is not written
        words = torch.zeros(1, 0, dtype=torch.long)
        if length:
            words = torch.cartesian_prod(*[torch.arange(1, V)] * length).reshape(-1, length)
        tokens.append(torch.nn.functional.pad(words, (0, T - length)))
        mask.append((torch.arange(T) <= length).expand(len(words), T))
    return torch.cat(tokens), torch.cat(mask)


def text_of(numbers: RunNumbers, tokens: Sequence[int], mask: Sequence[bool]) -> str:
    """Spells a response."""
    return " ".join(numbers.text.vocabulary[token] for token, here in zip(tokens, mask, strict=True) if here)
