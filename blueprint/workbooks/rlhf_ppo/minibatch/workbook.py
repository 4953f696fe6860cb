"""The level of a real minibatch: it begins at log-probs, values and scores of a dump, by one preset, conventions live.

The steps are those of every workbook, by the statistics, counts and sums of the whole batch. What the dump gives itself is not
made; a part of the loss for which it has no tensor is left out.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from blueprint.inputs.catalogue import Catalogue
from blueprint.language import Block
from blueprint.page.outline import Blueprint, Box, Flow, Piece, Section, Sheet
from blueprint.workbooks.common import (
    LEGEND,
    LOSS_LEAD,
    NEW,
    OLD,
    PRESET,
    SIGNAL_LEAD,
    SIGNAL_TITLE,
    TOTAL,
    UP,
    Choices,
    Chosen,
    Counting,
    Identity,
    InView,
    Loss,
    Made,
    Says,
    Signal,
    Titled,
    charts,
    checks,
    checks_sheet,
    chosen_of,
    clip_flags,
    conventions_sheet,
    count,
    facts_of,
    gamma_0,
    in_line,
    labels,
    lambda_0,
    links_of_loss,
    loss,
    loss_on_walk,
    loss_sections,
    means_of,
    n,
    named,
    places,
    presets_sheet,
    repeated,
    rlhf,
    rows,
    rows_on,
    sheet_of,
    signal,
    signal_sections,
    start_sheet,
    t,
    titled_sections,
    walk,
    with_,
)
from blueprint.workbooks.rlhf_ppo.minibatch.given import (
    STALE,
    Blocks,
    MinibatchNumbers,
    batch_sheet,
    dump_sheet,
    given_of,
    library_sheet,
    listed,
)

REPEATED = {
    "slots": "S", "score.placed": "placed", "score.given": "score", "response.length": "length", "response.ended": "ended",
    "response.padded": "padded",
    "old.logprobs": "logp_old", "reference.logprobs": "logp_ref", "old_critic.values": "V_old",
}  # fmt: skip
"""What is repeated on the sheet of rewards and advantages, and what it is called there."""


class Steps(NamedTuple):
    """The steps, their sheets, and every block by its name, what is typed among them."""

    signal: Signal
    loss: Loss
    sheets: tuple[Sheet, Sheet]
    named: Blocks


def steps_of(given: Blocks, head: InView, use: Choices) -> Steps:
    """Defines and outlines what the dump does not give itself."""
    # With given advantages the old values are read only where there are given returns for the value loss.
    begins_late = "advantages_used" in given and "returns" not in given
    there = {name: row for name, row in given.items() if not (name == "old_critic.values" and begins_late)}
    again = repeated(there, "signal", REPEATED)
    made = signal({**again, **named(*places(again["slots"], given["mask"], given["after.words"]))}, use)
    out = loss(links_of_loss({**given, **named(*rows(made.at and made.at.first_past)), **made.rows}), use)
    outline = loss_sections(out, flags=rows(*clip_flags(out.clip, use)))
    sheets = (
        sheet_of(SIGNAL_TITLE, SIGNAL_LEAD, signal_sections(made), head.on("signal")),
        sheet_of("Loss", f"{LOSS_LEAD} of the batch", outline, head.on("loss")),
    )
    return Steps(made, out, sheets, {**rows_on(*sheets), **given})


PARTS = {
    "policy_loss": ("policy loss", "policy"),
    "value_loss": ("value loss, weighted", "value"),
    "entropy": ("entropy bonus, weighted", "entropy"),
    "kl_loss": ("KL to the reference, weighted", "ref. KL"),
}
"""What the parts of the loss are called on Start, and below their bars."""
QUANTITIES = {
    "reference KL": "kl.used",
    "KL penalty": "reward.penalty",
    "reward-model coupling": "score.placed",
    "augmented reward": "rewards",
    "TD errors": "td_errors",
    "GAE advantage estimation": "advantages",
    "value targets (from the old critic)": "returns",
    "advantage whitening": "advantages_used",
    "importance-sampling ratios": "ratio",
    "clipped surrogate (PPO clip)": "surrogate",
    "tokens whose loss the clip changed": "clip_fraction.flag",
}
"""The pieces under their usual names, by the rows that show them; the mean of each stands on Start."""
WAY = {
    "log π_old (dump)": "old.logprobs",
    "reference KL": "kl.used",
    "reward r": "rewards",
    "TD error δ": "td_errors",
    "advantage A": "advantages",
    "whitened Â": "advantages_used",
}
"""The way to the advantage on the map; a part that begins later is drawn from where it begins."""


def pieces(named: Blocks, means: Blocks, words: Block) -> list[Piece]:
    """Lists the pieces under their usual names; what the dump has no tensor for is left out."""
    found = {title: row for title, row in QUANTITIES.items() if row in means}
    listed = [Piece(title, means[row], named[row]) for title, row in found.items()]
    return [Piece("masks and EOS", words, named["mask"]), *listed]


def parts(made: Steps) -> list[Piece]:
    """Lists the total loss and its parts."""
    total = made.loss.total
    return [
        Piece("total loss of the batch", total.total, total.total, of=TOTAL),
        *(Piece(PARTS[name][0], block, block) for name, block in zip(total.means, total.parts, strict=True)),
    ]


def flow(made: Steps) -> Flow:
    """Draws the way from the dump's numbers to the total."""
    named, total, clip, value = made.named, made.loss.total, made.loss.clip, made.loss.value
    first = in_line(*(Box(title, named[row]) for title, row in WAY.items() if row in named))
    second = in_line(
        Box("log π_θ (dump)", named["policy.logprobs"]), Box("ratio ρ", clip.ratio), Box("clipped surrogate", clip.smaller),
        Box("policy loss", total.parts[0]), Box("TOTAL LOSS", total.total),
    )  # fmt: skip
    third = ("", "", with_("log π_old", named["old.logprobs"]), "", with_("Â", made.signal.used))
    if value is None:
        return Flow((first, second, third))
    critic = in_line(
        Box("value V (dump)", named["critic.values"]), Box("value clipped", value.held), Box("value loss", value.loss),
        Box("mean value loss", total.means["value_loss"]),
    )  # fmt: skip
    return Flow((first, second, third, (*critic, UP)))


