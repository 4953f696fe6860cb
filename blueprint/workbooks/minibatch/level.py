"""The level of a real minibatch: it begins at log-probs, values and scores of a dump, by one preset, conventions live."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blueprint.inputs.catalogue import Catalogue, Preset
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Piece
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions.data import rlhf
from blueprint.workbooks.common.conventions.inputs import Chosen, chosen_of, conventions_sheet, presets_sheet
from blueprint.workbooks.common.definitions import checks
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.distribution import NEW, OLD
from blueprint.workbooks.common.definitions.identities import Identity, gamma_0, lambda_0
from blueprint.workbooks.common.definitions.metrics import means_of
from blueprint.workbooks.common.definitions.whitening import Counting, count
from blueprint.workbooks.common.facts import facts_of
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.settings import PRESET
from blueprint.workbooks.common.sheets import walk
from blueprint.workbooks.common.sheets.checks import checks_sheet
from blueprint.workbooks.common.sheets.start import LEGEND, Made, Says, start_sheet
from blueprint.workbooks.minibatch.batch import STALE, Whole, batch_sheet, whole_batch
from blueprint.workbooks.minibatch.dump import Dump, dump_of, dump_sheet
from blueprint.workbooks.minibatch.library import library_sheet
from blueprint.workbooks.minibatch.loss import Loss, loss
from blueprint.workbooks.minibatch.schema import MinibatchNumbers
from blueprint.workbooks.minibatch.signal import Signal, signal_of
from blueprint.workbooks.minibatch.views import flow, pictures, pieces, walked

WATCHED = "metrics.clip_fraction"
WITHOUT = ("update_step", "policy_kl_coef", "batch.temperature", "batch.temperature_eps")
WORDS = ("k1", "k2", "k3", "abs")
"""KL estimates; the exact one needs every word's probability, which no dump has."""


SAYS = Says(
    (
        "A few responses of a training minibatch, a window of columns each: replayed from what its library saved.",
        "A column is one decision, on every sheet. A row is a quantity with one formula. What is typed came from the dump.",
        "The words that are not shown are in it too: their statistics, counts and sums are typed on Batch.",
    ),
    "Beside each value stands what it is a mean or a sum of; means are over the words that are shown, word by word in the row.",
    "Choose another preset on Conventions: the rows follow; the numbers on Batch stay those of the preset delivered.",
    heading="A training minibatch by hand",
    legend=tuple(look for look in LEGEND if look.role not in ("weights", "memory", "probability")),
)


class _Parts(NamedTuple):
    given: Dump
    whole: Whole
    signal: Signal
    loss: Loss


def minibatch_level(numbers: MinibatchNumbers) -> Blueprint:
    """Makes the blueprint of a few responses of a minibatch."""
    chosen = chosen_of(numbers.ppo, numbers.conventions, of=_catalogue())
    use = Choices(chosen.settings.used, chosen.settings.switch, labels=labels("live"))
    given, whole = dump_of(numbers.typed), whole_batch()
    made = signal_of(given, whole, use)
    parts = _Parts(given, whole, made, loss(given, made, whole, use))
    return _blueprint(numbers, chosen, parts, use)


def _catalogue() -> Catalogue:
    """Leaves out the settings that have no use where no model is run and no distribution is known."""
    found = rlhf()
    settings = {
        key: setting for key, setting in found.settings.items()
        if key not in WITHOUT and (key == WATCHED or not key.startswith("metrics."))
    }  # fmt: skip
    for key in (OLD.estimator, NEW.estimator):
        settings[key] = replace(settings[key], words=WORDS)
    return Catalogue(settings, {name: _narrowed(preset, settings) for name, preset in found.presets.items()})


def _narrowed(preset: Preset, settings: Mapping[str, object]) -> Preset:
    return replace(preset, values={key: value for key, value in preset.values.items() if key in settings})


