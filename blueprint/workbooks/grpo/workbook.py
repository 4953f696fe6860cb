"""The whole workbook of GRPO, the same for every level: its steps, the gradient of the loss, and the same responses by the
conventions of several libraries, a row for each under every quantity.
"""

from collections.abc import Mapping
from pathlib import Path

from blueprint.language import Axis, Block
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common import Backward, Identity, Rows, Witnessed, checks, of_policy, rows_on, walk
from blueprint.workbooks.common import libraries as common_libraries
from blueprint.workbooks.common.libraries import SideBySide
from blueprint.workbooks.common.sheets.start import opening_in
from blueprint.workbooks.common.workbook import Start, workbook
from blueprint.workbooks.common.workbook import Steps as Parts
from blueprint.workbooks.grpo.definitions import derived
from blueprint.workbooks.grpo.definitions.losses import PARTS
from blueprint.workbooks.grpo.definitions.metrics import seen
from blueprint.workbooks.grpo.definitions.rewards_and_group_advantages import LABELS, Steps, i, n, q
from blueprint.workbooks.grpo.schema import completed
from blueprint.workbooks.grpo.sheets import MODELS, SHOWN, charts_of, step_sheets

LEAD = "the same responses, log-probs and scores by the conventions of several libraries: find the row where they part"
IN_GROUPS = (
    "each response against the others to its prompt, by the conventions of several libraries: a column per response"
)
WHICH_TITLE = "Which GRPO"
FIXED = "Tokens, scores and log-probs are those of this workbook; what a library samples anew is not shown."
START = {
    "score": "score",
    "old.logprobs": "logp_old",
    "reference.logprobs": "logp_ref",
    "engine.logprobs": "logp_engine",
    "policy.logprobs": "logp_new",
    "policy.entropy": "entropy",
}
"""What every library starts from, and what it is called where it is repeated."""
MARKED = ("total_loss", "policy_loss", "adds.kl_loss")
RESULTS = (
    *MARKED, "mean.reward", "mean.advantage", "mean.ratio", "clip.fraction_low", "clip.fraction_high", "clip.fraction_dual",
    "kl.mean_new",
)  # fmt: skip
"""What comes of it: the loss and its parts, and what is watched."""
OPEN = (
    "group.reward", "group.baseline_used", "group.spread_used", "group.advantage", "advantages", "ratio", "policy.token_loss",
    "kl_new.counts", *RESULTS,
)  # fmt: skip
"""Rows that one looks for."""


COMPARED = SideBySide(
    run=lambda given, use: derived(given, completed(use)),
    labels=LABELS.labels,
    start=START,
    results=RESULTS,
    marked=MARKED,
    looked_for=OPEN,
    fixed=FIXED,
    lead=LEAD,
    which=WHICH_TITLE,
    apart=("Library groups", IN_GROUPS, (q, i)),
    holds=lambda row, beside: any(i in each.axes for each in beside),  # a section stands as a whole
    closed=True,
)


GIVEN = ("advantages", "old.logprobs", "reference.logprobs", "engine.logprobs", "old.as_policy", "reference.as_policy",
         "engine.as_old")  # fmt: skip
"""Numbers of the rollout, and what other models say: whatever made them, no gradient flows there."""
HELD = (
    "ratio.kept", "ratio.mean_kept", "cispo.weight", "vespo.weight", "rollout.counts", "kl_new.reach", "kl_new.moves_held",
    "kl_new.used_held",
)  # fmt: skip
"""Rows that the steps repeat as numbers (`Steps.held`)."""
CONSTANT = (*GIVEN, *HELD)
MOVED = Backward(
    policy=(("policy.E", "policy.W", "policy.Y"), ("policy.logits",), ("policy.logprobs", "policy.entropy")),
    critic=(),
    constant=CONSTANT,
    declared=of_policy,
)


OPENING = opening_in(Path(__file__).parent)


def with_gradients(outline: Blueprint) -> Blueprint:
    """Adds the gradients of the loss, and of each library's loss where several stand side by side."""
    return common_libraries.with_gradients(outline, MOVED, WHICH_TITLE)


def whole(
    start: Start,
    witnessed: Witnessed | None,
    placed: tuple[Block, ...] = (),
    first: tuple[int, int] = (1, 1),
    unseen: tuple[str, ...] = (),
) -> Blueprint:
    """Outlines the workbook; with a witness's numbers, which stand beside the workbook's own on Checks, if there are any.

    placed: what else says, in the columns of groups, which response stands where. first: response and position shown on Walk.
    unseen: rows that Start does not show.
    """
    given, head = start.given, start.head
    use = completed(start.choices(LABELS.labels))
    made = derived(given, use)
    more = seen({**given, **made.rows}, Steps(use, given))
    sheets = [*start.sheets, *step_sheets({**made.sections, **more}, given, head, placed)]
    rows = {**given, **rows_on(*sheets)}
    steps = Parts(
        sheets=sheets,
        rows=rows,
        total=rows["total_loss"],
        parts=tuple(rows[name] for name in PARTS),
        checked=_residuals(rows),
        walk=SHOWN.walk_of(rows, head, rows["seen.counts"], first, "response", walk.MANY_OPTIONS),
        charts=charts_of(rows, head.on("charts").rows, use),
        heads=_heads(start.sizes),
        unseen=unseen,
    )
    return workbook(start, steps, OPENING, witnessed, COMPARED)


def _heads(sizes: Mapping[Axis, int]) -> dict[Axis, list[str]]:
    """Says above the columns of each response which it is: its number, the prompt that it answers, and which of its responses."""
    of = [(group, place) for group in range(sizes[q]) for place in range(sizes[i])]
    return {n: [f"{number}: prompt {1 + group}, response {1 + place}" for number, (group, place) in enumerate(of, 1)]}


def _residuals(rows: Rows) -> list[Block | Identity]:
    """Lists what must be 0 in every workbook."""
    return [
        *(checks.sums_to_one(name, rows[f"{name}.p"], LABELS) for name in MODELS if f"{name}.p" in rows),
        *(checks.not_positive(name, rows[f"{name}.logprobs"], LABELS) for name in MODELS),
        checks.shares_add_up(rows["response.tokens"], rows["share"], rows["total_loss"], LABELS),
    ]
