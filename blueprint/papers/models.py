"""The small networks of the examples, and what a trainer does with a network: sample, score, take a step.

Elman 1990, Finding Structure in Time: h_t = tanh([x_t; h_{t−1}; 1]·W), x_t the embedding of the token read. A policy has logits
h_t·Y on top, a critic or a reward model the number h_t·w + b. Tensors are [B, T, …].
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import log_softmax


@dataclass(frozen=True)
class Rnn:
    """An embedding [V, K], and the memory's weights [K + J + 1, J] over embedding, memory and a 1; then Y, or w and b."""

    E: Tensor
    W: Tensor
    Y: Tensor | None = None  # [J, V]
    w: Tensor | None = None  # [J]
    b: Tensor | None = None


def step(model: Rnn, token: Tensor, memory: Tensor) -> Tensor:
    """Returns the memory [B, J] after a token [B] is read."""
    one = torch.ones_like(memory[:, :1])
    return torch.tanh(torch.cat([model.E[token], memory, one], dim=1) @ model.W)


def memories(model: Rnn, read: Tensor) -> Tensor:
    """Returns the memory after every token of `read` [B, T], [B, T, J]; before the first it is 0."""
    memory, found = model.W.new_zeros(len(read), model.W.shape[1]), []
    for token in read.unbind(1):
        memory = step(model, token, memory)
        found.append(memory)
    return torch.stack(found, dim=1)


def logits(model: Rnn, read: Tensor) -> Tensor:
    """Returns the logits of the next token after every token read, [B, T, V]."""
    assert model.Y is not None
    return memories(model, read) @ model.Y


def numbers(model: Rnn, read: Tensor) -> Tensor:
    """Returns the number of a critic or a reward model after every token read, [B, T]."""
    assert model.w is not None
    assert model.b is not None
    return memories(model, read) @ model.w + model.b


def drawn(logits: Tensor, u: Tensor) -> Tensor:
    """Returns the token on which each u [B] falls: the first whose cumulative probability is above it.

    Inverse transform sampling: Devroye 1986, Non-Uniform Random Variate Generation, ch. II.2. The last token needs no boundary.
    """
    cumulative = logits.softmax(1).cumsum(1)[:, :-1]
    return (cumulative <= u[:, None]).sum(1)


def continued(
    model: Rnn,
    prompt: Tensor,
    u: Tensor,
    longest: int,
    *,
    end: int = 0,
    temperature: float = 1.0,
    typed: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Writes on behind prompts; returns the texts [B, 1 + T] and where a response stands in them.

    prompt: tokens [B, 1 + T], −1 behind each. u: [B, T], the draw of each column, of which the last writes nothing. A response
    ends behind the end token, or `longest` tokens. typed: tokens [B, T] that are written instead of the drawn ones, −1: drawn.
    Behind a response the token 0 is read.
    """
    text, response = prompt.clamp(min=0), torch.zeros_like(prompt, dtype=torch.bool)
    memory = model.W.new_zeros(len(prompt), model.W.shape[1])
    running = torch.ones_like(response[:, 0])
    assert model.Y is not None
    for t in range(u.shape[1]):
        memory = step(model, text[:, t], memory)
        token = drawn(memory @ model.Y / temperature, u[:, t])
        if typed is not None:
            token = typed[:, t].where(typed[:, t] >= 0, token)
        writes = running & (prompt[:, t + 1] < 0) & (response.sum(1) < longest)
        if t + 1 == u.shape[1]:
            break
        text[:, t + 1] = token.where(writes, text[:, t + 1])
        response[:, t + 1] = writes
        running = running & ~(writes & (token == end))
    return text, response


@dataclass(frozen=True)
class Distribution:
    """What logits say: the log-prob of the token written, of every token, and the entropy."""

    logp: Tensor
    log_p: Tensor
    entropy: Tensor


def distribution(logits: Tensor, written: Tensor, temperature: float = 1.0) -> Distribution:
    """Returns what logits [B, T, V], divided by a temperature, say of the tokens written [B, T]."""
    log_p = log_softmax(logits / temperature, dim=-1)
    probabilities = log_p.exp()
    entropy = -torch.where(probabilities > 0, probabilities * log_p, 0).sum(-1)
    return Distribution(log_p.gather(-1, written[..., None]).squeeze(-1), log_p, entropy)


def kl(p: Distribution, q: Distribution) -> Tensor:
    """Returns KL(p ‖ q) by token: Σ_v p(v)·(log p(v) − log q(v)), which TRL 0.11.4 calls "full"."""
    return torch.nn.functional.kl_div(q.log_p, p.log_p, reduction="none", log_target=True).sum(-1)


@dataclass(frozen=True)
class Optimiser:
    """A step of sgd, adam or adamw, and how long the gradient may be before."""

    kind: str
    lr: float
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    max_norm: float = float("inf")

    def of(self, weights: list[Tensor]) -> torch.optim.Optimizer:
        """Returns torch's optimiser of weights."""
        if self.kind == "sgd":
            return torch.optim.SGD(weights, lr=self.lr, weight_decay=self.weight_decay)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[self.kind]
        made: torch.optim.Optimizer = kind(
            weights, lr=self.lr, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay
        )
        return made


def resume(optimiser: torch.optim.Optimizer, weight: Tensor, steps: int, mean: Tensor, mean_square: Tensor) -> None:
    """Lets Adam go on with a weight as it was left: after so many steps, with both of its means, in the weight's shape."""
    optimiser.state[weight] = {
        "step": torch.tensor(float(steps)),
        "exp_avg": mean.clone(),
        "exp_avg_sq": mean_square.clone(),
    }


def take_step(optimiser: torch.optim.Optimizer, loss: Tensor, max_norm: float) -> Tensor:
    """Moves the weights down the slope of a loss; returns the norm of the gradient before it was clipped."""
    optimiser.zero_grad()
    torch.autograd.backward(loss)
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    norm: Tensor = torch.nn.utils.clip_grad_norm_(weights, max_norm)
    optimiser.step()
    return norm
