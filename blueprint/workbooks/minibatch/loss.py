"""Loss of the words shown, and of the whole batch: what these words add, and what the others add (typed on Batch)."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Item, Section, Sheet, key, minor
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions import policy, value
from blueprint.workbooks.common.conventions.weights import Weights, same_or_first, weights
from blueprint.workbooks.common.definitions.choices import Choices
from blueprint.workbooks.common.definitions.kl import NEW, kl_estimates
from blueprint.workbooks.common.definitions.loss import ValueLoss
from blueprint.workbooks.common.definitions.metrics import Flags, clip_flags
from blueprint.workbooks.common.definitions.ratio import Clip
from blueprint.workbooks.common.definitions.ratio import clip as clipped
from blueprint.workbooks.common.signal import Signal as Made
from blueprint.workbooks.minibatch.batch import Whole
from blueprint.workbooks.minibatch.dump import Dump
from blueprint.workbooks.minibatch.signal import Signal
from blueprint.workbooks.minibatch.total import Part, Sums, sums

LEAD = "how much better the new policy does, held near the old one; how far the new critic is off; and the total of the batch"

Sections = list[tuple[str, tuple[Item, ...]]]


class Loss(NamedTuple):
    """The sheet and what others read from it."""

    sheet: Sheet
    clip: Clip
    flags: Flags
    value: ValueLoss | None
    parts: tuple[Part, ...]
    sums: Sums
    steps: tuple[Block, ...]


def loss(given: Dump, made: Signal, whole: Whole, use: Choices) -> Loss:
    """Defines and outlines the loss; parts for which the dump has no tensor are left out."""
    M, A = link("loss.response", made.made.counted.response), link("loss.advantages", made.made.used)
    shown: Sections = []
    new, old = link("loss.logp_new", given.logp_new), link("loss.logp_old", given.logp_old)
    clip, flags = _clip(new, old, M, A, use, shown)
    held = policy.guard(whole.mean_ratio, use)
    counted = policy.filtered(M, given.ended, use)
    mode = use.switch["loss.aggregation"]
    w = weights("policy.weight", "π", "policy loss", counted.counted, whole.most, use, mode, whole.policy)
    of_policy = Part("policy", w.row, clip.smaller, whole.rest.policy, held.keep)
    title = "Policy loss: which words count, and with which weight"
    shown.append((title, (*map(minor, counted), *_weights(w), held.largest, held.keep)))
    squares, of_value = _value(given, made, M, whole, held.keep, use, shown)
    of_entropy = _entropy(given, counted.counted, whole, use, shown)
    of_kl = _reference(given, new, w, whole, use, shown)
    parts = tuple(part for part in (of_policy, of_value, of_entropy, of_kl) if part is not None)
    added = sums(parts, use)
    shown.append(("Total loss of the whole batch: words shown and words not shown", tuple(map(key, added.items))))
    shown.append(("What each word adds to the total", (*map(minor, added.of_parts), added.share)))
    head = given.head.on("loss")
    sections = tuple(Section(name, items) for name, items in shown)
    steps = (counted.counted, *(part.weight for part in parts))
    return Loss(Sheet("Loss", LEAD, sections, (n, t), head.rows, head.mask), clip, flags, squares, parts, added, steps)


def _clip(new: Block, old: Block, M: Block, A: Block, use: Choices, shown: Sections) -> tuple[Clip, Flags]:
    clip = clipped(new, old, A, use, M)
    flags = clip_flags(clip, use)
    shown.append(
        (
            "Importance ratio of new to old probability",
            (M, new, old, clip.free_log_ratio, clip.log_ratio, key(clip.ratio)),
        )
    )
    steps: tuple[Item, ...] = (A, *clip.steps, key(clip.smaller), *flags)
    shown.append(("Clipped surrogate: the smaller of two, and never below its floor", steps))
    return clip, flags


def _value(
    given: Dump, made: Signal, M: Block, whole: Whole, keep: Block, use: Choices, shown: Sections
) -> tuple[ValueLoss | None, Part | None]:
    """Makes the value loss of each word, if there are two critics and returns."""
    found = _targets(given, made.made)
    if given.V_new is None or found is None:
        return None, None
    read = {"V_new": given.V_new, "V_old": found[0], "returns": found[1]}
    V_new, V, R = (link(f"loss.{name}", row) for name, row in read.items())
    counts = value.counted_values(M, made.at, use)
    squares, larger = value.value_loss(V_new, V, R, counts, use)
    own = use.switch["value.aggregation"]
    switch, mode = same_or_first("value", "mode_V", "value loss", own, use.switch["loss.aggregation"], use)
    w = weights("value.weight", "V", "value loss", counts, whole.most, use, switch, whole.value)
    steps = (squares.error, squares.square, squares.held, squares.held_error, squares.held_square, larger)
    shown.append(("Value loss", (counts, V_new, V, R, *steps, key(squares.loss), minor(mode), *_weights(w))))
    return squares, Part("value", w.row, squares.loss, whole.rest.value, keep)


def _targets(given: Dump, made: Made) -> tuple[Block, Block] | None:
    """Returns old values, where they are kept, and returns: estimated, or as the dump gives them; None if it does not."""
    returns = made.gae.returns if made.gae else given.returns
    return None if made.V is None or returns is None else (made.V, returns)


def _entropy(given: Dump, counted: Block, whole: Whole, use: Choices, shown: Sections) -> Part | None:
    """Weighs the entropy of each word, if the dump has it; it counts the words of the policy loss."""
    if given.entropy is None:
        return None
    own = use.switch["loss.entropy_aggregation"]
    switch, mode = same_or_first("entropy", "mode_H", "entropy", own, use.switch["loss.aggregation"], use)
    w = weights("entropy.weight", "H", "entropy", counted, whole.most, use, switch, whole.policy)
    H = link("loss.entropy", given.entropy)
    shown.append(("Entropy", (H, minor(mode), *_weights(w))))
    return Part("entropy", w.row, H, whole.rest.entropy)


def _reference(given: Dump, new: Block, w: Weights, whole: Whole, use: Choices, shown: Sections) -> Part:
    """Weighs the KL of the new policy to the reference, which some libraries pay in the loss."""
    ref = link("loss.logp_ref", given.logp_ref)
    kl = kl_estimates(NEW, new, ref, None, use)
    shown.append(("KL to the reference as a loss (used if it is chosen)", (ref, *kl.steps, key(kl.used))))
    return Part("kl", w.row, kl.used, whole.rest.kl)


def _weights(made: Weights) -> tuple[Item, ...]:
    """Lists the steps to the weight of a word, but for the counts, which are typed on Batch."""
    return (*map(minor, (made.wrote, made.rows, *made.modes, made.of_words, made.chosen)), made.row)
