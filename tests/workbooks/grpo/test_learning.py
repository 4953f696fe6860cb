"""Workbooks of GRPO with gradients: down to the logits against the page's autograd; a loss of 0 that learns all the same."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import Numbers, load
from blueprint.workbooks import blueprint_of
from tests.rows import Array, arrays
from tests.workbooks.apart import apart, by_autograd, by_page

ENTROPY = "loss.ent_coef=0.01"
# Of the largest of a row above 1, in double precision.
NEAR = 1e-14


def learnt(*overrides: str) -> tuple[Numbers, dict[str, Array]]:
    """Returns the built-in batch with gradients: its numbers, and the blocks of its workbook by name."""
    numbers = load("grpo-batch", ["gradients=on", *overrides])
    return numbers, arrays(Book(blueprint_of(numbers)))


@pytest.mark.parametrize("preset", ["default", "trl_0.14", "verl_gspo", "verl_cispo", "nemo_rl", "rfpp_paper"])
def test_every_logit_feels_what_autograd_says(preset: str) -> None:
    book = Book(blueprint_of(load("grpo-batch", ["gradients=on", f"preset={preset}", ENTROPY])))
    far = by_page(book)
    assert {row: each for row, each in far.items() if not each <= NEAR} == {}
    assert {"page: total_loss", "page: policy.logits.grad"} <= far.keys()
    assert np.abs(arrays(book)["policy.logits.grad"]).max() > 1e-3


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
def test_every_row_of_the_way_back_is_as_page_and_autograd_have_it(overrides: tuple[str, ...]) -> None:
    book = Book(blueprint_of(load("grpo-batch", ["gradients=on", *overrides])))
    rows, way = arrays(book), by_autograd(book)
    slopes = {name for name, block in book.blocks.items() if name.endswith(".grad") and not (block.typed or block.link)}
    assert len(slopes & way.keys()) > 50
    assert sum(np.abs(rows[name]).max() > 1e-5 for name in slopes) > 12
    assert apart(book) == {}
    pulled, tokens = rows["policy.logprobs.grad"], rows["mask"] == 1
    ways = {"up": pulled < -1e-12, "down": pulled > 1e-12, "still": np.abs(pulled) <= 1e-12}
    for way_of, meant in ways.items():
        assert np.array_equal(rows[f"loss.grad.{way_of}"] == 1, meant & tokens), way_of
