"""Torch computes every row of fine-tuning again: with steps, on batches that no library ran, and the recorded runs themselves."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

import torch

from blueprint.witness import Asked
from blueprint.workbooks.sft.schema import SFT
from blueprint.workbooks.sft.witness import loss_rows
from blueprint.workbooks.sft.witness.texts import Texts, label_rows
from tests.workbooks.sft.recorded import Run, runs
from tests.workbooks.sft.side_by_side import built, compared
from tests.workbooks.sft.test_recorded import NAMES, batch

SURE = "policy.logits=" + str([[[0, 800, 0], [0, 0, 0]], [[-300, 0, 300], [40, 0, 0]]])
"""A label of probability 1, labels as likely as any other, one of probability e^−600, and a likely one: beyond e^−709 no cell holds
a perplexity."""
SMALL = (
    'text.vocabulary=["<eos>", "a", "b"]', 'text.texts=[["a", "a", "<eos>"], ["b", "<eos>", "<eos>"]]',
    "text.response=[[1, 1], [1, 0]]", "text.there=[[1, 1], [1, 0]]", SURE, "gradients=on",
)  # fmt: skip
"""Two texts whose prompt is one token, and whose pad is the end token; the second response is that token alone."""
BATCHES = {
    "steps of SGD": ("sft", "update.by=sgd", "update.epochs=3", "update.max_norm=0.1", "update.weight_decay=0.1"),
    "steps on microbatches": ("sft", "update.by=adam", "sft.microbatches=2", "loss.normaliser=microbatches"),
    "wrapped": ("sft-batch", "gradients=on", "sft.region=text", "sft.packing=wrapped", "loss.normaliser=labels"),
    "DFT of three microbatches": (
        "sft-batch", "gradients=on", "loss.dft=on", "sft.microbatches=3", "loss.normaliser=microbatches"
    ),
    "probability 1, one token, pad = eos": ("sft-batch", *SMALL, "loss.normaliser=nonzero"),
    "no end token": ("sft-batch", *SMALL, "sft.end_token=out", "loss.normaliser=row_sums"),
    "means of rows": ("sft-batch", *SMALL, "loss.normaliser=row_means"),
    "wrapped, and cut where no column is left": ("sft-batch", *SMALL, "sft.packing=wrapped", "sft.region=text"),
    "nothing to learn": ("sft-batch", *SMALL, "text.response=[[0, 0], [0, 0]]", "preset=nemo_rl"),
    "one response of two": ("sft-batch", *SMALL, "text.response=[[0, 0], [1, 0]]", "preset=verl_b178a3c", "sft.microbatches=2"),
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_torch_has_every_number_of_the_definitions(name: str) -> None:
    file = built(*BATCHES[name])
    shared, wrong = compared(file)
    assert wrong == []
    assert {"label.id", "loss.share", "total_loss", "policy.logits.grad"} <= {*shared}
    assert np.isfinite(file["total_loss"])
    assert np.isfinite(file["policy.logits.grad"]).all()


@pytest.mark.parametrize("run", runs(), ids=NAMES)
def test_torch_gives_what_a_library_computed(run: Run) -> None:
    """The loss to 1e-12, and its slope by autograd to 1e-11."""
    known = {name: torch.as_tensor(each) for name, each in batch().items()}
    tokens = torch.cat([known["text.first"][:, None], known["rollout.written"]], 1)
    of = Texts(tokens, known["response.tokens"], known["text.mask"], known["text.number"], known["end.id"])
    use = Asked({**{key: each.value for key, each in SFT.items()}, **run.settings})
    logp = known["policy.logprobs"].clone().requires_grad_()
    loss = loss_rows(of, label_rows(of, use), logp, use)["total_loss"]
    assert abs(loss.item() - run.out["loss"]) <= 1e-12 * max(1.0, run.out["loss"])
    if "grad_taken" in run.out:
        (slope,) = torch.autograd.grad(loss, [logp])
        meant = np.array(run.out["grad_taken"])
        found = (slope * (1 - logp.detach().exp())).numpy()
        assert np.abs(found[:, : meant.shape[1]] - meant).max() <= 1e-11
