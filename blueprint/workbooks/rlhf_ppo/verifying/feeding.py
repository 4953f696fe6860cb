"""What a minibatch is computed again from: its tensors in the blocks of the definitions, with the moments and the counts of the
larger batch of which it is a part; and every row of PPO, made of them by the definitions that the workbooks have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch, Moments, Share
from blueprint.language import Axis, Constant, Expr, Max, Operand, block, equal, maximum
from blueprint.verifying import Changes, Definitions, Kept, Known, Settings
from blueprint.verifying.logged import starts
from blueprint.verifying.settings import options_of
from blueprint.verifying.tiled_passes import FLOOR, given_rows, per_word, tensor, texts_of
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Switch,
    behind,
    by_name,
    defined,
    ends,
    labels,
    loss,
    metrics_of,
    n,
    named,
    per_response,
    places,
    signal,
    t,
)
from blueprint.workbooks.common.conventions import LIVE
from blueprint.workbooks.common.definitions.choices import Fixed

BLOCKS = {
    "old.logprobs": "old_logprobs", "reference.logprobs": "reference_logprobs", "policy.logprobs": "logprobs",
    "policy.entropy": "entropy", "old_critic.values": "old_values", "critic.values": "values", "mask": "mask", "slots": "slots",
}  # fmt: skip
"""By block the input of a file that stands in it, [B, T]."""
OF_VOCABULARY = ("kl.exact", "kl_new.exact")
"""What takes the probability of every token, which no dump has: 0."""
TYPED: Mapping[str, tuple[Axis, ...]] = {
    **dict.fromkeys((*BLOCKS, *OF_VOCABULARY), (n, t)), **dict.fromkeys(("score.given", "response.ended"), (n,)),
    "explained_variance.floor": (),
}  # fmt: skip
EDGES = {"slots": (t.last + 1,)}
LABELS = labels("live")


@dataclass(frozen=True)
class Decided(Switch):
    """A switch among words of which one is known: what the others choose is in no equation."""

    word: str = ""

    def says(self, word: str) -> Expr:
        """Returns a condition that holds where the word is the one."""
        return equal(int(word == self.word), 1)

    def choose(self, **alternatives: Operand) -> Expr:
        """Takes the alternative of its word; a word that has none, as an exact KL, comes to 0."""
        found = alternatives.get(self.word, 0)
        return Constant(found) if isinstance(found, int) else found.expression()  # type: ignore[union-attr]


def derived(given: Rows, use: Choices) -> Rows:
    """Makes every row of PPO of a file, as in a workbook whose conventions are live, under settings that are known."""
    use = replace(use, switch={key: _decided(key, each) for key, each in use.switch.items()})
    S, m = given["slots"], given["mask"]
    at = places(S, m)
    slots, _, padded = ends(S, at.until, m)  # how a response ended, the file says
    most = defined(
        block("response.most", (), meaning="positions of the longest response"), maximum(Max(n, slots[n]), 1)
    )
    rows = {**given, **named(*at, slots, padded, most, per_response("response.length", m, use))}
    made = signal(rows, use)
    rows |= made.rows
    out = loss(rows, use, shared=False)
    results = (made.used, out.total.total, *out.total.adds, *by_name(metrics_of(out, use)).values())
    return {row.name: row for row in behind(results) if row.name not in LIVE}


def _decided(key: str, switch: Switch | Fixed) -> Switch:
    """Returns a switch that stands at one word as a choice among all words, so that all rows are there."""
    if isinstance(switch, Switch):
        return switch
    words = LIVE[key].words
    return Decided(words, Constant(words.index(switch.word)), switch.word)


EQUATIONS = Definitions(LIVE, LABELS, TYPED, derived, EDGES)


NO_NUMBERS: Mapping[str, float] = MappingProxyType({})
REMEMBERED = 1 << 12
"""So many numbers a changed row may have whose results are kept: many changes make the same row."""


@dataclass
class Memory:
    """What was computed without a change, and what came of changed rows, by what these came to."""

    kept: Kept = field(default_factory=Kept)
    found: dict[object, dict[str, Array]] = field(default_factory=dict)


@dataclass(frozen=True)
class Fed:
    """A file in the blocks of the definitions. sizes: of responses and slots. known: by name what stands in a block: typed numbers,
    the file's own rows in the place of computed ones, and what a larger batch has to say.
    """

    settings: Settings
    sizes: Mapping[Axis, int]
    known: Known

    def values(self, wanted: Collection[str]) -> dict[str, Array]:
        """Computes rows [B, T] and numbers by name."""
        return EQUATIONS.values(self.settings, self.sizes, self.known, wanted)

    def changed(self, wanted: Collection[str], changes: Changes, memory: Memory) -> dict[str, Array]:
        """Computes rows and numbers where some equations are others; what follows from the same numbers is computed once."""
        equations, use, names = EQUATIONS.under(self.settings), self.settings, tuple(wanted)
        of = equations.made_of(names)
        here = [name for name in changes if name in of and name not in self.known]
        known = memory.kept.known(equations, use, self.sizes, self.known, names, here)
        made = dict[str, Array]()
        for name in sorted(here, key=lambda each: len(equations.made_of((each,)))):
            made |= equations.values(use, self.sizes, {**known, **made}, (name,), changes[name], "cpu", edges=True)
        known = {**known, **made}
        if max((each.size for each in made.values()), default=0) > REMEMBERED:
            return equations.values(use, self.sizes, known, names, None, "cpu")
        key = names, tuple((name, each.tobytes()) for name, each in made.items())
        if key not in memory.found:
            memory.found[key] = equations.values(use, self.sizes, known, names, None, "cpu")
        return memory.found[key]

    def having(self, own: Mapping[str, Array]) -> Fed:
        """Returns the same with the file's own rows [B, T] in the place of computed ones, except where they are NaN."""
        rows, found = EQUATIONS.under(self.settings).rows, self.values(own)
        over = {name: _over(each, found[name], bool(rows[name].edges)) for name, each in own.items()}
        return replace(self, known={**self.known, **over})