def _blueprint(numbers: MinibatchNumbers, chosen: Chosen, parts: _Parts, use: Choices) -> Blueprint:
    """Joins the sheets."""
    given, made, out = parts.given, parts.signal, parts.loss
    checked, judged, tolerances = checks_sheet(
        given.head.on("checks").rows, _residuals(parts, chosen), _identities(made, use)
    )
    picked, first_choice = walk.choice(episode=1, decision=numbers.focus)
    drawn, of_pictures = pictures(parts.given, made, out, use)
    facts = facts_of(numbers.name, "minibatch") | {"preset": numbers.conventions.preset, "conventions": "live"}
    library = library_sheet(numbers.typed, made, _numbers(parts), given.head)
    told = Made(numbers.title, numbers.about, facts, SAYS._replace(found=numbers.notes, where=library.pieces))
    words = count("window.words", given.mask, use)
    means = means_of([row for row in _averaged(made, out) if row is not None], Counting(given.mask, words, words))
    listed, losses = pieces(given, made, out, means, words)
    preset = chosen.table.chosen
    choices = (Piece("preset in use", preset, preset, told=False),)
    sheets = (
        start_sheet(told, losses, listed, flow(given, made, out), judged.verdict, choices),
        walk.walk_sheet(picked, given.head.rows[:-1], walked(given, made, out)),
        conventions_sheet(chosen, (STALE,)), presets_sheet(chosen), dump_sheet(given, numbers.notes),
        batch_sheet(parts.whole, words, means), made.sheet, out.sheet,
        library.sheet, checked, drawn,
    )  # fmt: skip
    blueprint = Blueprint(
        numbers.title,
        sheets,
        {n: len(numbers.words), t: len(numbers.words[0]), PRESET: len(chosen.catalogue.presets)},
        chosen.settings.typed | tolerances | first_choice | of_pictures,
        names={PRESET: chosen.table.names},
        choices=chosen.settings.choices,
        ranges=chosen.settings.ranges | walk.ranges(picked) | {given.mask: (0, 1)},
        facts=facts,
        result=out.made.total.total,
        parts=out.made.total.parts,
        chosen=picked,
        whole="batch",
    )
    return blueprint.with_typed({"word_written": np.array(numbers.words, dtype=object), **numbers.typed})


def _numbers(parts: _Parts) -> dict[str, Block]:
    """Returns the numbers of the whole batch that are in the workbook, by the names of their blocks."""
    total = parts.loss.made.total
    return {
        block.name: block for block in (*total.means.values(), *total.adds, total.total, parts.whole.rest.mean_ratio)
    }


def _averaged(made: Signal, out: Loss) -> list[Block | None]:
    """Lists the rows whose mean over the words shown stands on the first sheet."""
    steps = made.made
    gae, kl = steps.gae, steps.kl
    return [
        kl.used if kl else None, *((steps.paid.penalty, steps.placed) if steps.paid else ()), made.rewards,
        gae.td_errors if gae else None, gae.advantages if gae else None,
        gae.returns if gae else None, steps.used, out.made.clip.ratio, out.made.clip.smaller, out.flags.used,
        out.made.value.loss if out.made.value else None,
    ]  # fmt: skip


def _residuals(parts: _Parts, chosen: Chosen) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    given, made, out = parts.given, parts.signal, parts.loss
    logprobs = {"old_policy": given.logp_old, "new_policy": given.logp_new, "reference": given.logp_ref}
    m = given.mask
    found: list[Block | Identity] = [checks.is_0_or_1("mask", m)]
    found += [checks.not_positive(name, row, m=m) for name, row in logprobs.items() if row is not None]
    if made.made.gae is not None:
        found.append(checks.adds_up(made.made.gae.advantages, made.made.gae.V, made.made.gae.returns))
    found.append(checks.parts_add_up(out.made.total.parts, out.made.total.total))
    return [*found, checks.all_in_range(chosen.settings)]


def _identities(made: Signal, use: Choices) -> list[Identity]:
    """Runs the recursion at λ = 0 and γ = 0, where nothing enters behind the last column."""
    gae = made.made.gae
    return [] if gae is None or made.rewards is None else [lambda_0(gae, use), gamma_0(gae, made.rewards, use)]
