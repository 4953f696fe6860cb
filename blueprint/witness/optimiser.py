"""Steps of torch.optim with torch.nn.utils.clip_grad_norm_, and every number that a sheet of them shows."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from blueprint.witness.settings import File, block, single
from blueprint.witness.tensors import Named

RATES = {
    f"optimiser.{name}"
    for name in ("lr", "beta1", "beta2", "eps", "weight_decay", "max_norm", "critic_lr", "critic_max_norm")
}
DECIMALS = "handed.decimals"
"""Where a file says to how many decimals the last weights are rounded."""
OPTIMISERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


class Stepper:
    """The optimiser of one file and its weights, step by step; several, where groups of weights have one each."""

    def __init__(
        self, file: File, weights: Mapping[str, Tensor], groups: Sequence[tuple[str, str, int]] = (("", "", 0),)
    ):
        """Sets out from weights, by name, with the rates that the file has.

        groups: for each optimiser how its norm is called besides, what its rates begin with (`critic_`), and how many weights,
        in their order, it moves; 0: all that are left.
        """
        rates = {name.removeprefix("optimiser."): float(single(file, name)) for name in file if name in RATES}
        self.kind, self.eps, self.number = str(block(file, "optimiser.by")), rates["eps"], 0
        self.betas = rates["beta1"], rates["beta2"]
        self.weights = {name: each.detach().clone().requires_grad_() for name, each in weights.items()}
        more = {} if self.kind == "sgd" else {"betas": self.betas, "eps": self.eps}
        left = list(self.weights.values())
        self.optimisers, self.most = [], []
        for _, own, size in groups:
            part, left = (left[:size], left[size:]) if size else (left, [])
            self.most.append(rates[f"{own}max_norm"])
            decay = rates["weight_decay"]
            self.optimisers.append(OPTIMISERS[self.kind](part, lr=rates[f"{own}lr"], weight_decay=decay, **more))
        self.names = [name for name, _, _ in groups]
        self.decimals = float(single(file, DECIMALS)) if DECIMALS in file else None

    def step(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Takes a step, and returns what it shows, by name; the weights after it stand in `weights`."""
        self.number += 1
        found: Named = {}
        for name, weight in self.weights.items():
            weight.grad = gradients[name].clone()
        for name, optimiser, most in zip(self.names, self.optimisers, self.most, strict=True):
            part = optimiser.param_groups[0]["params"]
            before = torch.stack([each.grad.norm() for each in part]).norm()
            norm = torch.nn.utils.clip_grad_norm_(part, most)
            left = torch.stack([each.grad.norm() for each in part]).norm()
            found |= {f"norm{name}": norm, f"scale{name}": torch.where(before > 0, left / before, 1.0)}
        scaled = {name: each.grad.clone() for name, each in self.weights.items() if each.grad is not None}
        for optimiser in self.optimisers:
            optimiser.step()
        for name, weight in self.weights.items():
            found |= {f"gradient.{name}": scaled[name], name: weight.detach().clone()} | self._state(name, weight)
            found |= {f"handed.{name}": self._rounded(weight)} if self.decimals is not None else {}
        return found

    def _rounded(self, weight: Tensor) -> Tensor:
        """Returns a weight as the next stage begins with it: rounded to decimals, halves away from 0."""
        scale = float(f"1e{self.decimals or 0:.0f}")
        size = (weight.detach().abs() * scale + 0.5).floor() / scale
        return torch.where(weight < 0, -size, size)

    def _state(self, name: str, weight: Tensor) -> Named:
        """Returns the moments of a weight, and the direction in which it went."""
        if self.kind == "sgd":
            return {}
        state = next(each.state[weight] for each in self.optimisers if weight in each.state)
        m, v = (state[each].clone() for each in ("exp_avg", "exp_avg_sq"))
        left1, left2 = (beta**self.number for beta in self.betas)
        direction = m / (1 - left1) / ((v / (1 - left2)).sqrt() + self.eps)
        powers = {"power1": m.new_tensor(left1), "power2": m.new_tensor(left2)}
        return powers | {f"m.{name}": m, f"v.{name}": v, f"direction.{name}": direction}
