"""The level of a real minibatch: it begins at log-probs, values and scores of a dump, by one preset, conventions live."""

from dataclasses import replace

import numpy as np

from blueprint.inputs.catalogue import Catalogue
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Piece
from blueprint.workbooks.common import (
    LEGEND,
    NEW,
    OLD,
    PRESET,
    Choices,
    Chosen,
    Counting,
    Identity,
    InView,
    Made,
    Says,
    checks,
    checks_sheet,
    chosen_of,
    conventions_sheet,
    count,
    facts_of,
    gamma_0,
    labels,
    lambda_0,
    means_of,
    n,
    presets_sheet,
    rlhf,
    start_sheet,
    t,
    walk,
)
from blueprint.workbooks.minibatch.given import STALE, Blocks, batch_sheet, dump_sheet, given_of, listed
from blueprint.workbooks.minibatch.library import library_sheet
from blueprint.workbooks.minibatch.numbers import MinibatchNumbers
from blueprint.workbooks.minibatch.steps import QUANTITIES, Steps, flow, parts, pictures, pieces, steps_of, walked

WITHOUT = ("update_step", "policy_kl_coef", "batch.temperature", "batch.temperature_eps")
WORDS = ("k1", "k2", "k3", "abs")
"""KL estimates; the exact one needs every word's probability, which no dump has."""


SAYS = Says(
    (
        "A few responses of a training minibatch, a window of columns each: replayed from what its library saved.",
        "A column is one position, on every sheet. A row is a quantity with one formula. What is typed came from the dump.",
        "The tokens that are not shown are in it too: their statistics, counts and sums are typed on Batch.",
    ),
    "Beside each value stands what it is a mean or a sum of; means are over the tokens that are shown, token by token in the row.",
    "Choose another preset on Conventions: the rows follow; the numbers on Batch stay those of the preset delivered.",
    heading="A training minibatch by hand",
    legend=tuple(look for look in LEGEND if look.role not in ("weights", "memory", "probability")),
)


def minibatch_level(numbers: MinibatchNumbers) -> Blueprint:
    """Makes the blueprint of a few responses of a minibatch."""
    chosen = chosen_of(numbers.ppo, numbers.conventions, of=_catalogue())
    use = Choices(chosen.settings.used, chosen.settings.switch, labels=labels("live"))
    given, preset = given_of(numbers.typed), chosen.table.chosen
    head = InView(given["word_written"], given["mask"], given["slot.column"])
    made = steps_of(given, head, use)
    words = count("window.words", given["mask"], use)
    means = _means(made.named, Counting(given["mask"], words, words))
    checked, verdict, tolerances = checks_sheet(
        head.on("checks").rows, _residuals(made, chosen), _identities(made, use)
    )
    picked, first_choice = walk.choice(episode=1, decision=numbers.focus)
    drawn, of_pictures = pictures(made, head.on("charts").rows, use)
    library, logged = library_sheet(numbers.typed, made.named, head)
    facts = facts_of(numbers.name, "minibatch") | {"preset": numbers.conventions.preset, "conventions": "live"}
    told = Made(numbers.title, numbers.about, facts, SAYS._replace(found=numbers.notes, where=logged))
    choices = (Piece("preset in use", preset, preset, equation=False),)
    sheets = (
        start_sheet(told, parts(made), pieces(made.named, means, words), flow(made), verdict, choices),
        walk.walk_sheet(picked, head.rows[:-1], walked(made)),
        conventions_sheet(chosen, (STALE,)), presets_sheet(chosen), dump_sheet(given, numbers.notes),
        batch_sheet(given, words, means), *made.sheets, library, checked, drawn,
    )  # fmt: skip
    blueprint = Blueprint(
        numbers.title,
        sheets,
        {n: len(numbers.words), t: len(numbers.words[0]), PRESET: len(chosen.catalogue.presets)},
        chosen.settings.typed | tolerances | first_choice | of_pictures,
        names={PRESET: chosen.table.names},
        choices=chosen.settings.choices,
        ranges=chosen.settings.ranges | walk.ranges(picked) | {given["mask"]: (0, 1)},
        facts=facts,
        result=made.loss.total.total,
        parts=made.loss.total.parts,
        chosen=picked,
        whole="batch",
    )
    return blueprint.with_typed({"word_written": np.array(numbers.words, dtype=object), **numbers.typed})


def _catalogue() -> Catalogue:
    """Leaves out the settings that have no use where no model is run and no distribution is known."""
    settings = {
        key: setting for key, setting in rlhf().settings.items()
        if key not in WITHOUT and (key == "metrics.clip_fraction" or not key.startswith("metrics."))
    }  # fmt: skip
    narrowed = {key: replace(settings[key], words=WORDS) for key in (OLD.estimator, NEW.estimator)}
    return replace(rlhf(), settings=settings | narrowed)


def _means(named: Blocks, over: Counting) -> dict[str, Block]:
    """Averages rows over the words shown, for the first sheet; returns only where they are computed here."""
    rows = [named[name] for name in QUANTITIES.values() if name in named]
    return means_of(
        [row for row in (*rows, *listed(named, "value.word_loss")) if not row.typed or row.name != "returns"], over
    )


def _residuals(made: Steps, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    named, gae, total = made.named, made.signal.gae, made.loss.total
    logprobs = {"old_policy": "old.logprobs", "new_policy": "policy.logprobs", "reference": "reference.logprobs"}
    return [
        checks.is_0_or_1("mask", named["mask"]),
        *(checks.not_positive(policy, named[name], m=named["mask"]) for policy, name in logprobs.items()),
        *([checks.adds_up(gae.advantages, gae.V, gae.returns)] if gae else []),
        checks.parts_add_up(total.parts, total.total),
        checks.all_in_range(chosen.settings),
    ]


def _identities(made: Steps, use: Choices) -> list[Identity]:
    """Runs the recursion at λ = 0 and γ = 0, where nothing enters behind the last column."""
    gae = made.signal.gae
    return [lambda_0(gae, use), gamma_0(gae, made.named["rewards"], use)] if gae else []
