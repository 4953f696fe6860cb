"""What shows the steps again: the map and the pieces on Start, one word on Walk, and the pictures."""

from collections.abc import Mapping

from blueprint.language import Block
from blueprint.page.outline import Box, Flow, Piece, Section, Sheet
from blueprint.workbooks.common.definitions.choices import Choices, rows
from blueprint.workbooks.common.sheets import charts
from blueprint.workbooks.common.sheets.averaged import TOTAL
from blueprint.workbooks.common.sheets.flow import ON, UP, with_
from blueprint.workbooks.common.sheets.loss import walked as walked_loss
from blueprint.workbooks.common.sheets.walk import titled_sections
from blueprint.workbooks.minibatch.dump import Dump
from blueprint.workbooks.minibatch.loss import Loss
from blueprint.workbooks.minibatch.signal import Signal

ADDS = {
    "value_loss": "value loss, weighted",
    "entropy": "entropy bonus, weighted",
    "kl_loss": "KL to the reference, weighted",
}
Groups = list[tuple[str, tuple[Block, ...]]]
BARS = {"policy_loss": "policy", "value_loss": "value", "entropy": "entropy", "kl_loss": "ref. KL"}


def pieces(
    given: Dump, made: Signal, out: Loss, means: Mapping[str, Block], words: Block
) -> tuple[list[Piece], list[Piece]]:
    """Lists the pieces under their usual names, and the parts of the loss; what the dump has no tensor for is left out."""
    steps = made.made
    gae, kl = steps.gae, steps.kl
    quantities = {
        "reference KL": kl.used if kl else None,
        "KL penalty": steps.paid.penalty if steps.paid else None,
        "reward-model coupling": steps.placed if steps.paid else None,
        "augmented reward": made.rewards,
        "TD errors": gae.td_errors if gae else None,
        "GAE advantage estimation": gae.advantages if gae else None,
        "value targets (from the old critic)": gae.returns if gae else None,
        "advantage whitening": steps.used,
        "importance-sampling ratios": out.made.clip.ratio,
        "clipped surrogate (PPO clip)": out.made.clip.smaller,
        "words whose loss the clip changed": out.flags.used,
    }
    listed = [Piece("masks and EOS", words, given.mask)]
    listed += [Piece(title, means[row.name], row) for title, row in quantities.items() if row is not None]
    total = out.made.total
    parts = [
        Piece("total loss of the batch", total.total, total.total, of=TOTAL),
        Piece("policy loss", total.parts[0], total.parts[0]),
    ]
    parts += [Piece(ADDS[name], block, block) for name, block in zip([*total.means][1:], total.adds, strict=True)]
    return listed, parts


def flow(given: Dump, made: Signal, out: Loss) -> Flow:
    """Draws the way from the dump's numbers to the total; a part that begins later is drawn from where it begins."""
    total, value = out.made.total, out.made.value
    first: list[Box | str] = []
    for title, block in _signal_boxes(given, made):
        first += [ON, Box(title, block)] if first else [Box(title, block)]
    second: list[Box | str] = [Box("log π_θ (dump)", given.logp_new), ON, Box("ratio ρ", out.made.clip.ratio), ON]
    second += [Box("clipped surrogate", out.made.clip.smaller), ON, Box("policy loss", total.parts[0]), ON]
    second.append(Box("TOTAL LOSS", total.total))
    third: list[Box | str] = ["", "", with_("log π_old", given.logp_old), "", with_("Â", made.made.used)]
    rows = [tuple(first), tuple(second), tuple(third)]
    if given.V_new is not None and value is not None:
        critic: list[Box | str] = [Box("value V (dump)", given.V_new), ON, Box("value clipped", value.held), ON]
        rows.append((*critic, Box("value loss", value.loss), ON, Box("mean value loss", total.means["value_loss"]), UP))
    return Flow(tuple(rows))


def _signal_boxes(given: Dump, made: Signal) -> list[tuple[str, Block]]:
    rows = (
        ("log π_old (dump)", given.logp_old),
        ("reference KL", made.made.kl.used if made.made.kl else None),
        ("reward r", made.rewards),
        ("TD error δ", made.made.gae.td_errors if made.made.gae else None),
        ("advantage A", made.made.gae.advantages if made.made.gae else None),
        ("whitened Â", made.made.used),
    )
    return [(title, row) for title, row in rows if row is not None]


def walked(given: Dump, made: Signal, out: Loss) -> list[Section]:
    """Outlines the derivation of one word."""
    return titled_sections(*_walked_signal(given, made), *walked_loss(out.made))


def _walked_signal(given: Dump, made: Signal) -> Groups:
    """Lists the way of one word to its advantage, as far as it is computed here."""
    steps = made.made
    probs = (given.logp_old, given.logp_ref, given.logp_new, given.V_old, given.V_new)
    groups: Groups = [("The decision", (given.column, given.mask, given.S, *steps.counted))]
    groups.append(("What the dump says", rows(*probs)))
    if steps.kl and steps.paid and steps.rewards:
        groups.append(("KL to the reference", tuple(row for row in (*steps.kl.steps, steps.kl.used) if row.axes)))
        paid = (steps.placed, steps.paid.support, steps.paid.penalty, steps.rewards.raw, steps.rewards.used)
        groups.append(("Reward", rows(*paid)))
    if steps.gae and steps.white:
        white = steps.white
        groups.append(("Advantage", steps.gae[1:]))
        ways = (*white.of[1:4], *white.of.divisors[-1:], white.whitened, white.used)
        groups.append(("Whitening", rows(*ways)))
    return groups


def pictures(given: Dump, made: Signal, out: Loss, use: Choices) -> tuple[Sheet, dict[Block, object]]:
    """Draws the clip with the words shown on it, their advantages, and where the total comes from."""
    points = charts.Points(out.made.clip.ratio, made.made.used, out.made.clip.smaller, given.words, given.mask)
    drawn = [charts.clip_picture(points, use)]
    if made.made.gae is not None:
        bars = charts.advantage_picture(given.words, made.made.gae.advantages, made.made.used, given.mask)
        drawn.append(bars.drawn)
    total = out.made.total
    names = [BARS[name] for name in total.means]
    added = dict(zip([*names, "total"], (*total.parts, total.total), strict=True))
    drawn.append(charts.parts_picture(added))
    return charts.charts_sheet(drawn, given.head.on("charts").rows)
