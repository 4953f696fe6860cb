"""Workbooks of GRPO with gradients: down to the logits against torch's autograd; a loss of 0 that learns all the same."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

import torch

from blueprint.book import Book
from blueprint.inputs import Numbers, load
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.grpo.schema import GRPO, grpo_presets
from blueprint.workbooks.grpo.witness import Asked, Responses, losses, signal
from blueprint.workbooks.registry import witness_of
from tests.witness.stage import Array, arrays

ENTROPY = "loss.ent_coef=0.01"
# Between numbers of 0.1 and less, in double precision.
NEAR = 1e-14


def learnt(*overrides: str) -> tuple[Numbers, dict[str, Array]]:
    """Returns the built-in batch with gradients: its numbers, and the blocks of its workbook by name."""
    numbers = load("grpo-batch", ["gradients=on", *overrides])
    return numbers, arrays(Book(blueprint_of(numbers)))


def autograd(numbers: Numbers, rows: dict[str, Array], use: Asked) -> tuple[float, Array]:
    """Returns the witness's loss and its gradient by the policy's logits."""
    ids = torch.tensor(rows["rollout.written"].astype(int))[..., None]
    z = {name: torch.tensor(rows[f"{name}.logits"]) for name in ("policy", "old", "reference", "engine")}
    log_p = {name: each.requires_grad_(name == "policy").log_softmax(-1) for name, each in z.items()}
    said = {name: each.gather(-1, ids)[..., 0] for name, each in log_p.items()}
    mask, H = torch.tensor(rows["mask"])[:, : ids.shape[1]], -(log_p["policy"].exp() * log_p["policy"]).sum(-1)
    score, truncated, greedy = (torch.tensor(rows[name]) for name in ("score", "truncated", "greedy"))
    of = Responses(
        score, truncated, greedy, mask, said["policy"], said["old"], said["reference"], said["engine"], H,
        len(mask) // len(greedy),
    )  # fmt: skip
    total = losses(of, signal(of, use), use).total
    (slopes,) = torch.autograd.grad(total, z["policy"])
    return total.item(), np.asarray(slopes)


@pytest.mark.parametrize("preset", ["default", "trl_0.14", "verl_gspo", "verl_cispo", "nemo_rl", "rfpp_paper"])
def test_every_logit_feels_what_autograd_says(preset: str) -> None:
    numbers, rows = learnt(f"preset={preset}", ENTROPY)
    chosen = {
        **{key: each.value for key, each in GRPO.items()},
        **grpo_presets().preset(preset).values,
        "loss.ent_coef": 0.01,
    }
    total, slopes = autograd(numbers, rows, Asked(chosen))
    assert rows["total_loss"] == pytest.approx(total, rel=1e-12)
    assert np.abs(slopes).max() > 1e-3
    assert np.abs(rows["policy.logits.grad"] - slopes).max() <= NEAR


def test_a_loss_of_0_learns() -> None:
    _, rows = learnt("preset=trl_grpo", "ratio.old=new")
    assert abs(rows["total_loss"]) < 1e-15
    assert np.abs(rows["policy.logprobs.grad"]).max() > 0.01
    assert np.abs(rows["policy.logits.grad"]).max() > 0.01
    up, down, still = (rows[f"loss.grad.{way}.count"] for way in ("up", "down", "still"))
    assert up == np.sum(rows["policy.logprobs.grad"] < -1e-12) > 0
    assert down == np.sum(rows["policy.logprobs.grad"] > 1e-12) > 0
    assert up + down + still == rows["mask"].sum()


def test_start_tells_of_no_critic() -> None:
    start = blueprint_of(load("grpo-batch")).sheets[0]
    said = {section.title: str(section.items) for section in start.sections}
    assert "Which GRPO this is" in said
    assert "There is no critic" in said["The models"]
    assert not [
        each
        for each in ("V_old", "GAE", "value loss")
        if each in said["The models"] + said["The loop around this step"]
    ]


OTHERS = (
    ("preset=verl_gspo", ENTROPY),
    ("preset=nemo_rl", "kl.gradient=k2_is", "loss.delta=1.1"),
    ("loss.objective=gmpo", "loss.clip_low=0.01", "kl.place=loss", "kl.estimator=abs"),
    (
        "loss.objective=sapo",
        "kl.place=loss",
        "kl.coef=0.2",
        "kl.gradient=k2",
        "kl.weight=ratio",
        "ratio.level=response",
    ),
    ("loss.dual_clip=1.01", "loss.clip_low=0.001", "loss.clip_high=0.001", "ratio.clamp=0.2", "ratio.level=product"),
)
"""Ways back that differ: on which level the ratio is, what holds it, through which objective and which KL."""


@pytest.mark.parametrize("overrides", OTHERS, ids=[each[0] for each in OTHERS])
def test_check_compares_every_row_of_a_file_with_gradients(overrides: tuple[str, ...]) -> None:
    book = Book(blueprint_of(load("grpo-batch", ["gradients=on", *overrides])))
    rows = arrays(book)
    (theirs,) = witness_of([rows], device="cpu")
    every = {block.name for block in book.values.arrays if not (block.typed or block.link)}
    assert every - theirs.keys() == set()
    slopes = {name for name in every if name.endswith(".grad")}
    assert len(slopes) > 50
    assert sum(np.abs(rows[name]).max() > 1e-5 for name in slopes) > 12
    assert {name for name in slopes if not np.abs(rows[name] - theirs[name]).max() <= NEAR} == set()
    assert all(np.array_equal(rows[f"loss.grad.{way}"], theirs[f"loss.grad.{way}"]) for way in ("up", "down", "still"))
