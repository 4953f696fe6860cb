"""Trains many runs at once on a device, and holds some against the processor's: `python -m tests.training.many --device cuda`.

64 seeds times 64 KL coefficients are 4,096 runs. Four of them (two seeds, two coefficients) are trained again on the processor, and
what they write and their last weights are compared.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch

from blueprint.training.run import Run, trained
from blueprint.training.run_toml import run_numbers


def main() -> None:
    """Prints times, and how far four runs lie from the processor's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=64)
    parser.add_argument("--betas", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=160)
    given = parser.parse_args()
    betas = [0.0, *np.geomspace(0.01, 2.0, given.betas - 1).tolist()]
    sizes = {"seeds": given.seeds, "update.iterations": given.iterations}
    if given.device != "cpu":
        torch.zeros(1, device=given.device) @ torch.zeros(
            1, device=given.device
        )  # the device wakes up outside the time taken
    began = time.perf_counter()
    many = trained(run_numbers(changed={**sizes, "ppo.kl_coef": betas}), device=given.device)
    took = time.perf_counter() - began
    first, picked = many.numbers.seed, [betas[given.betas // 3], betas[-1]]
    few = [
        trained(run_numbers(changed={**sizes, "seeds": 1, "seed": seed, "ppo.kl_coef": picked}))
        for seed in (first, first + given.seeds - 1)
    ]
    shown = {
        "runs": len(many.numbers.runs),
        "iterations": given.iterations,
        "device": torch.cuda.get_device_name() if given.device.startswith("cuda") else given.device,
        "torch": torch.__version__,
        "seconds": round(took, 2),
        "largest memory, MB": round(torch.cuda.max_memory_allocated() / 1e6)
        if given.device.startswith("cuda")
        else None,
        "compared": [_apart(many, alone, beta) for alone in few for beta in picked],
        "all finite": bool(all(np.isfinite(each).all() for each in many.watched.values())),
    }
    print(json.dumps(shown, indent=1))


def _apart(many: Run, alone: Run, beta: float) -> dict[str, float]:
    """Returns by how much a run among many differs from the same run alone."""
    seed = alone.numbers.seed
    one, other = many.place(beta, seed), alone.place(beta, seed)
    last = [each.stretches[-1].arrays for each in (many, alone)]
    names = [name for name in last[0] if name.startswith(("policy.", "critic."))]
    return {
        "seed": seed,
        "beta": beta,
        "responses that differ": int((many.tokens[:, one] != alone.tokens[:, other]).any(-1).sum()),
        "weights, largest difference": max(
            float(np.abs(last[0][name][one] - last[1][name][other]).max()) for name in names
        ),
        "watched, largest difference": max(
            float(np.abs(many.watched[name][:, one] - alone.watched[name][:, other]).max()) for name in many.watched
        ),
    }


if __name__ == "__main__":
    main()
