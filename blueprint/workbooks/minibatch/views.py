"""What shows the steps again: the map and the pieces on Start, one word on Walk, and the pictures."""

from blueprint.language import Block
from blueprint.page.outline import Box, Flow, Piece, Section, Sheet
from blueprint.workbooks.common import ON, TOTAL, UP, Choices, Titled, charts, loss_sheet, rows, titled_sections, with_
from blueprint.workbooks.minibatch.given import Blocks, listed
from blueprint.workbooks.minibatch.steps import Steps

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
    "words whose loss the clip changed": "clip_fraction.flag",
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
    adds = zip(total.means, total.parts, strict=True)
    return [
        Piece("total loss of the batch", total.total, total.total, of=TOTAL),
        *(Piece(PARTS[name][0], block, block) for name, block in adds),
    ]


def flow(made: Steps) -> Flow:
    """Draws the way from the dump's numbers to the total."""
    named, total, clip, value = made.named, made.loss.total, made.loss.clip, made.loss.value
    first = _way(*(Box(title, named[row]) for title, row in WAY.items() if row in named))
    second = _way(
        Box("log π_θ (dump)", named["policy.logprobs"]), Box("ratio ρ", clip.ratio), Box("clipped surrogate", clip.smaller),
        Box("policy loss", total.parts[0]), Box("TOTAL LOSS", total.total),
    )  # fmt: skip
    third = ("", "", with_("log π_old", named["old.logprobs"]), "", with_("Â", made.signal.used))
    if value is None:
        return Flow((first, second, third))
    critic = _way(
        Box("value V (dump)", named["critic.values"]), Box("value clipped", value.held), Box("value loss", value.loss),
        Box("mean value loss", total.means["value_loss"]),
    )  # fmt: skip
    return Flow((first, second, third, (*critic, UP)))


def _way(*boxes: Box) -> tuple[Box | str, ...]:
    """Draws boxes with an arrow from each to the next."""
    return tuple(part for box in boxes for part in (ON, box))[1:]


def walked(made: Steps) -> list[Section]:
    """Outlines the derivation of one word, as far as it is computed here."""
    signal, named = made.signal, made.named
    said = listed(named, "old.logprobs", "reference.logprobs", "policy.logprobs", "old_critic.values", "critic.values")
    groups: list[Titled] = [
        ("The decision", (*listed(named, "slot.column", "mask", "slots"), *signal.counted)),
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
        drawn.append(charts.advantage_picture(words, made.signal.gae.advantages, used, m)[0])
    names = [PARTS[name][1] for name in total.means]
    drawn.append(charts.parts_picture(dict(zip([*names, "total"], (*total.parts, total.total), strict=True))))
    return charts.charts_sheet(drawn, head)
