"""Fine-tuning without labels: what each library divides by, in plain torch, against the front door.

transformers 4.46 to 5.10, loss_utils.py, and TRL 1.16.0 (sum over num_items_in_batch); before 4.46 cross_entropy of a microbatch;
OpenRLHF 0.11.2, loss.py, aggregate_loss; verl 1dda039, sft_loss; HALOs 4831988, SFTTrainer; NeMo-RL 7ea279a, NLLLoss, masked_mean;
verl b178a3c, fsdp_sft_trainer.py (+ 1e-8); DPO f8b8c0f, trainers.py (row sums).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import blueprint as bp
from blueprint.notation import NotationError
from tests.workbooks.test_torch_agrees import SMALL

Library = Callable[[Tensor, Tensor], Tensor]
"""From log-probs and mask, [text, position], the loss."""


def over_tokens(logp: Tensor, mask: Tensor) -> Tensor:
    return -(logp * mask).sum() / mask.sum()


def over_microbatches(logp: Tensor, mask: Tensor) -> Tensor:
    return torch.stack([over_tokens(row, own) for row, own in zip(logp, mask, strict=True)]).mean()


def with_eps(logp: Tensor, mask: Tensor) -> Tensor:
    return -(logp * mask).sum() / (mask.sum() + 1e-8)


def of_microbatches_with_eps(logp: Tensor, mask: Tensor) -> Tensor:
    return torch.stack([with_eps(row, own) for row, own in zip(logp, mask, strict=True)]).mean()


def halos(logp: Tensor, mask: Tensor) -> Tensor:
    kept = logp * mask
    return (-kept / (kept != 0).double().sum()).sum()


def row_sums(logp: Tensor, mask: Tensor) -> Tensor:
    return -(logp * mask).sum(-1).mean()


LIBRARIES: dict[str, tuple[str, Library]] = {
    "TRL": ("trl_1.16", over_tokens), "TRL 0.24": ("trl_0.24", over_tokens), "TRL, means": ("trl_0.24_means", over_microbatches),
    "OpenRLHF": ("openrlhf", over_tokens), "torchtune": ("torchtune", over_tokens), "verl": ("verl", over_tokens),
    "HALOs": ("halos", halos), "NeMo-RL": ("nemo_rl", with_eps), "verl b178a3c": ("verl_b178a3c", of_microbatches_with_eps),
    "DPO's repository": ("dpo_original", row_sums),
}  # fmt: skip
MASKS = {"none": [[0, 0], [0, 0]], "one text without": [[0, 0], [1, 0]], "all": [[1, 1], [1, 0]]}


def built(preset: str, mask: str) -> bp.Book:
    settings = dict(each.split("=", 1) for each in SMALL) | {"text.response": str(MASKS[mask]), "sft.microbatches": "2"}
    del settings["gradients"]
    return bp.build("sft-batch", preset=preset, set=_read(settings), gradients=True)


def _read(settings: dict[str, str]) -> dict[str, object]:
    import tomllib

    return tomllib.loads("\n".join(f'"{key}" = {value}' for key, value in settings.items()))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_the_loss_ends_where_the_library_has_none(name: str, mask: str) -> None:
    preset, library = LIBRARIES[name]
    whole = built("dpo_original", "all")
    logp = torch.tensor(whole.values[whole.blocks["policy.logprobs"]], requires_grad=True)
    counts = torch.tensor(MASKS[mask], dtype=torch.float64)
    theirs = library(logp, counts)
    if not theirs.isfinite():
        with pytest.raises(NotationError, match=r"share\.used \(.*\) has no number: 1 cannot be divided by 0; "):
            built(preset, mask)
        return
    book = built(preset, mask)
    assert float(book.values[book.blocks["total_loss"]]) == pytest.approx(theirs.item(), rel=1e-12)
    (slope,) = torch.autograd.grad(theirs, logp)
    ours = book.values[book.blocks["policy.logprobs.grad"]]
    assert ours.ravel() == pytest.approx(slope.numpy().ravel(), rel=1e-12)


def test_libraries_do_end_there() -> None:
    """Of the ten, seven have no loss without any label, and one none where one microbatch has none."""
    logp = -torch.ones(2, 2, dtype=torch.float64)
    ends = {
        mask: sum(not library(logp, torch.tensor(each).double()).isfinite() for _, library in LIBRARIES.values())
        for mask, each in MASKS.items()
    }
    assert ends == {"none": 7, "one text without": 1, "all": 0}
