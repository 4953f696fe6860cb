"""Loss: ratio, clip, value loss, entropy and KL of every word, their means, and the total, as far as they are made."""

from collections.abc import Iterator

from blueprint.language import Block
from blueprint.page.outline import Item, Note, Section, key
from blueprint.workbooks.common.definitions.losses import ValueLoss
from blueprint.workbooks.common.definitions.writing_rows import rows
from blueprint.workbooks.common.loss import Loss
from blueprint.workbooks.common.sheets.signal import minors
from blueprint.workbooks.common.sheets.walk import Rows, Titled, repeated, several

Items = tuple[Item, ...]

LEAD = "how much better the new policy does, held near the old one; how far the new critic is off; and the total"


LINKED = {
    "policy.logprobs": "logp_new", "old.logprobs": "logp_old", "reference.logprobs": "logp_ref",
    "advantages_used": "advantages", "critic.values": "V_new", "old_critic.values": "V_old", "returns": "returns",
    "policy.entropy": "entropy", "policy_kl.exact": "policy_kl", "response": "response", "place.first_past": "first_past",
}  # fmt: skip
"""What the sheet of the loss repeats from others, and what it is called there."""


def linked(given: Rows, sheet: str = "loss") -> dict[str, Block]:
    """Repeats on the sheet of the loss what comes from others."""
    return repeated(given, sheet, LINKED)


def sections(
    made: Loss,
    *,
    flags: Items = (),
    moved: Items = (),
    cross: Block | None = None,
    note: str = "",
    spread: Items = (),
) -> Iterator[Section]:
    """Outlines the way from the ratio to the total, as far as it is made; steps on the way are folded.

    flags: of what the clip changed. moved: estimates of the policy KL. cross: Σ p log q of the new policy and the reference.
    note: on the value loss. spread: of what the entropy is made here.
    """
    given, held, means = made.given, made.clip, made.total.means
    probs = several(given, "policy.logprobs", "old.logprobs")
    ratio = rows(given.get("response"), *probs, held.free_log_ratio, held.log_ratio)
    yield Section("Importance ratio of new to old probability", (*ratio, key(held.ratio)))
    yield from _policy_sections(made, flags)
    if made.value:
        yield from _value_sections(made, made.value, note)
    if "policy.entropy" in given:
        bonus = (*_weights(made, "entropy"), *spread, given["policy.entropy"], key(means["entropy"]))
        yield Section("Entropy bonus", bonus)
    if "policy_kl.exact" in given:
        far = (given["policy_kl.exact"], *moved, key(means["policy_kl"]))
        yield Section("Policy KL: how far the update moved the policy", far)
    if made.kl:
        there: Items = (given["reference.logprobs"], *minors(cross), *rows(given.get("kl_new.exact")))
        drift: Items = (*there, *made.kl.steps, made.kl.used, key(means["kl_loss"]))
        yield Section("KL to the reference as a loss (used if it is chosen)", drift)
    title = "Total loss: the policy loss and what the others add to it"
    if "rest.policy" in given:
        title = "Total loss of the whole batch: tokens shown and tokens not shown"
    yield Section(title, (*made.coefficients, *made.total.adds, key(made.total.total)))
    if made.total.share is not None:
        yield Section("What each token adds to the total", (*minors(*made.total.of_words), made.total.share))


def _policy_sections(made: Loss, flags: Items) -> Iterator[Section]:
    held, mean = made.clip, key(made.total.means["policy_loss"])
    surrogate: Items = (made.given["advantages_used"], *held.steps, key(held.smaller), *flags)
    if not made.filtered:
        yield Section("Clipped surrogate: no gain beyond 1 ± ε, hence zero gradient", (*surrogate, mean))
        return
    yield Section("Clipped surrogate: the smaller of two, and never below its floor", surrogate)
    guarded = (row for row in made.guarded if not row.typed)
    counted: Items = (*minors(*made.filtered), *_weights(made, "policy"), *guarded, mean)
    yield Section("Policy loss: which tokens count, and with which weight", counted)


def _value_sections(made: Loss, value: ValueLoss, note: str) -> Iterator[Section]:
    given, mean = made.given, key(made.total.means["value_loss"])
    counted = made.value_counted if isinstance(made.value_counted, Block) else None
    past = given["place.first_past"] if counted is not None else None
    weighed = made.value_weighed if isinstance(made.value_weighed, Block) else None
    there = rows(past, counted, weighed, *several(given, "critic.values", "old_critic.values", "returns"))
    steps: Items = (*([Note(note)] if note else []), *there, *value.ways, key(value.loss))
    title = "Value loss: how far the new value is from the return"
    if counted is None:
        yield Section(title, (*steps, mean))
        return
    yield Section(title, steps)
    yield Section("Value loss: weights and mean", (*_weights(made, "value"), mean))


def _weights(made: Loss, of: str) -> Items:
    """Lists the steps to the weight of a word, where it is chosen."""
    *steps, row = made.weights.get(of, (None,))
    return (*minors(*steps), *rows(row))


def walked(made: Loss, values: tuple[Block, ...] = (), entropy: Block | None = None) -> Iterator[Titled]:
    """Outlines what the word chosen on Walk adds to the total. values, entropy: as they come about, on other sheets."""
    held, value = made.clip, made.value
    way = rows(held.free_log_ratio, held.log_ratio, held.ratio, *held.steps, held.smaller)
    yield "Ratio and clip", tuple(row for row in way if row.axes)
    if value:
        yield "Value loss", (*values, *value.ways, value.loss)
    if made.filtered:
        yield "The weight of the token", (made.filtered[-1], *(each[-1] for each in made.weights.values()))
    yield "What the token adds to the total", rows(entropy, *made.total.of_words, made.total.share, made.total.total)
