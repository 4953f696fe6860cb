"""Reward & advantage: from one score at the end to a learning signal for every word."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Section, Sheet, key
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.definitions.advantage import Gae, Whitened, gae, whiten
from blueprint.workbooks.common.definitions.reward import ReferenceKL, Reward, reference_kl, reward
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.common.sheets.signal import LEAD, TITLE


class Signal(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    logp_old: Block
    logp_ref: Block
    kl: ReferenceKL
    score: Block
    reward: Reward
    V: Block
    gae: Gae
    white: Whitened


class Given(NamedTuple):
    """What the signal is made of, all (n, t): two log-probs, score and value.

    exact: the exact KL where there is one. before: the values as they were given, where those are not used as they are.
    """

    logp_old: Block
    logp_ref: Block
    score: Block
    values: Block
    exact: Block | None = None
    before: Block | None = None


def signal(head: tuple[Block, ...], m: Block, given: Given, words: Block, chosen: Settings) -> Signal:
    """Defines and outlines reward, advantage and whitened advantage; `head` stays in view, m is the mask."""
    kl = reference_kl(given.logp_old, given.logp_ref, chosen.switch["kl_estimator"])
    paid = reward(kl.used, given.score, chosen.used["kl_coef"])
    estimate = gae(paid.rewards, given.values, m, chosen.used["gamma"], chosen.used["gae_lambda"])
    eps, switch = chosen.used["whiten_eps"], chosen.switch["whiten_advantages"]
    white = whiten(estimate.advantages, m, words, eps, switch)
    exact = (given.exact,) if given.exact is not None else ()
    before = (given.before,) if given.before is not None else ()
    sections = (
        Section(
            "How far from the reference?",
            (given.logp_old, given.logp_ref, kl.k1, kl.k2, kl.k3, key(kl.used), *exact),
        ),
        Section("Reward", (paid.penalty, given.score, key(paid.rewards))),
        Section(
            "Advantage (GAE) and return",
            (*before, given.values, estimate.td_errors, key(estimate.advantages), key(estimate.returns)),
        ),
        Section(
            "Whitening: mean 0 and variance 1 over the response words of the batch",
            (white.mean, white.centred, white.variance, white.whitened, key(white.used)),
        ),
    )
    sheet = Sheet(TITLE, LEAD, sections, (n, t), head, m)
    return Signal(sheet, given.logp_old, given.logp_ref, kl, given.score, paid, given.values, estimate, white)


def linked(name: str, given: Given) -> Given:
    """Repeats what comes from the models' sheets."""
    exact = link(f"{name}.exact_kl", given.exact) if given.exact is not None else None
    return Given(
        link(f"{name}.logp_old", given.logp_old),
        link(f"{name}.logp_ref", given.logp_ref),
        link(f"{name}.score", given.score),
        link(f"{name}.values", given.values),
        exact,
    )
