"""The sheets of the models: critics and the reward model give one number; the old policy writes the response, the reference and the
new one read it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from blueprint.language import Axis, Block, Operand, link
from blueprint.page.outline import Item, Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common.definitions.logprobs_and_kl import (
    Distribution,
    chosen_logprobs,
    entropy,
    exact_kl,
    softmax,
)
from blueprint.workbooks.common.definitions.networks import (
    Head,
    Memory,
    Network,
    at_start,
    change_of,
    head_weights,
    logits,
    memory_weights,
    rnn,
    scalar_head,
    tempered,
    updated,
    word_weights,
)
from blueprint.workbooks.common.definitions.rewards_and_gae import kept_values, score_of
from blueprint.workbooks.common.definitions.writing_rows import ROWS, v
from blueprint.workbooks.common.rollout import RESPONSE, rollout, slots_of
from blueprint.workbooks.common.sheets.walk import InView, Rows, several, sheet_of

NO_GRADIENT = "Δ is typed and stands for a gradient step; no gradient is computed in this workbook."
OF_THE_CRITIC = (
    "In the default example Δ is −∂L_value/∂w at the old critic, rounded to tenths. V moves towards every return but that of",
    "“happy”: it is written in the same state as the first “very”, whose return is high. That b, W and E stay is on purpose.",
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
    lead = "the critic in training; the value loss compares its values with the returns"
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
    out, sections = _number("reward_model", ("RM", "score after the token just read"), weights, rows)
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


DRAW = (
    "Another u, another token. A u below the first F draws token 0, which ends the text: the response is then shorter."
)

TYPED = (
    "A token typed below is written, whatever the draw above says; where the cell is empty, the draw decides. "
    "What stands behind the end token counts for nothing."
)
LEAD = "π_old writes the response one token at a time: embed the token, update the memory, score every next token, draw"


class Part(NamedTuple):
    """The part of a policy that reads: name, title and lead, and what the names of its KL from π_old begin with."""

    name: str
    title: str
    lead: str
    distance: str


REFERENCE = Part(
    "reference",
    "Reference",
    "π_ref, the frozen model from before, reads the same tokens and says how likely it finds what was written",
    "kl",
)
NEW = Part(
    "policy",
    "Policy",
    "π_θ, the policy in training, reads the same tokens; the loss compares it with π_old",
    "policy_kl",
)


def old_policy(given: Rows, temperature: Operand | None = None) -> Sheet:
    """Outlines the policy that writes the response; with a temperature, log-probs are taken behind its end too."""
    here = {**given, **{name: link(f"old.{name}", given[name]) for name in ("is_given", "given_id")}}
    s, a, m = ROWS.rows("rollout.read", "rollout.written", "mask")
    z, sections = run("old", s, memory_weights("old"), word_weights("old"), temperature)
    words = softmax("old", z[-1])
    rows = here | rollout(here, s, a, m, words.p)
    slots = slots_of(here) if temperature is not None else ()
    logprobs = chosen_logprobs("old", words.logp, a, (m, *slots)[-1])
    kept = Section("The log-probability that is kept", (*slots, words.p_log_p, key(logprobs)))
    head = InView(rows["word_written"], m, rows["word_read"])
    return sheet_of("Old policy", LEAD, (*sections, *word_sections(z, words), *_writing_sections(rows), kept), head)


def run(
    name: str, read: Block, memory: Memory, Y: Block, temperature: Operand | None
) -> tuple[tuple[Block, ...], tuple[Section, ...]]:
    """Runs a policy's network over the tokens read: its logits, and the outline of its memory."""
    network = rnn(name, read, memory)
    return tempered(name, logits(name, network.h, Y), temperature), memory_sections(memory, Y, read, network)


def word_sections(logits: tuple[Block, ...], words: Distribution) -> tuple[Section, Section]:
    """Outlines the logits of every next token, and its probability."""
    steps = map(minor, (words.top, words.exponentials, words.logsumexp, words.logp))
    return (
        Section("Logit of every next token", logits),
        Section("Probability of every next token: soft-max", (*steps, Row(words.p, "probability"))),
    )


def _writing_sections(rows: Rows) -> tuple[Section, Section]:
    """Outlines the draw, the response that is typed instead where there is one, and the mask."""
    ends = (Line((rows[f"rollout.draw.{end}"],), "fixed") for end in ("low", "high"))
    draw: list[Item] = [Note(DRAW), minor(rows["old.cumulative"]), *ends, rows["rollout.draw"], rows["rollout.drawn"]]
    if RESPONSE in rows:
        draw += [Note(TYPED), Row(rows[RESPONSE], "text"), rows["rollout.forced"]]
    whose = several(rows, "is_given", "given_id", "rollout.room", "rollout.allowed", "rollout.ended")
    ended = several(rows, "rollout.is_end", "rollout.ends", "response.length", "response.words")
    return (
        Section("The draw: the token on whose piece of the line the number u falls", tuple(draw)),
        Section(
            "Whose turn is it? The mask m = 1 marks the positions of the response",
            (*whose, key(rows["rollout.written"]), *ended),
        ),
    )


def reference(head: InView, rows: Rows, temperature: Operand | None) -> Sheet:
    """Outlines the frozen reference, which says how likely it finds the tokens; and the exact KL to it."""
    read = link("reference.read", rows["rollout.read"])
    z, sections = run("reference", read, memory_weights("reference"), word_weights("reference"), temperature)
    return policy_that_reads(REFERENCE, head, rows, z, sections)


def new_policy(
    head: InView, rows: Rows, update_step: Block | None, temperature: Operand | None, example: Sequence[str] = ()
) -> Sheet:
    """Outlines the policy after the simulated update θ = θ_old + step · Δ; its entropy and how far it has moved.

    example: what is said of the Δ of the default example.
    """
    (E, W, Y), update = moved("policy", [rows[f"old.{weight}"] for weight in "EWY"], update_step, example)
    z, sections = run("policy", link("policy.read", rows["rollout.read"]), Memory(E, W), Y, temperature)
    return policy_that_reads(NEW, head, rows, z, (*update, *sections), first=0 if update else 1)


def policy_that_reads(
    part: Part, head: InView, rows: Rows, logits: tuple[Block, ...], above: tuple[Section, ...] = (), first: int = 1
) -> Sheet:
    """Outlines a policy from its logits on; `above` are the sections before them, the first of them with the number `first`.

    Log-probs are taken in every slot where there are slots, else on the response alone.
    """
    name, here = part.name, head.on(part.name)
    written = link(f"{name}.written", rows["rollout.written"])
    slots = (link(f"{name}.slots", rows["slots"]),) if "slots" in rows else ()
    counted = (here.mask, *slots)[-1]
    p_old = link(f"{name}.p_old", rows["old.p"], "probability under π_old", "p_old")
    p_log_p_old = link(f"{name}.p_log_p_old", rows["old.p_log_p"], "Σ p log p of π_old", "plogp_old")
    words = softmax(name, logits[-1])
    logprobs = chosen_logprobs(name, words.logp, written, counted)
    cross, exact = exact_kl(part.distance, p_old, p_log_p_old, words.logp, counted)
    sections = [
        *above,
        *word_sections(logits, words),
        Section("The token that was written", (written, *slots, key(logprobs), words.p_log_p)),
        Section(
            f"How far from the old policy: {exact.symbol}",
            (minor(p_old, "probability"), p_log_p_old, cross, key(exact)),
        ),
    ]
    if part is NEW:
        sections.append(Section("How undecided the new policy is", (key(entropy(name, words.p_log_p, counted)),)))
    return sheet_of(part.title, part.lead, sections, here, first)
