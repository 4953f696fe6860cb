"""What is typed: what the dump says of the words shown, and what the rest of the batch adds to them.

The latter was computed from the whole dump, in float64, by the conventions as they were then. A window cannot know it.
"""

from collections.abc import Collection, Mapping

from blueprint.language import Axis, Block, typed
from blueprint.page.outline import Item, Line, Note, Row, Section, Sheet
from blueprint.workbooks.common import n, t

Blocks = Mapping[str, Block]

SHOWN = 2
"""Decimals of what is typed; a typed number may show two more, and real ones do: the four that computed rows have."""

ROWS = {
    "slot.column": ("col", "column of the dump, from 0; −1: none", 0, ""),
    "word_written": ("writes", "token, or its id", 4, ""),
    "mask": ("m", "mask: 1 on the response", 0, "0 or 1"),
    "slots": ("S", "1 in every position, padding included", 0, "0 or 1"),
    "old.logprobs": ("log π_old", "log-prob under the old policy", SHOWN, "≤ 0"),
    "policy.logprobs": ("log π_θ", "log-prob under the new policy", SHOWN, "≤ 0"),
    "reference.logprobs": ("log π_ref", "log-prob under the reference", SHOWN, "≤ 0"),
    "old_critic.values": ("V_old", "old critic's value before the token", SHOWN, ""),
    "critic.values": ("V", "new critic's value before the token", SHOWN, ""),
    "policy.entropy": ("H", "entropy of the new policy", SHOWN, "≥ 0"),
    "score.placed": ("score", "score of each token, as given", SHOWN, ""),
    "rewards": ("r", "reward of each token, as given", SHOWN, ""),
    "advantages_used": ("Â_used", "advantage, as given", SHOWN, ""),
    "returns": ("R", "return, as given", SHOWN, ""),
}
RESPONSES = {
    "episode.number": ("no", "number of the response in the dump, from 0", 0, ""),
    "response.ended": ("ended_n", "1 if it ended in the end token", 0, ""),
    "response.padded": ("padded_n", "1 if a position was left over", 0, ""),
    "score.given": ("s_n", "score of the response", SHOWN, ""),
    "policy.weight.length": ("n_π", "counted tokens of a response, policy loss", 0, ""),
    "value.weight.length": ("n_V", "counted tokens of a response, value loss", 0, ""),
    "after.words": ("more", "1 if tokens follow behind the last column", 0, ""),
    "after.ahead": ("V_after", "value that enters behind the last column", SHOWN, ""),
    "after.advantages": ("A_after", "advantage that enters there", SHOWN, ""),
}
BATCH = {
    "response.most": ("T_most", "positions of the longest response", 0, ""),
    "advantage.count": ("N_A", "advantages counted", 0, ""),
    "advantage.mean": ("μ_A", "mean of the advantages", SHOWN, ""),
    "advantage.variance": ("σ²_A", "variance of the advantages", SHOWN, ""),
    "reward.count": ("N_r", "rewards counted", 0, ""),
    "reward.mean": ("μ_r", "mean of the rewards", SHOWN, ""),
    "reward.variance": ("σ²_r", "variance of the rewards", SHOWN, ""),
    "policy.words": ("N_π", "tokens counted, policy loss", 0, ""),
    "policy.responses": ("B_π_all", "responses counted, policy loss", 0, ""),
    "value.words": ("N_V", "tokens counted, value loss", 0, ""),
    "value.responses": ("B_V_all", "responses counted, value loss", 0, ""),
    "loss.mean_ratio": ("ρ_mean", "mean ratio over what counts as response", SHOWN, ""),
    "rest.policy": ("rest_π", "Σ w·U_min of tokens not shown", SHOWN, ""),
    "rest.value": ("rest_V", "Σ w·v_loss of tokens not shown", SHOWN, ""),
    "rest.entropy": ("rest_H", "Σ w·H of tokens not shown", SHOWN, ""),
    "rest.kl": ("rest_KL", "Σ w·KL of tokens not shown", SHOWN, ""),
}
"""Rows of words, numbers of responses, numbers of the batch, by the names of their blocks: symbol, meaning, decimals, unit."""