def _over(theirs: Array, ours: Array, edged: bool) -> Array:
    """Returns the file's own numbers, and where it says nothing those that were computed; behind them stands 0."""
    found = np.where(np.isnan(theirs), ours, theirs)
    return np.pad(found, ((0, 0), (0, 1))) if edged else found


def fed(
    batch: Minibatch, settings: Settings, given: Collection[str] = (), numbers: Mapping[str, float] = NO_NUMBERS
) -> Fed:
    """Lays a file out. given: its tensors that stand in the place of computed rows, by the names of `tiled_passes.PLACES`, beside
    those before which something is missing; numbers: its parts of the loss that do.

    Raises MinibatchError where a number that the settings read is not finite.
    """
    options, whole = options_of(settings), slice(None)
    texts = texts_of(batch, whole, options)
    rows, columns = batch.mask.shape
    known: dict[str, Array] = {name: getattr(texts, of)[0].numpy() for name, of in BLOCKS.items()}
    known |= dict.fromkeys(OF_VOCABULARY, np.zeros((rows, columns)))
    known |= {"score.given": texts.score[0].numpy(), "response.ended": texts.ended[0].numpy()}
    known |= {"slots": np.pad(known["slots"], ((0, 0), (0, 1))), "explained_variance.floor": np.asarray(FLOOR)}
    known |= {name: np.asarray(each) for name, each in numbers.items()} | _beyond(batch, settings)
    if per_word(batch):  # no convention places scores that stand on several tokens of a response
        known["score.placed"] = (texts.slots * tensor(batch, "scores", whole, options).nan_to_num(nan=0.0))[0].numpy()
    there = EQUATIONS.under(settings).rows
    made = Fed(settings, {n: rows, t: columns}, {name: each for name, each in known.items() if name in there})
    names = tuple(dict.fromkeys((*starts(batch.tensors, settings), *given)))
    own = given_rows(batch, whole, options, texts, names)
    return made.having({name: each[0, :, :columns].numpy() for name, each in own.items()}) if own else made


def _beyond(batch: Minibatch, settings: Settings) -> dict[str, Array]:
    """Returns what a file does not have of its own rows: what was whitened over, and what its losses are divided by."""
    found = dict[str, float]()
    for name, moments in batch.moments.items():
        found |= _moments(name, moments, settings)
    if batch.share is not None:
        found |= _share(batch.share, settings)
    return {name: np.asarray(each) for name, each in found.items()}


def _moments(name: str, of: Moments, settings: Settings) -> dict[str, float]:
    """Returns count, mean and variance of a larger batch by the conventions in force."""
    mean_eps, ddof_eps, ddof = (float(settings[f"advantage.{key}"]) for key in ("mean_eps", "ddof_eps", "ddof"))
    divided_by, free = max(of.count, 1.0) + mean_eps, of.count + ddof_eps
    mean = of.count * of.mean / divided_by
    bessel = max(free, 1.0) / max(free - ddof, 1.0)
    squares = of.squares + of.count * (of.mean - mean) ** 2
    return {f"{name}.count": of.count, f"{name}.mean": mean, f"{name}.variance": bessel * squares / divided_by}


def _share(of: Share, settings: Settings) -> dict[str, float]:
    """Returns by what the means of the losses are divided where they are shares of those of a larger batch."""
    eps, found = float(settings["loss.agg_eps"]), dict[str, float]()
    for part in ("policy", "value", "entropy"):
        if of.tokens is not None:
            found[f"{part}.weight.token_mean"] = 1 / (max(of.tokens / of.ranks, 1.0) + eps)
        if of.responses is not None:
            found[f"{part}.weight.rows"] = max(of.responses / of.ranks, 1.0) + eps
    return found | ({} if of.slots is None else {"response.most": max(of.slots, 1.0)})
