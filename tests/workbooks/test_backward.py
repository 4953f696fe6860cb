"""The gradients of a workbook: where they stand, that they are left out unless asked for, and that a wrong one is seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Block, Definition, Expr, Operand, Position, Sum, equal
from blueprint.language.nodes import wrap
from blueprint.page.outline import Blueprint, blocks_on
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common import j, n, t, v
from blueprint.workbooks.kind import KindError
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import WEIGHTS
from tests.autograd import slopes
from tests.rows import Array, arrays

SEEN = 1e-3
"""How far a planted mistake moves the gradient of a weight at least, as a part of the largest of it."""


def outline(*overrides: str, numbers: str = "default") -> Blueprint:
    """Returns a fresh blueprint with gradients."""
    return blueprint_of(load(numbers, ["gradients=on", "ppo.policy_kl_coef=0.3", "ppo.ent_coef=0.1", *overrides]))


@cache
def by_torch() -> dict[str, Array]:
    """Returns autograd's gradients of the default."""
    return slopes(Book(outline()))


def test_nothing_is_added_unless_it_is_asked_for() -> None:
    plain = blueprint_of(load("default"))
    assert not [block.name for block in plain.blocks() if ".grad" in block.name]
    assert [block.name for block in outline().blocks() if ".grad" not in block.name] == [b.name for b in plain.blocks()]


def test_an_adjoint_stands_on_the_sheet_of_what_it_is_of() -> None:
    homes = {block.name: sheet.title for sheet in outline().sheets for block in blocks_on(sheet)}
    adjoints = [name for name in homes if name.endswith(".grad")]
    assert {homes[name] for name in adjoints} == {"Policy", "Critic", "Loss"}
    assert all(homes[name] == homes[name.removesuffix(".grad")] for name in adjoints)


def test_the_row_of_the_logprobs_answers_which_token_pulls() -> None:
    rows = arrays(Book(outline("ppo.ent_coef=0", "ppo.policy_kl_coef=0", "ppo.update_step=0")))
    pulls, response = rows["policy.logprobs.grad"], rows["mask"][:, 1:-1] > 0
    assert abs(rows["policy_loss"]) < 1e-15 < np.abs(pulls[response]).min()
    assert not pulls[~response].any()


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ("very-very-sleepy", "end before a loss"),
        ("kl-controller", "gradients: the adaptive KL controller has no loss, and only a loss has gradients; leave"),
    ],
)
def test_what_has_no_loss_has_no_gradients(numbers: str, sentence: str) -> None:
    with pytest.raises(KindError, match=sentence):
        blueprint_of(load(numbers, ["gradients=on"]))


G = dict[str, Block]
"""The blocks of a workbook by their names."""


def of_logits(b: G, summed: int = 1, turned: bool = False) -> Expr:
    """Returns what the logits feel; summed: 0 leaves out the soft-max's − p; turned: the entropy's slope has the other sign."""
    m, p = b["policy.mask"], b["policy.p"]
    chosen = b["policy.logprobs.grad"][n, t] * m[n, t] * (b["rollout.written.grad.is"][n, t, v] - summed * p[n, t, v])
    apart = b["policy.log_p"][n, t, v] - b["policy.p_log_p"][n, t]
    drift = b["policy_kl.exact.grad"][n, t] * m[n, t] * (p[n, t, v] - b["policy.p_old"][n, t, v])
    spread = b["policy.entropy.grad"][n, t] * m[n, t] * p[n, t, v] * apart
    return chosen + (spread if turned else -spread) + drift


def wrong_way(b: G) -> Expr:
    """Returns what the memory feels if the position before sends back, and not the next."""
    own, back = Sum(v, b["policy.logits.grad"][n, t, v] * b["policy.Y.grad.transposed"][v, j]), b["policy.inputs.grad"]
    back[n, t.first - 1, back.axes[2]] = 0
    return own + back[n, t - 1, back.axes[2].parts[1]]


MISTAKES: dict[str, tuple[str, Callable[[G], Operand]]] = {
    "no backpropagation through time": (
        "policy.memory.grad", lambda b: Sum(v, b["policy.logits.grad"][n, t, v] * b["policy.Y.grad.transposed"][v, j]),
    ),
    "backpropagation through time the wrong way": ("policy.memory.grad", wrong_way),
    "1 − h for 1 − h²": (
        "policy.memory.grad.in", lambda b: b["policy.memory.grad"][n, t, j] * (1 - b["policy.memory"][n, t, j]),
    ),
    "no 1 − h² at all": ("critic.memory.grad.in", lambda b: b["critic.memory.grad"][n, t, j]),
    "the soft-max without − p": ("policy.logits.grad", lambda b: of_logits(b, summed=0)),
    "the sign of the entropy": ("policy.logits.grad", lambda b: of_logits(b, turned=True)),
    "the clip ignored": ("ratio.grad", lambda b: b["surrogate.grad"][n, t] * b["loss.advantages"][n, t]),
    "½ forgotten": ("value.word_loss.grad", lambda b: 2 * b["vf_coef"] * b["loss.mask"][n, t] / b["response.words"]),
    "the mean forgotten": ("surrogate.grad", lambda b: -b["loss.mask"][n, t]),
    "one-hot of the wrong token": (
        "rollout.written.grad.is", lambda b: equal(b["rollout.read"][n, t], b["rollout.written.grad.id"][v]),
    ),
    "the value clip ignored": (
        "critic.values.grad", lambda b: b["value.word_loss.grad"][n, t] * b["loss.mask"][n, t] * b["value.error"][n, t],
    ),
    "the ratio forgotten": ("log_ratio.grad", lambda b: b["ratio.grad"][n, t]),
    "the bias of the head read once": ("critic.head.b.grad", lambda b: Sum((n, t), b["critic.values.grad"][n, t]) / 2),
}  # fmt: skip


def planted(mistake: str) -> Book:
    """Returns the default with an equation of the way back that is wrong."""
    return with_equation(outline(), *MISTAKES[mistake])


def with_equation(made: Blueprint, name: str, wrong: Callable[[G], Operand]) -> Book:
    """Returns the book of a fresh blueprint in which one row has another equation."""
    blocks = {block.name: block for block in made.blocks()}
    block = blocks[name]
    body = next(d for d in block.definitions if all(isinstance(index, Position) for index in d.target))
    block.definitions[block.definitions.index(body)] = Definition(body.target, wrap(wrong(blocks)))
    return Book(made)


def furthest(rows: dict[str, Array]) -> float:
    """Returns how far the gradient of a weight is from autograd's at most, as a part of the largest of it."""
    weights = [name for name in rows if name.endswith(".grad") and name.removesuffix(".grad") in WEIGHTS]
    return max(float(np.abs(rows[w] - by_torch()[w]).max() / np.abs(by_torch()[w]).max()) for w in weights)


def test_the_clean_gradients_are_not_accused() -> None:
    assert furthest(arrays(Book(outline()))) < 1e-12


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_is_seen(mistake: str) -> None:
    rows = arrays(planted(mistake))
    name = MISTAKES[mistake][0]
    assert furthest(rows) > SEEN
    if name in by_torch():  # a step within a cell's equation is no cell of its own
        assert np.abs(rows[name] - by_torch()[name]).max() > SEEN * np.abs(by_torch()[name]).max()
