"""What a minibatch is computed again from: its tensors in the blocks of the definitions, with the moments and the counts of the
larger batch of which it is a part; and every row of PPO, made of them by the definitions that the workbooks have.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType

import numpy as np

from blueprint.dumps import Array, Minibatch, MinibatchError, Moments, Share, require
from blueprint.language import Axis, Block, Constant, Expr, Operand, equal
from blueprint.verifying import Changes, Definitions, Kept, Known, Settings
from blueprint.verifying.definitions import KEPT
from blueprint.verifying.logged import starts
from blueprint.verifying.settings import checked
from blueprint.workbooks.common import (
    Choices,
    Rows,
    Switch,
    behind,
    by_name,
    ends,
    labels,
    longest,
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
from blueprint.workbooks.common.definitions.writing_rows import Fixed

INPUTS = {
    "old.logprobs": "logprobs_old", "reference.logprobs": "logprobs_ref", "policy.logprobs": "logprobs_new",
    "policy.entropy": "entropy", "old_critic.values": "values_old", "critic.values": "values_new",
}  # fmt: skip
"""By block the tensor of a file that stands in it, [B, T]."""
STAND_IN = {"reference.logprobs": "old.logprobs", "policy.logprobs": "old.logprobs"}
"""What stands in a block that the file has no tensor for, so that a ratio is 1 and a KL is 0; in others that is 0."""
READ_BY = {
    "old.logprobs": ("batch.response_mask", "reward.kl_at_first_pad"),
    "reference.logprobs": ("batch.response_mask", "reward.kl_at_first_pad"),
    "policy.logprobs": ("batch.response_mask",),
    "policy.entropy": ("batch.response_mask",),
    "old_critic.values": ("batch.response_mask", "advantage.tail_slots", "value.tail"),
    "critic.values": ("batch.response_mask", "value.tail"),
}
"""By block the conventions by which it is read outside the mask, too."""
PLACES = {
    "scores": ("scores", "score.place"),
    "rewards": ("rewards", "rewards"),
    "rewards.raw": ("rewards", "rewards.raw"),
    "advantages": ("advantages", "advantages_used"),
    "advantages.raw": ("advantages", "advantages"),
    "returns": ("returns", "returns"),
}
"""By what a file's tensor is taken for: the tensor, and the row that it stands in."""
FLOOR = 1e-12
"""The variance of the returns up to which the explained variance is 0."""
OF_VOCABULARY = ("kl.exact", "kl_new.exact")
"""What takes the probability of every token, which no dump has: 0."""
TYPED: Mapping[str, tuple[Axis, ...]] = {
    **dict.fromkeys((*INPUTS, "mask", "slots", *OF_VOCABULARY), (n, t)), **dict.fromkeys(("score.given", "response.ended"), (n,)),
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
    rows = {**given, **named(*at, slots, padded, longest(slots), per_response("response.length", m, use))}
    made = signal(rows, use)
    rows |= made.rows
    out = loss(rows, use)
    shares = (*out.total.of_words, out.total.share) if out.total.share is not None else ()
    results = (made.used, out.total.total, *out.total.adds, *shares, *by_name(metrics_of(out, use)).values())
    # what others are made of comes first, as tensors that a trainer holds do; of many rows only some are tried for others
    return {row.name: row for row in reversed(behind(results)) if row.name not in LIVE}


def _decided(key: str, switch: Switch | Fixed) -> Switch:
    """Returns a switch that stands at one word as a choice among all words, so that all rows are there."""
    if isinstance(switch, Switch):
        return switch
    words = LIVE[key].words
    return Decided(words, Constant(words.index(switch.word)), switch.word)


EQUATIONS = Definitions(LIVE, LABELS, TYPED, derived, EDGES)


Laid = dict[tuple[str, ...], dict[str, Array]]
"""By the settings that decide it, what is typed of a file."""
NO_NUMBERS: Mapping[str, float] = MappingProxyType({})

REMEMBERED = 1 << 12
"""So many numbers a changed row may have whose results are kept: many changes make the same row."""


@dataclass
class Memory:
    """What was computed without a change, and what came of changed rows, by what these came to; own: rows without a change."""

    kept: Kept = field(default_factory=Kept)
    found: dict[object, dict[str, Array]] = field(default_factory=dict)
    own: dict[str, Array] = field(default_factory=dict)

    def row(self, of: Fed, name: str) -> Array:
        """Returns a row or a number of a file, computed once as long as there is room for all that were asked for."""
        if name in self.own:
            return self.own[name]
        found = of.values((name,))[name]
        if sum(each.size for each in self.own.values()) + found.size <= KEPT:
            self.own[name] = found
        return found


@dataclass(frozen=True)
class Fed:
    """A file in the blocks of the definitions. sizes: of responses and slots. known: by name what stands in a block: typed numbers,
    the file's own rows in the place of computed ones, and what a larger batch has to say. own: which of these are the file's.
    by: the equations.
    """

    settings: Settings
    sizes: Mapping[Axis, int]
    known: Known
    own: tuple[str, ...] = ()
    device: str = "cpu"
    by: Definitions = EQUATIONS

    def values(self, wanted: Collection[str], kept: Kept | None = None) -> dict[str, Array]:
        """Computes rows [B, T] and numbers by name; kept: what was computed of the same file before."""
        return self.by.values(self.settings, self.sizes, self.known, wanted, device=self.device, kept=kept)

    def with_edges(self, wanted: Collection[str]) -> dict[str, Array]:
        """Computes rows with the cells before and behind them."""
        equations = self.by.under(self.settings)
        return equations.values(self.settings, self.sizes, self.known, tuple(wanted), None, self.device, edges=True)

    def changed(self, wanted: Collection[str], changes: Changes, memory: Memory) -> dict[str, Array]:
        """Computes rows and numbers where some equations are others; what follows from the same numbers is computed once."""
        equations, use, names = self.by.under(self.settings), self.settings, tuple(wanted)
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

    def having(self, own: Mapping[str, Array], kept: Kept | None = None) -> Fed:
        """Returns the same with rows [B, T] of the file's own in the place of computed ones, except where they are NaN."""
        found = self.values([name for name, each in own.items() if np.isnan(each).any()], kept)
        over = {name: _over(each, found.get(name, each)) for name, each in own.items()}
        return self.with_rows(over, tuple(own))

    def with_rows(self, rows: Mapping[str, Array], own: tuple[str, ...] = ()) -> Fed:
        """Returns the same with other rows [B, T] in the place of computed ones; behind the last column stands 0."""
        # with pads carried along, words are settled and limits that are off are not there: there is no equation for all settings
        there = EQUATIONS.live if self.by is EQUATIONS else self.by.under(self.settings).rows
        wide = {name: _with_edges(np.asarray(each, np.float64), there[name]) for name, each in rows.items()}
        return replace(self, known={**self.known, **wide}, own=(*self.own, *own))

    def without(self, name: str) -> Fed:
        """Returns the same in which a row is computed, not the file's own."""
        return replace(self, known={each: row for each, row in self.known.items() if each != name})

    def of(self, rows: Array, numbers: Mapping[str, Array]) -> Fed:
        """Returns some responses, with numbers of the whole batch."""
        along = self.by.live
        known = {name: each[rows] if along[name].axes[:1] == (n,) else each for name, each in self.known.items()}
        return replace(self, sizes={**self.sizes, n: len(rows)}, known={**known, **numbers})


def _over(theirs: Array, ours: Array) -> Array:
    """Returns the file's own numbers, and where it says nothing those that were computed."""
    return np.where(np.isnan(theirs), ours, theirs)


def _with_edges(row: Array, of: Block) -> Array:
    """Returns a row with the cells before and behind it that its block has, 0 in them."""
    before, behind = (int(edge in of.edges) for edge in ((t, -1), (t, 1)))
    return np.pad(row, ((0, 0), (before, behind))) if row.ndim == 2 and before + behind else row


def fed(
    batch: Minibatch,
    settings: Settings,
    given: Collection[str] = (),
    numbers: Mapping[str, float] = NO_NUMBERS,
    device: str = "cpu",
    laid: Laid | None = None,
    kept: Kept | None = None,
) -> Fed:
    """Lays a file out. given: its tensors that stand in the place of computed rows, by the names of `PLACES`, beside those before
    which something is missing; numbers: its parts of the loss that do. laid: what was laid out of it before, by the settings that
    decide that; kept: what was computed of it.

    Raises MinibatchError for settings that are none, and where a number that they read is not finite.
    """
    settings = checked(settings)
    sizes = dict(zip((n, t), batch.mask.shape, strict=True))
    decided, laid = tuple(str(settings[key]) for key in deciding()), {} if laid is None else laid
    if decided not in laid:
        laid[decided] = _inputs(batch, settings, sizes, kept)
    known = laid[decided] | {name: np.asarray(each) for name, each in numbers.items()} | _beyond(batch, settings)
    made = Fed(settings, sizes, {name: each for name, each in known.items() if name in EQUATIONS.live}, device=device)
    names = tuple(dict.fromkeys((*starts(batch.tensors, settings), *given)))
    return made.having(_given(batch, made, names, kept), kept) if names else made


def _inputs(batch: Minibatch, settings: Settings, sizes: Mapping[Axis, int], kept: Kept | None) -> dict[str, Array]:
    """Returns what is typed: the file's tensors where something reads them, and 0 elsewhere."""
    shape = batch.mask.shape
    slots = (np.arange(shape[1]) < np.asarray(batch.slots)[:, None]).astype(np.float64)
    mask = np.asarray(batch.tensors["response_mask"], np.float64) * slots
    known: dict[str, Array] = {"mask": mask, "slots": np.pad(slots, ((0, 0), (0, 1)))}
    read = _read(settings, sizes, known, kept)
    found = {
        block: np.asarray(batch.tensors[name], np.float64) for block, name in INPUTS.items() if name in batch.tensors
    }
    held = {block: _checked(batch, block, each, read[block]) for block, each in found.items()}
    if "policy.entropy" in held and settings["metrics.over"] == "all":  # `missing` says where it is no number
        held["policy.entropy"] = slots * np.nan_to_num(found["policy.entropy"], nan=0.0, posinf=0.0, neginf=0.0)
    nothing = np.zeros(shape)
    typed = dict.fromkeys((*INPUTS, *OF_VOCABULARY), nothing) | held
    typed |= {block: held[other] for block, other in STAND_IN.items() if block not in held and other in held}
    known |= typed | {"score.given": _score(batch), "response.ended": _ended(batch, slots, mask)}
    known["explained_variance.floor"] = np.asarray(FLOOR)
    if per_word(batch):  # no convention places scores that stand on several tokens of a response
        known["score.placed"] = slots * np.nan_to_num(np.asarray(batch.tensors["scores"], np.float64), nan=0.0)
    return known


COUNTED = ("response", "kept", "kl.support", "value.counted")
"""The rows that say where tensors are read."""


@cache
def deciding() -> tuple[str, ...]:
    """Returns the settings that decide how a file is laid out: those that such a row reads, whatever words are in force."""
    read = {row.name for row in behind([EQUATIONS.live[name] for name in COUNTED])}
    return tuple(key for key in LIVE if key in read or key == "metrics.over")


def _read(settings: Settings, sizes: Mapping[Axis, int], known: Known, kept: Kept | None) -> dict[str, Array]:
    """Returns by block where it is read, 1 in each such slot."""
    of = EQUATIONS.values(settings, sizes, known, COUNTED, kept=kept)
    paid, counted = np.maximum(of["response"], of["kl.support"]), of["value.counted"]
    return {
        "old.logprobs": paid, "reference.logprobs": paid, "policy.logprobs": of["response"], "policy.entropy": of["response"],
        "old_critic.values": np.maximum(of["kept"], counted), "critic.values": np.maximum(of["response"], counted),
    }  # fmt: skip


def _checked(batch: Minibatch, block: str, found: Array, read: Array) -> Array:
    """Returns a tensor where it is read, else 0; what is read must be finite."""
    is_read = read > 0
    wrong = is_read & ~np.isfinite(found)
    if not wrong.any():
        return np.where(is_read, found, 0.0)
    row, column = map(int, np.argwhere(wrong)[0])
    called = batch.called.get(INPUTS[block], INPUTS[block])
    place = f"row {batch.file_row(row)}, column {int(batch.first[row]) + column}"
    where = f"{batch.path}: {called} is {found[row, column]:g} in {place}"
    require(not batch.mask[row, column], f"{where}, inside the mask: a number must stand there")
    raise MinibatchError(
        f"{where}, outside the mask, where {' or '.join(READ_BY[block])} has it read: write a number there, "
        "or set another convention"
    )


def per_word(batch: Minibatch) -> bool:
    """Tells whether the scores are rewards of tokens: a row with more than one number that is not 0; outside the text is NaN."""
    scores = np.asarray(batch.tensors.get("scores", ()))
    return scores.ndim == 2 and bool((((scores != 0) & ~np.isnan(scores)).sum(axis=1) > 1).any())


def entropy_everywhere(batch: Minibatch) -> bool:
    """Tells whether the entropy is a number in every slot, behind the last tokens, too."""
    entropy = np.asarray(batch.tensors["entropy"])
    return bool((np.isfinite(entropy) | ~(np.arange(entropy.shape[1]) < np.asarray(batch.slots)[:, None])).all())


def _score(batch: Minibatch) -> Array:
    """Returns what each response scored, [B]."""
    if "scores" not in batch.tensors:
        return np.zeros(len(batch.mask))
    scores = np.asarray(batch.tensors["scores"], np.float64)
    found = np.nan_to_num(scores, nan=0.0, posinf=np.inf, neginf=-np.inf).sum(axis=1) if scores.ndim == 2 else scores
    for row in np.flatnonzero(~np.isfinite(found))[:1]:
        raise MinibatchError(
            f"{batch.path}: the score of row {batch.file_row(int(row))} is not finite: a number must stand there"
        )
    return found


def _ended(batch: Minibatch, slots: Array, mask: Array) -> Array:
    """Returns 1 for responses that ended: as the file says, else where a slot is left over behind the last token."""
    if "ended" in batch.tensors:
        return np.asarray(batch.tensors["ended"], np.float64)
    return padded(slots, mask)


def padded(slots: Array, mask: Array) -> Array:
    """Returns 1 for responses with a slot that is left over behind their last token."""
    until = np.maximum.accumulate(mask[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((slots * (1 - until)).sum(axis=1) > 0, np.float64)


def _given(batch: Minibatch, made: Fed, names: Collection[str], kept: Kept | None) -> dict[str, Array]:
    """Returns rows of the file by the names of the rows that they stand for; NaN wherever the file says nothing."""
    slots = np.asarray(made.known["slots"])[:, :-1]
    where, found = compared_where(made.values(SUPPORT, kept), slots), dict[str, Array]()
    for name in names:
        called, row = PLACES[name]
        own = np.where(where[called] > 0, np.asarray(batch.tensors[called], np.float64), np.nan)
        if name == "scores":  # a score of 0 stands nowhere
            there = np.nan_to_num(own) != 0
            own = np.where(there.any(axis=1, keepdims=True), there.astype(float), np.nan)
        found[row] = own
    return found


SUPPORT = ("response", "kept", "score.place", "value.counted")


def compared_where(of: Mapping[str, Array], slots: Array) -> dict[str, Array]:
    """Returns by tensor of a file where it means something, 1 in each such slot; of: the rows of `SUPPORT`.

    Scores do in every slot, rewards where a value is kept or the score lands, returns where a value is kept or the value loss
    counts, advantages on the tokens of the response. What libraries leave elsewhere is read by none.
    """
    return {
        "scores": slots, "rewards": np.maximum(of["kept"], of["score.place"]), "advantages": of["response"],
        "returns": np.maximum(of["response"], of["value.counted"]),
    }  # fmt: skip


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
