"""Why a quantity deviates: causes are tried on it alone, made again from the file's own rows before it, then in all that leads to
it, until one explains all of it.

Some causes the numbers of a file tell themselves: one coefficient, another order of the rows, the mean and deviation of a larger
batch. A coefficient, or a limit of the scores, is found by least squares in a tensor, and named if every token then agrees. One
logged number could be explained by any coefficient; there it must be one that somebody may have typed: of at most three digits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import combinations, islice
from typing import Any

import numpy as np
import torch

from blueprint.dumps import Array, Minibatch, MinibatchError
from blueprint.verifying.compare import Compared, Rows, Tally, compare_number, compare_tiles
from blueprint.verifying.deviation import (
    FEW,
    Deviation,
    Explained,
    Neighbour,
    as_given,
    by_alignment,
    by_conventions,
    by_factors,
    by_microbatches,
    by_presets,
    values_of,
)
from blueprint.verifying.formulas import Options, Texts, losses, ppo, rewards
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import TENSORS, reads
from blueprint.verifying.parts import straight
from blueprint.verifying.recompute import Replay
from blueprint.verifying.settings import FINE, Settings, number_of
from blueprint.verifying.slips.causes import NUMBERS, SLIPS, WHITENED, Sums, tried_alone
from blueprint.verifying.slips.slip import Own
from blueprint.verifying.tiled_passes import Watch, cut, one_thread, passes
from blueprint.verifying.verdict import Causes, Match, ranked
from blueprint.workbooks.common.conventions import rlhf

IN_REWARD, IN_LOSS = ("reward", "both"), ("loss", "both")
"""Words of `reward.kl_in` by which the KL is paid there."""

COEFFICIENTS = (("vf_coef", "value_loss", 1.0), ("ent_coef", "entropy", -1.0), ("loss.kl_coef", "kl_loss", 1.0))
"""L = rest + sign·c·part: c is (L − rest) / (sign·part)."""

DIGITS, LARGEST = 3, 100.0
"""A coefficient that somebody typed has at most so many digits, and is at most as large."""


def fitted(local: Replay, name: str, logged: float | None) -> Iterator[Neighbour]:
    """Yields the coefficient that a quantity is linear in, as it would have to be."""
    if name == "rewards":
        yield from _kl_coef(local)
        yield from _score_clip(local)
    elif logged is not None and name == "total_loss":
        for key, part, sign in COEFFICIENTS:
            if local.whole[part] and (key != "loss.kl_coef" or local.options["reward.kl_in"] in IN_LOSS):
                rest = local.whole["total_loss"] - local.whole[f"adds.{part}"]
                yield from _typed(key, (logged - rest) / (sign * local.whole[part]))
    elif logged is not None and name == "value_loss" and (ours := local.number("value_loss")):
        yield from _typed("value.factor", number_of("value.factor", local.options["value.factor"]) * logged / ours)


def _kl_coef(local: Replay) -> Iterator[Neighbour]:
    """r = score − β·kl: β is Σ kl·(score − r) / Σ kl² over the words on which the KL is paid."""
    both = square = 0.0
    for start, rows in local.tiles(("kl.support", "kl.used", "score.placed", "response")):
        theirs = local.batch.tensors["rewards"][start : start + len(rows["response"])].astype(float)
        paid = rows["response"] * rows["kl.used"]
        both += float((paid * (rows["score.placed"] - theirs))[rows["response"] > 0].sum())
        square += float((paid**2).sum())
    if square and local.options["reward.kl_in"] in IN_REWARD:
        yield _said("kl_coef", both / square)


def _score_clip(local: Replay) -> Iterator[Neighbour]:
    """r = score + penalty: where scores were clipped to ±c, c is the largest of |r − penalty| in the slots of the scores."""
    largest = 0.0
    for start, rows in local.tiles(("reward.penalty", "score.place")):
        theirs = local.batch.tensors["rewards"][start : start + len(rows["score.place"])].astype(float)
        score = (theirs - rows["reward.penalty"][:, : theirs.shape[1]])[rows["score.place"][:, : theirs.shape[1]] > 0]
        largest = max(largest, float(np.abs(score).max(initial=0.0)))
    yield from _typed("reward.score_clip", largest)


def _typed(key: str, value: float) -> Iterator[Neighbour]:
    rounded = float(f"{value:.{DIGITS}g}")
    if 0 < rounded <= LARGEST:
        yield _said(key, rounded)


def _said(key: str, value: float) -> Neighbour:
    return Neighbour(f"{key} = {value:.6g} (fitted: the one number that explains it)", {key: value}, rank=1)


FEWEST = 3
"""Responses below which another order says little."""


def permuted(deviation: Deviation) -> Iterator[Explained]:
    """Yields that rows of a tensor, or the scores that rewards were made of, belong to other responses, if all agree then."""
    if deviation.cells is None or len(deviation.cells) < FEWEST:
        return
    name = deviation.compared.name
    theirs = np.nan_to_num(np.asarray(deviation.batch.tensors[name], dtype=np.float64))
    orders = {name: _other_rows(deviation, theirs, deviation.cells)}
    orders |= {"scores": _other_scores(deviation, theirs, deviation.cells)} if name == "rewards" else {}
    for what, (order, apart) in orders.items():
        moved, largest = order != np.arange(len(order)), float(apart.max(initial=0.0))
        if moved.any() and largest <= deviation.allowed:
            first = int(moved.argmax())
            here, there = deviation.batch.file_row(first), deviation.batch.file_row(int(order[first]))
            yield Explained(
                f"{what} of other rows: row {here} has what belongs to row {there}", deviation.explained(largest)
            )


def _other_rows(deviation: Deviation, theirs: Array, cells: Array) -> tuple[Array, Array]:
    """Returns whose row each is, matched by the first token, and how far off tokens then are."""
    ours, whose, some = deviation.local.row(deviation.compared.row), np.arange(len(cells)), np.flatnonzero(cells[:, 0])
    whose[some] = some[_matched(ours[some, 0], theirs[some, 0])]
    return whose, np.abs(theirs - ours[whose])[cells & cells[whose]]


def _other_scores(deviation: Deviation, theirs: Array, cells: Array) -> tuple[Array, Array]:
    """Returns whose score each response has, and how far off rewards then are."""
    names = ("reward.penalty", "score.place", "score.placed")
    tiles = ([rows[name] for name in names] for _, rows in deviation.local.tiles(names))
    penalty, place, placed = map(np.concatenate, zip(*tiles, strict=True))
    left, scores = theirs - penalty[:, : theirs.shape[1]], placed.sum(axis=1)
    order = _matched(scores, (left * place).sum(axis=1))
    return order, np.abs(left - place * scores[order][:, None])[cells]


def _matched(ours: Array, theirs: Array) -> Array:
    """Returns the place of each of their numbers among ours, the smallest being the smallest."""
    order = np.empty(len(ours), dtype=np.int64)
    order[theirs.argsort()] = ours.argsort()
    return order


def whitened_elsewhere(deviation: Deviation) -> Explained | None:
    """Returns the mean and deviation that explain whitened advantages.

    Â = (A − μ)/σ is a straight line of the raw advantages whatever batch μ and σ are of: it is fitted by least squares, and
    named only if every token agrees. None where advantages are not what deviates, or are not whitened.
    """
    if deviation.quantity.name != "advantages" or deviation.settings["whiten_advantages"] != "on":
        return None
    logged = np.asarray(deviation.batch.tensors["advantages"], dtype=np.float64)[deviation.cells]
    raw = deviation.local.row("advantages")[deviation.cells]
    line = straight(raw, logged)
    if line is None or not (largest := line.apart(raw, logged)) <= deviation.allowed:
        return None
    said = f"{line} in the whitening (fitted: those of a larger batch than this file has, or of other tokens)"
    return Explained(said, deviation.explained(largest), Neighbour(said, rank=1, beyond=True))


WHITENING = ("advantage.ddof", "advantage.stats", "advantage.eps_form", "advantage.mean_eps", "advantage.ddof_eps",
             "whiten_eps")  # fmt: skip
"""Conventions of whitening, which move nothing before it."""

BEFORE = frozenset({"batch.response_mask", "loss.ratio_threshold"})
"""Conventions of a number that say which tokens there are, or that ask for the whole file first."""

JOINS = frozenset({"vf_coef", "ent_coef", "policy_kl_coef", "loss.joint", "loss.kl_coef", "reward.kl_in"})
"""Conventions of how parts become a total."""


AT_ONCE = 64
"""So many conventions are computed side by side at most, as files that have the same responses."""


def explained_alone(deviation: Deviation, neighbours: Sequence[Neighbour], slips: Sequence[Any]) -> list[Explained]:
    """Returns the slips and neighbours with which the quantity agrees; the neighbours are such as can be tried alone."""
    if deviation.quantity in TENSORS:
        return list(tried_alone(deviation, slips, neighbours))
    numbers = (
        Explained(said, deviation.with_number(ours), neighbour)
        for said, ours, neighbour in _numbers(deviation, neighbours, slips)
        if ours is not None
    )
    return [each for each in numbers if each.compared.agrees]


def can_be_alone(deviation: Deviation, neighbour: Neighbour) -> bool:
    """Tells whether a neighbour can be tried on the quantity alone: it changes nothing before it."""
    name, in_tensor = deviation.quantity.name, deviation.quantity in TENSORS
    if not neighbour.changes:
        of_runs = neighbour.microbatch > 0 and made_of_logged(deviation)
        return not in_tensor and (neighbour.factor != 1 or of_runs)
    if in_tensor:
        own = {*WHITENING, *(("whiten_advantages",) if name == "advantages" else ())}
        return deviation.compared.row in WHITENED and set(neighbour.changes) <= own
    own = {*deviation.quantity.moves, "clip_range", "loss.clip_range_high"} - BEFORE if name in NUMBERS else set()
    return set(neighbour.changes) <= (JOINS if name == "total_loss" else own)


def made_of_logged(deviation: Deviation) -> bool:
    """Tells whether a number is made of inputs and logged rows alone, and slips stand for what may be wrong with those."""
    return deviation.quantity.name in NUMBERS and set(deviation.quantity.after) <= deviation.known


def _numbers(
    deviation: Deviation, neighbours: Sequence[Neighbour], slips: Sequence[Any]
) -> Iterator[tuple[str, float | None, Neighbour | None]]:
    """Yields what the number comes to by every slip and neighbour, None where that reads what the file has not."""
    local, name = deviation.local, deviation.quantity.name
    ours, changes = local.number(deviation.compared.row), [each for each in neighbours if each.changes]
    yield from ((each.said, each.factor * ours, each) for each in neighbours if each.factor != 1)
    if name == "total_loss":
        yield from ((each.said, each.made(local.whole), None) for each in slips)
        yield from ((each.said, _total(deviation, each), each) for each in changes)
    elif name in NUMBERS:
        sums = Sums(deviation, slips, changes)
        yield from ((each.said, sums.number(each), None) for each in slips)
        yield from ((each.said, sums.number(each), each) for each in changes)
        yield from ((each.said, sums.of_runs(each.microbatch), each) for each in neighbours if each.microbatch)


def _total(deviation: Deviation, neighbour: Neighbour) -> float:
    """The total under other conventions, from parts as they are."""
    local = deviation.local
    own = Own.of(local.work, local.whole, slice(0, 1)).under(neighbour.changes)
    parts = ("policy_loss", "value_loss", "entropy", "policy_kl", "kl_loss")
    known = {name: own.texts.mask.new_full((1,), local.whole[name]) for name in parts}
    prices = rewards.price_rows(own.rows, own.options)
    return float(losses.total_rows(known | prices, own.options)[deviation.compared.row])


def tried(deviation: Deviation, neighbour: Neighbour) -> Compared:
    """Compares the quantity with what the neighbour makes of it, a tensor only up to the first tile that deviates.

    Raises MinibatchError where the neighbour reads what the file has not.
    """
    compared = deviation.compared
    if deviation.quantity in TENSORS:
        tally = Tally(deviation.batch, compared.name, compared.row, "", deviation.allowed, deviation.cells)
        compare_tiles([tally], _tiles(deviation, neighbour), patient=False)
        return tally.found
    given, numbers = deviation.made_of, deviation.numbers
    parts = (deviation.again(batch, settings, given, numbers) for _, batch, settings in _parts(deviation, neighbour))
    return deviation.with_number(float(np.mean([each.number(compared.row) for each in parts])))


def _parts(deviation: Deviation, neighbour: Neighbour) -> Iterator[tuple[int, Minibatch, Settings]]:
    """Yields the batch as the neighbour has it, or its microbatches, each with its first response."""
    batch, settings = neighbour.of(deviation.batch), neighbour.over(deviation.settings)
    size = len(batch.slots)
    height = neighbour.microbatch or size
    for start in range(0, size, height):
        yield start, batch if height == size else cut(batch, slice(start, start + height)), settings


def _tiles(deviation: Deviation, neighbour: Neighbour) -> Iterator[tuple[int, Rows]]:
    """Yields the rows as far as the advantages; what advantages are whitened with is only found where it is read."""
    for start, batch, settings in _parts(deviation, neighbour):
        work = deviation.work(batch, settings)
        if deviation.quantity.whitened or passes(settings) > 2:
            work.count()
        for rows in work.tiles:
            found = work.before_losses(rows)[2]
            yield start + rows.start, {name: row[0].cpu().numpy() for name, row in found.items() if row.dim() == 3}


def parts_explain(deviation: Deviation, neighbour: Neighbour) -> bool:
    """Tells whether every number of the file is the mean of those of the microbatches, and its other tensors stand.

    Each is computed from the file's own tensors, so that it is only asked how losses became numbers.
    """
    judge, local = deviation.judge, deviation.local
    own = Judge(deviation.batch, local, judge.factor).compared(meant=dict(deviation.given))
    others = [each.name for each in judge.tensors if each != deviation.quantity]
    if not all(own[name].agrees for name in others if name in own):
        return False
    given = as_given(deviation.given)
    replays = [deviation.again(batch, settings, given) for _, batch, settings in _parts(deviation, neighbour)]
    means = {each.name: float(np.mean([one.number(each.rows[0][0]) for one in replays])) for each, *_ in judge.numbers}
    return all(
        compare_number(each.name, "", "", (logged, means[each.name]), judge.allowed_number(each, logged)).agrees
        for each, logged, _ in judge.numbers
        if each.needs not in local.missing
    )


def possible(deviation: Deviation, neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """Returns the neighbours that a few responses do not rule out for a tensor, the first that deviates among them.

    Advantages are compared before whitening, which needs no statistics of the batch: whatever whitening did, the file's
    must then be a straight line of them. Rewards that are whitened, and microbatches, are not ruled out here.
    """
    rows = deviation.looked_at(FEW)
    few = cut(deviation.batch, rows)
    tested = [each for each in neighbours if not each.microbatch and passes(each.over(deviation.settings)) == 2]
    height = int(np.clip(deviation.local.work.tile_tokens // few.mask.size, 1, AT_ONCE))
    out = set[int]()
    for start in range(0, len(tested), height):
        some = tested[start : start + height]
        found = zip(some, _side_by_side(deviation, few, some), strict=True)
        out |= {id(each) for each, ours in found if deviation.apart(ours, rows) > deviation.allowed}
    return [each for each in neighbours if id(each) not in out]


def _side_by_side(deviation: Deviation, few: Minibatch, neighbours: Sequence[Neighbour]) -> list[Array]:
    """Returns the row that each neighbour makes of a few responses, before whitening."""
    works = [deviation.work(each.of(few), each.over(deviation.settings)) for each in neighbours]
    texts, options, given = zip(*(work.inputs(slice(0, len(few.slots))) for work in works), strict=True)
    with one_thread():
        found = ppo.signal(
            Texts(**{each.name: torch.cat([getattr(one, each.name) for one in texts]) for each in fields(Texts)}),
            Options({name: torch.cat([one.values[name] for one in options]) for name in options[0].values}),
            {name: torch.cat([one[name] for one in given]) for name in given[0]},
        )
    row = found["advantages" if deviation.quantity.whitened else deviation.compared.row].cpu().numpy()
    if deviation.quantity.name == "scores":
        row = row * np.nan_to_num(np.asarray(few.tensors["scores"], dtype=np.float64)).sum(axis=1, keepdims=True)
    return list(row)


TIMES = 4
"""Recomputations of the whole file that are spent on causes which ask for one each, at most …"""

FLOOR = 1 << 20
"""… or so many tokens, a second or two."""

PAIRS, PAIRS_TOKENS = 1200, 1 << 24
"""So many pairs of conventions are tried at most, and only as long as that goes through no more tokens than this."""

FINE_ENOUGH = 1e-3
"""A tolerance below which a coefficient of three digits tells something."""

NEGLIGIBLE = 1e-3
"""A share of what is allowed as small as rounding of float64 makes a difference."""

THRESHOLD = "loss.ratio_threshold"


def causes_of(deviation: Deviation, watch: Watch) -> Causes:
    """Returns what explains a deviation altogether, the likeliest first: if some explain the rest of the file, too, only those.

    Empty where no single known cause does, and no pair of conventions; also where nothing asks for one, as the file's own
    rows lead to the quantity as it is: then every convention that changes nothing would match.
    """
    if _agrees_as_it_is(deviation):
        return Causes()
    search = Search(deviation, watch)
    found = search.singles() or search.otherwise() or search.pairs()
    return Causes(ranked(map(search.match, found), NEGLIGIBLE * deviation.compared.allowed), search.tried, search.known)


class Search:
    """Looks for causes, as long as there are tokens left that may be gone through."""

    def __init__(self, deviation: Deviation, watch: Watch) -> None:
        """Has tried nothing yet."""
        self.deviation, self.watch = deviation, watch
        self.tokens_left, self.tried, self.known = max(TIMES * deviation.cost, FLOOR), 0, 0

    def singles(self) -> list[Explained]:
        """Returns the single causes: slips and conventions in the quantity alone, then in all that leads to it."""
        every, slips = list(_singles(self.deviation)), SLIPS.get(self.deviation.quantity.name, ())
        self.known += len(every) + len(slips)
        return self._explained(every, slips, "trying neighbouring conventions", self.deviation.quantity in TENSORS)

    def pairs(self) -> list[Explained]:
        """Returns two conventions at a time, as far as that is cheap."""
        every = _pairs(self.deviation)
        self.known += len(every)
        return self._explained(every[: PAIRS_TOKENS // self.deviation.batch.mask.size], (), "trying pairs of them")

    def otherwise(self) -> list[Explained]:
        """Returns what rows in another order explain, or a larger batch."""
        found = list(permuted(self.deviation))
        line = None if found or self.deviation.compared.means else whitened_elsewhere(self.deviation)
        return [line] if line else found

    def match(self, found: Explained) -> Match:
        """Returns a cause with what else still deviates then."""
        of = found.neighbour or Neighbour("")
        return Match(found.said, found.compared.largest, self._still(found), of.rank, of.beyond, of.changes)

    def _explained(
        self, neighbours: Sequence[Neighbour], slips: Sequence[object], what: str, go_on: bool = False
    ) -> list[Explained]:
        """Tries causes in the quantity alone, and where none explains it, or it is to go on, the others in all before it."""
        alone = [each for each in neighbours if can_be_alone(self.deviation, each)]
        self.tried += len(slips) + len(alone)
        found = explained_alone(self.deviation, alone, slips)
        if found and not go_on:
            return found
        return found + self._through([each for each in neighbours if each not in alone], what)

    def _through(self, neighbours: Sequence[Neighbour], what: str) -> list[Explained]:
        """Tries neighbours one by one, in everything that leads to the quantity; those first that few responses allow."""
        found, tokens = [], self.deviation.batch.mask.size
        left = possible(self.deviation, neighbours) if self.deviation.quantity in TENSORS else neighbours
        self.tried += len(neighbours) - len(left)
        progress = self.watch(what, len(left) * tokens)
        for each in left:
            self.tokens_left -= self.deviation.cost
            if self.tokens_left < 0:
                break
            self.tried += 1
            try:
                compared = tried(self.deviation, each)
            except MinibatchError:  # it reads what this file has not
                continue
            finally:
                progress(tokens)
            if compared.agrees:
                found.append(Explained(each.said, compared, each))
        return found

    def _still(self, found: Explained) -> tuple[tuple[str, float], ...]:
        """Returns what else deviates with a cause: in the quantity alone, or in all that leads to it if less does then."""
        others = self.deviation.others
        if found.neighbour is None:
            same = {
                each.name: [slip for slip in SLIPS.get(each.name, ()) if slip.said == found.said] for each in others
            }
            others = tuple(
                each for each in others if not explained_alone(self.deviation.about(each), (), same[each.name])
            )
        elif others:
            others = min(others, _left_by(self.deviation, found.neighbour), key=len)
        return tuple((each.name, each.largest) for each in others)


def _left_by(deviation: Deviation, neighbour: Neighbour) -> tuple[Compared, ...]:
    """Returns what deviates once everything is computed with the neighbour; what does without it, where that says nothing."""
    if neighbour.factor != 1 or neighbour.microbatch:
        return () if neighbour.microbatch and parts_explain(deviation, neighbour) else deviation.others
    batch = neighbour.of(deviation.batch)
    try:
        found = deviation.again(batch, neighbour.over(deviation.settings))
    except MinibatchError:
        return deviation.others
    return tuple(each for each in Judge(batch, found, deviation.judge.factor).compared().values() if not each.agrees)


def _agrees_as_it_is(deviation: Deviation) -> bool:
    """Tells whether the file's own rows lead to the quantity without any cause."""
    if deviation.quantity in TENSORS:
        return tried(deviation, Neighbour("the preset as it is")).agrees
    return deviation.with_number(deviation.local.number(deviation.compared.row)).agrees


