"""Every line of docs/companions.md: the workbook's row is what the course's function gives, and the page prints it."""

from __future__ import annotations

import re

import pytest
import torch

from tests.companions.critics import episodes, gae, ppo_policy_loss, rewards
from tests.companions.expected import CALLED, expected
from tests.companions.page import PAGE, Line, built, lines, numbers_of, shown
from tests.companions.published import accumulated, by_token, clipped, k3, rollouts, standardised

LINES = lines()


def called(line: Line) -> str:
    return line.called


def test_the_page_names_every_function_once() -> None:
    assert sorted(line.called for line in LINES) == sorted(CALLED)
    rows = re.findall(r"^\| `[^|]*\|[^|]*\| `--numbers", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) == len(LINES)  # no row with settings escapes the pattern


@pytest.mark.parametrize("line", LINES, ids=called)
def test_the_workbook_gives_what_the_function_gives(line: Line) -> None:
    found, mask, _ = expected(line.called, line.book)
    flat = found.detach().reshape(-1) if found.dim() < 2 else found.detach()[mask]
    torch.testing.assert_close(numbers_of(line.book, line.row), flat, rtol=0, atol=1e-12)


@pytest.mark.parametrize("line", LINES, ids=called)
def test_the_page_prints_it(line: Line) -> None:
    assert line.gives == shown(numbers_of(line.book, line.row))


@pytest.mark.parametrize("line", [line for line in LINES if line.slopes], ids=called)
def test_the_gradients_agree(line: Line) -> None:
    loss, mask, leaf = expected(line.called, line.book)
    assert leaf is not None
    (slope,) = torch.autograd.grad(loss, leaf)
    torch.testing.assert_close(numbers_of(line.book, "policy.logprobs.grad"), slope[mask], rtol=0, atol=1e-12)


def test_a_mean_over_the_tokens_of_a_microbatch_is_another_loss() -> None:
    (line,) = [line for line in LINES if line.called == "masked_mean(dim=None)"]
    r = rollouts(line.book)
    apart = accumulated(r, by_token, clipped(r, standardised(r, 0)), 2)
    whole = line.book.show("total_loss").value
    assert said(f"{apart:.4f} here, and the whole batch {whole:.4f}")
    assert said(f"{apart:.4f} in place of {whole:.4f}")


def said(text: str) -> bool:
    """Returns whether the page says so, wherever its lines end."""
    return text.replace("-", "−") in " ".join(PAGE.read_text(encoding="utf-8").split()).replace("-", "−")


def test_the_kl_upside_down() -> None:
    r = rollouts(built("--numbers grpo-batch", gradients=False))
    apart = (r.new - r.ref).detach()
    k1, upside_down = apart[r.mask].mean(), (apart.expm1() - apart)[r.mask].mean()
    assert said(
        f"kl1 is {-k1:.4f} in place of {k1:.4f}, and kl3 {upside_down:.4f} in place of {k3(r)[r.mask].mean():.4f}"
    )
    two = torch.tensor(2.0)
    assert said(f"{two.expm1() - two:.4f} in place of {(-two).expm1() + two:.4f}")


def test_pads_in_a_whitening() -> None:
    settings = "--numbers by-hand --set ppo.gae_lambda=1 --set ppo.whiten_advantages=on --set loss.aggregation=seq-mean-token-mean"
    book = built(settings, gradients=False)
    e = episodes(book)
    advantages = gae(rewards(e, 0.1), e, 1.0, 1.0)
    losses = [ppo_policy_loss(e, (advantages - of.mean()) / of.std(), 0.2) for of in (advantages, advantages[e.mask])]
    assert said(f"a policy loss of {losses[0]:.4f} in place of {losses[1]:.4f}")
    assert book.show("policy_loss").value == pytest.approx(losses[1].item(), abs=1e-8)  # ε is inside the root there
    assert f"`{settings}`" in PAGE.read_text(encoding="utf-8")