LEAD = "what the dump says of the tokens shown here, as it stands there; everything else follows from it"
WHERE = (
    "The columns are those of the dump's own arrays, counted from 0; where a response is longer, a part of it is shown."
)
BEHIND = "What stands behind the last token is read only where a convention says so."
BATCH_LEAD = "what the tokens that are not shown here add: counted and summed up over the whole minibatch, then typed"
STALE = (
    "These numbers belong to the dump and to the conventions as delivered. Choose others, and what is computed above them "
    "changes here but not in the tokens that are not shown: import the dump again with that preset."
)


def given_of(names: Collection[str]) -> Blocks:
    """Makes the typed blocks whose names are among those of the numbers."""
    return _typed(ROWS, (n, t), {"word_written", *names}) | _typed(RESPONSES, (n,), names) | _typed(BATCH, (), names)


def _typed(
    table: Mapping[str, tuple[str, str, int, str]], axes: tuple[Axis, ...], names: Collection[str]
) -> dict[str, Block]:
    return {
        name: typed(
            name, axes, symbol, meaning, unit=unit, decimals=decimals, text=name == "word_written",
            edges=(t.last + 1,) if name == "slots" else (),
        )
        for name, (symbol, meaning, decimals, unit) in table.items()
        if name in names
    }  # fmt: skip


def dump_sheet(given: Blocks, notes: tuple[str, ...]) -> Sheet:
    """Outlines what the dump says. notes: where it comes from, and what the dump has not."""
    ends = listed(given, "mask", "slots", "response.ended", "response.padded")
    where: tuple[Item, ...] = (
        *listed(given, "episode.number", "slot.column"),
        Row(given["word_written"], "text"),
        *ends,
    )
    probs = listed(given, "old.logprobs", "policy.logprobs", "reference.logprobs", "policy.entropy")
    values = listed(given, "old_critic.values", "critic.values")
    scored = listed(given, "score.given", "score.placed", "rewards", "advantages_used", "returns")
    sections = (
        Section("Where these tokens stand", (*map(Note, notes), Note(WHERE), *where)),
        Section("Log-probs and entropy", probs),
        *([Section("Values", (Note(BEHIND), *values))] if values else []),
        *([Section("What was scored", scored)] if scored else []),
    )
    return Sheet("Dump", LEAD, sections, (n, t))


def batch_sheet(given: Blocks, words: Block, means: Blocks) -> Sheet:
    """Outlines what is typed of the whole batch, and means over the words shown (their number), for the first sheet."""
    statistics = _lines(*listed(given, *(name for name in BATCH if name.startswith(("advantage.", "reward.")))))
    counts = listed(
        given, "policy.words", "policy.responses", "value.words", "value.responses", "response.most", "loss.mean_ratio"
    )
    rest = [block for name, block in given.items() if name.startswith("rest.")]
    after = listed(
        given, "policy.weight.length", "value.weight.length", "after.words", "after.ahead", "after.advantages"
    )
    sections = (
        Section("Statistics by which the advantages and the rewards are whitened", (Note(STALE), *statistics)),
        Section("Counts", _lines(*counts)),
        Section("Of each response shown: its tokens, and what enters behind the last column", after),
        Section("What the tokens that are not shown add", _lines(*rest)),
        Section("Means over the tokens shown, for the first sheet", (words, *means.values())),
    )
    return Sheet("Batch", BATCH_LEAD, sections, (n, t))


def _lines(*blocks: Block) -> tuple[Item, ...]:
    return tuple(Line((each,), "line") for each in blocks)


def listed(blocks: Blocks, *names: str) -> tuple[Block, ...]:
    """Lists the blocks of these names that there are."""
    return tuple(blocks[name] for name in names if name in blocks)
