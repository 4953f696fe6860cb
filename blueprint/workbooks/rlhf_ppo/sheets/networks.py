"""What the sheets of all models share: the sections from the words read to the memory, and what comes out of it."""

from __future__ import annotations

from blueprint.language import Axis, Block
from blueprint.page.outline import Item, Line, Note, Row, Section, Table, minor
from blueprint.workbooks.common.axes import v
from blueprint.workbooks.common.definitions.distribution import Distribution
from blueprint.workbooks.common.definitions.networks import Head, Memory, Network

NO_GRADIENT = (
    "Δ is typed; no gradient is computed. In the default example it is such that words stand in every corner of the clip: good",
    "ones (Â > 0) that become less likely too, as “very”, and bad ones that become likelier. A gradient step does the opposite.",
)


def network_sections(
    memory: Memory, Y: Block, read: Block, network: Network, logits: tuple[Block, ...], words: Distribution
) -> tuple[Section, ...]:
    """Outlines a policy: embedding, what it reads, memory, scores and probabilities of every next word."""
    return (*memory_sections(memory, Y, read, network), *word_sections(logits, words))


def word_sections(logits: tuple[Block, ...], words: Distribution) -> tuple[Section, Section]:
    """Outlines the scores of every next word, and its probability."""
    steps = (
        minor(words.top),
        minor(words.exponentials),
        minor(words.logsumexp),
        minor(words.logp),
        Row(words.p, "probability"),
    )
    return (
        Section("Logit of every next word", logits),
        Section("Probability of every next word: soft-max", steps),
    )


def scalar_sections(
    memory: Memory, head: Head, read: Block, network: Network, out: tuple[Item, ...]
) -> tuple[Section, ...]:
    """Outlines a model that gives one number: embedding, what it reads, memory, and the number."""
    return (
        *memory_sections(memory, head.w, read, network),
        Section("One number from the hidden state", (Line((head.b,), "weights"), *out)),
    )


def memory_sections(memory: Memory, beside: Block, read: Block, network: Network) -> tuple[Section, ...]:
    """Outlines embedding, inputs and memory, each with the weights to its left that multiply it."""
    return (
        Section("What each word looks like", (Table(memory.E, across=v),)),
        Section(
            f"What it reads: inputs x, beside the weights {memory.W.symbol}",
            (read, Row(network.x, "input", beside=memory.W)),
        ),
        Section(
            f"Hidden state h, beside {beside.symbol}, which it meets next",
            (Row(network.h, "memory", beside=beside),),
        ),
    )


def update_section(changes: list[Block]) -> Section:
    """Outlines the typed Δ of every weight."""
    tables = [Table(change, _table_axis(change)) if change.axes else Line((change,), "weights") for change in changes]
    return Section("The update Δ (typed): it stands for a training step", (*map(Note, NO_GRADIENT), *tables))


def _table_axis(weight: Block) -> Axis | None:
    """Returns the axis that runs across in a table of weights: words for an embedding, else the second one."""
    return None if len(weight.axes) == 1 else v if weight.axes[0] is v else weight.axes[1]