def _singles(deviation: Deviation) -> Iterator[Neighbour]:
    known, responses = rlhf(), len(deviation.batch.slots)
    # only where a loss is 0, in the file or here, it matters from which mean ratio on losses do not count
    stopped = deviation.compared.logged == 0 or deviation.local.whole["loss.keep"] == 0
    yield from by_conventions(
        (each for each in deviation.moves if stopped or each != THRESHOLD), deviation.settings, known
    )
    yield from _fitted(deviation)
    if not made_of_logged(deviation):
        yield from by_alignment(deviation.batch, reads(deviation.quantity.needs, deviation.known))
    yield from by_microbatches(responses)
    if deviation.quantity not in TENSORS:
        yield from by_factors(responses)
    moving = deviation.moves if made_of_logged(deviation) else tuple(deviation.settings)
    yield from by_presets(deviation.settings, deviation.preset, known, moving)


def _fitted(deviation: Deviation) -> Iterator[Neighbour]:
    """Yields coefficients that were not tried yet; where rounding hides three digits, none for a single number."""
    if deviation.quantity in TENSORS or deviation.judge.tolerance(deviation.quantity) <= FINE_ENOUGH:
        for each in fitted(deviation.local, deviation.quantity.name, deviation.compared.logged):
            if not all(value in values_of(key, rlhf()) for key, value in each.changes.items()):
                yield each


def _pairs(deviation: Deviation) -> list[Neighbour]:
    """Returns conventions two at a time; of what is made of logged rows only those that change nothing before it."""
    alone, coarse = made_of_logged(deviation), [name for name in deviation.moves if not name.endswith(FINE)]
    singles = by_conventions(coarse, deviation.settings, rlhf())
    pairs = combinations([each for each in singles if not alone or can_be_alone(deviation, each)], 2)
    apart = ((one, other) for one, other in pairs if not set(one.changes) & set(other.changes))
    return [
        Neighbour(f"{one.said}, and {other.said}", {**one.changes, **other.changes}, rank=4)
        for one, other in islice(apart, PAIRS)
    ]
