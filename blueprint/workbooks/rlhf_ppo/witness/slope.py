"""What each step of an optimiser promised of the loss, and what came."""

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import Batch, Rows, add_pictures
from blueprint.workbooks.rlhf_ppo.witness.epochs import WEIGHTS


def add_beside(batch: Batch, rows: Rows) -> None:
    """Adds what stands beside gradients and steps: the pictures, and what the steps promised."""
    add_pictures(batch, rows)
    add_slope(batch, rows)


def add_slope(batch: Batch, rows: Rows) -> None:
    """Adds the comparison of every step, where the files show it: a column for each step."""
    if "slope.longest" not in batch.files[0]:
        return
    steps: list[dict[str, Tensor]] = []
    before, now = "", "epoch2."
    while f"{now}total_loss" in rows:
        found = {}
        for name in WEIGHTS:
            step = rows[f"{now}{name}"] - rows[f"{before}{name}"]
            slope = torch.lerp(rows[f"{before}{name}.grad"], rows[f"{now}{name}.grad"], 0.5)
            rows.add({f"slope.step{len(steps) + 1}.{name}": step}, whole=True)
            found[name] = (slope * step).reshape(len(step), -1).sum(dim=1)
        found["promised"] = torch.stack([*found.values()]).sum(dim=0)
        found["came"] = rows[f"{now}total_loss"] - rows[f"{before}total_loss"]
        found["length"] = found["promised"].abs() / rows[f"{before}loss.grad.norm"]
        steps.append(found)
        before, now = now, f"epoch{len(steps) + 2}."
    shown = {name: torch.stack([each[name] for each in steps], dim=-1) for name in steps[0]}
    size = shown["promised"].abs()
    shown["off"] = (shown["came"] - shown["promised"]).abs() / torch.where(size > 0, size, 1.0)
    rows.add({f"slope.{name}": each for name, each in shown.items()}, whole=True)
    _judge(batch, rows)


def _judge(batch: Batch, rows: Rows) -> None:
    allowed, longest = (batch.typed(f"slope.{limit}")[:, None] for limit in ("allowed", "longest"))
    held = np.where((rows["slope.off"] <= allowed).numpy(force=True), "OK", "LOOK")
    short = (rows["slope.length"] <= longest).numpy(force=True)
    rows.add_words("slope.held", held)
    rows.add_words("slope.verdict", np.where(short, held, "too long"))