def walked(made: Steps) -> list[Section]:
    """Outlines the derivation of one word, as far as it is computed here."""
    signal, named = made.signal, made.named
    said = listed(named, "old.logprobs", "reference.logprobs", "policy.logprobs", "old_critic.values", "critic.values")
    groups: list[Titled] = [
        ("The position", (*listed(named, "slot.column", "mask", "slots"), *signal.counted)),
        ("What the dump says", said),
    ]
    if signal.kl and signal.paid and signal.rewards:
        paid = rows(signal.placed, signal.paid.support, signal.paid.penalty, signal.rewards.raw, signal.rewards.used)
        groups += [
            ("KL to the reference", tuple(row for row in (*signal.kl.steps, signal.kl.used) if row.axes)),
            ("Reward", paid),
        ]
    if signal.gae and signal.white:
        white = signal.white
        scale = rows(*white.of[1:4], *white.of.divisors[-1:], white.whitened, white.used)
        groups += [("Advantage", signal.gae[1:]), ("Whitening", scale)]
    return titled_sections(*groups, *loss_on_walk(made.loss))


def pictures(made: Steps, head: tuple[Block, ...], use: Choices) -> tuple[Sheet, dict[Block, object]]:
    """Draws the clip with the words shown on it, their advantages, and where the total comes from."""
    clip, used, total, words, m = (
        made.loss.clip,
        made.signal.used,
        made.loss.total,
        *listed(made.named, "word_written", "mask"),
    )
    drawn = [charts.clip_picture(charts.Points(clip.ratio, used, clip.smaller, words, m), use)]
    if made.signal.gae:
        drawn.append(charts.advantage_picture(words, made.signal.gae.advantages, used, m, charts.Within((m,)))[0])
    names = [PARTS[name][1] for name in total.means]
    drawn.append(charts.parts_picture(dict(zip([*names, "total"], (*total.parts, total.total), strict=True))))
    return charts.charts_sheet(drawn, head)


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
    gae = made.signal.gae
    known = (
        [lambda_0(gae, use), gamma_0(gae, made.named["rewards"], use)] if gae else []
    )  # nothing enters behind the last column
    checked, verdict, tolerances = checks_sheet(head.on("checks").rows, _residuals(made, chosen), known)
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
