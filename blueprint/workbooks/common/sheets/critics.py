"""The sheets of the models that give one number: the critic, old and new, and the reward model. And what all models share:
the sections from the tokens read to the memory."""

from collections.abc import Sequence

from blueprint.language import Axis, Block, link
from blueprint.page.outline import Item, Line, Note, Row, Section, Sheet, Table, key
from blueprint.workbooks.common.definitions import (
    ROWS,
    Head,
    Memory,
    Network,
    at_start,
    change_of,
    head_weights,
    kept_values,
    memory_weights,
    rnn,
    scalar_head,
    score_of,
    updated,
    v,
)
from blueprint.workbooks.common.sheets.rows import Rows, sheet_of
from blueprint.workbooks.common.sheets.walk import InView

NO_GRADIENT = "Δ is typed and stands for a gradient step; no gradient is computed in this workbook."
OF_THE_CRITIC = (
    "In the default example Δ is −∂L_value/∂w at the old critic, rounded to tenths. V moves towards every return but that of",
    "“happy”: it is written in the same state as the first “very”, whose return is high.",
)


def memory_sections(memory: Memory, beside: Block, read: Block, network: Network) -> tuple[Section, ...]:
    """Outlines embedding, inputs and memory, each with the weights to its left that multiply it."""
    reads = (read, Row(network.x, "input", beside=memory.W))
    hidden = Row(network.h, "memory", beside=beside)
    return (
        Section("What each token looks like", (Table(memory.E, across=v),)),
        Section(f"What it reads: inputs x, beside the weights {memory.W.symbol}", reads),
        Section(f"Hidden state h, beside {beside.symbol}, which it meets next", (hidden,)),
    )


def moved(
    name: str, old: Sequence[Block], update_step: Block | None, example: Sequence[str] = ()
) -> tuple[list[Block], tuple[Section, ...]]:
    """Moves weights by the simulated update; returns them, and the outline of the typed Δ of each.

    example: what is said of the Δ of the default example.

    Without an update step nothing is typed: they are the old weights, from which an optimiser sets out.
    """
    if update_step is None:
        return [at_start(name, weight) for weight in old], ()
    changes = [change_of(name, weight) for weight in old]
    tables = [Table(change, _table_axis(change)) if change.axes else Line((change,), "weights") for change in changes]
    new = [updated(name, weight, change, update_step) for weight, change in zip(old, changes, strict=True)]
    notes = map(Note, (NO_GRADIENT, *example))
    return new, (Section("The update Δ (typed): it stands for a gradient step", (*notes, *tables)),)


def _table_axis(weight: Block) -> Axis | None:
    """Returns the axis that runs across in a table of weights: words for an embedding, else the second one."""
    return None if len(weight.axes) == 1 else v if weight.axes[0] is v else weight.axes[1]


def old_critic(head: InView, rows: Rows) -> Sheet:
    """Outlines the critic as it was when the response was written."""
    lead = "the critic when the response was written: what score it expected before each token"
    weights = (memory_weights("old_critic"), head_weights("old_critic"))
    return _critic("old_critic", "Old critic", lead, weights, head.on("old_critic"), rows)


def new_critic(head: InView, rows: Rows, update_step: Block | None) -> Sheet:
    """Outlines the critic after the simulated update."""
    old = [rows[f"old_critic.{weight}"] for weight in (*"EW", "head.w", "head.b")]
    (E, W, w, b), update = moved("critic", old, update_step, OF_THE_CRITIC)
    lead = "the critic after the update; the value loss compares it with the returns"
    return _critic("critic", "Critic", lead, (Memory(E, W), Head(w, b)), head.on("critic"), rows, *update)


def _critic(
    name: str, title: str, lead: str, weights: tuple[Memory, Head], head: InView, rows: Rows, *above: Section
) -> Sheet:
    slots = (link(f"{name}.slots", rows["slots"]),) if "slots" in rows else ()
    out, sections = _number(name, ("v", "critic's head, before the mask"), weights, rows)
    values = kept_values(ROWS.row(f"{name}.values"), out, (head.mask, *slots)[-1])
    last = _last_section(weights[1], (*slots, out, key(values)))
    return sheet_of(title, lead, (*above, *sections, last), head, first=0 if above else 1)


def reward_model(head: InView, rows: Rows, score: str = "reward.score") -> Sheet:
    """Outlines the reward model, taken as trained: one number after every token, of which the last one counts.

    score: the name of its row.
    """
    lead = (
        "reads the whole text; its number after the last token is the score, given to the column that wrote that token"
    )
    weights = (memory_weights("reward_model"), head_weights("reward_model"))
    here = head.on("reward_model")
    out, sections = _number("reward_model", ("RM", "number after the token just read"), weights, rows)
    last = _last_section(weights[1], (out, key(score_of(here.mask, out, score))))
    return sheet_of("Reward model", lead, (*sections, last), here)


def _number(
    name: str, label: tuple[str, str], weights: tuple[Memory, Head], rows: Rows
) -> tuple[Block, tuple[Section, ...]]:
    """Runs a network over the tokens read: its number in every column, and the outline of its memory."""
    read = link(f"{name}.read", rows["rollout.read"])
    memory, head = weights
    network = rnn(name, read, memory)
    return scalar_head(name, *label, network.h, head), memory_sections(memory, head.w, read, network)


def _last_section(head: Head, items: tuple[Item, ...]) -> Section:
    return Section("One number from the hidden state", (Line((head.b,), "weights"), *items))
