"""The steps from scores to the loss, and what shows them again: the map and the pieces on Start, one word on Walk, the pictures.

The steps are those of every workbook, by the statistics, counts and sums of the whole batch. What the dump gives itself is not
made; a part of the loss for which it has no tensor is left out.
"""

from typing import NamedTuple

from blueprint.language import Block
from blueprint.page.outline import Box, Flow, Piece, Section, Sheet
from blueprint.workbooks.common import (
    TOTAL,
    UP,
    Choices,
    InView,
    Loss,
    Signal,
    Titled,
    charts,
    clip_flags,
    in_line,
    loss,
    loss_sheet,
    named,
    places,
    repeated,
    rows,
    rows_on,
    sheet_of,
    signal,
    signal_sheet,
    titled_sections,
    with_,
)
from blueprint.workbooks.minibatch.given import Blocks, listed

REPEATED = {
    "slots": "S", "score.placed": "placed", "score.given": "score", "response.ended": "ended", "response.padded": "padded",
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
    made = signal(_signal_given(given), use)
    out = loss(loss_sheet.linked({**given, **named(*rows(made.at and made.at.first_past)), **made.rows}), use)
    outline = loss_sheet.sections(out, flags=rows(*clip_flags(out.clip, use)))
    sheets = (
        sheet_of(signal_sheet.TITLE, signal_sheet.LEAD, signal_sheet.sections(made), head.on("signal")),
        sheet_of("Loss", f"{loss_sheet.LEAD} of the batch", outline, head.on("loss")),
    )
    return Steps(made, out, sheets, {**rows_on(*sheets), **given})


def _signal_given(given: Blocks) -> Blocks:
    """Collects what the signal is made of: what there is up to the row in which the file begins.

    With given advantages the old values are read only where there are given returns for the value loss.
    """
    begins_late = "advantages_used" in given and "returns" not in given
    there = {name: row for name, row in given.items() if not (name == "old_critic.values" and begins_late)}
    again = repeated(there, "signal", REPEATED)
    return {**again, **named(*places(again["slots"], given["mask"], given["after.words"]))}


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
    return titled_sections(*groups, *loss_sheet.walked(made.loss))


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
