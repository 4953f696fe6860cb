"""What may have been done otherwise in a minibatch, by mechanism: settings, mistakes by name, changes of the equations, places
where numbers stand, and numbers that the file itself gives away.

A coefficient, or a limit of the scores, is found by least squares in a tensor, and named if every token then agrees. One logged
number could be explained by any coefficient; there it must be one that somebody may have typed: of at most three digits.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import combinations, islice

import numpy as np

from blueprint.dumps import Array, Minibatch
from blueprint.inputs import Catalogue
from blueprint.inputs.catalogue import OFF
from blueprint.verifying import Settings, Try, of_equations, of_half_words, of_other_forms, of_other_words, shown
from blueprint.verifying.logged import ALL, TENSORS, before, reads
from blueprint.verifying.other_forms import of_what_is_read
from blueprint.verifying.settings import FINE, MEANINGS, TOGETHER, VALUES, Setting, laid_over, number_of
from blueprint.verifying.verdict import SPELLED
from blueprint.workbooks.common.conventions import LIVE, rlhf
from blueprint.workbooks.rlhf_ppo.verifying import with_pads
from blueprint.workbooks.rlhf_ppo.verifying.feeding import EQUATIONS, Fed
from blueprint.workbooks.rlhf_ppo.verifying.misplaced import of_places
from blueprint.workbooks.rlhf_ppo.verifying.misread import of_tensors
from blueprint.workbooks.rlhf_ppo.verifying.mistakes import of_rows
from blueprint.workbooks.rlhf_ppo.verifying.own_rows import Own
from blueprint.workbooks.rlhf_ppo.verifying.parts import straight
from blueprint.workbooks.rlhf_ppo.verifying.trial import MinibatchTrial

THRESHOLD = "loss.ratio_threshold"
PAIRS = 1200
"""So many pairs of conventions are tried at most."""


def stages(trial: MinibatchTrial, name: str, time: Callable[[], bool] = lambda: True) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    time: whether there is time for more; without it no changes of equations are listed, of which the file's numbers tell none.
    """
    use, known = trial.settings, trial.known(name)
    rows = tuple(row for each in known if (row := trial.row(each)))
    moves = _moves(trial, name, known)
    yield [
        *of_mistakes(trial, name, known),
        *of_conventions(moves, use),
        *of_runs(len(trial.batch.slots)),
        *_of_ranks(trial, name),
    ]
    yield [*of_factors(trial, name), *of_presets(use, trial.preset, moves)]
    if trial.whole is None:  # nobody knows whether it is all that was whitened together
        yield list(of_a_larger_batch(trial, name))
    yield [*of_equations(EQUATIONS, use, trial.row(name), rows)] if time() else []
    padded = trial.row(name) in with_pads.EQUATIONS.under(use).rows and trial.carries_pads
    spelled = of_equations(with_pads.EQUATIONS, use, trial.row(name), rows) if padded and time() else ()
    reads = of_what_is_read(EQUATIONS, use, trial.row(name), rows, signs=False, time=time)
    yield [*map(_spelled, spelled), *next(reads)]  # what one equation reads otherwise, all of them may
    yield from of_other_forms(EQUATIONS, use, (trial.row(name),), rows, ("mask",), time)
    yield from reads
    if padded:
        for stage in of_what_is_read(
            with_pads.EQUATIONS, use, trial.row(name), rows, False, everywhere=True, time=time
        ):
            yield [*map(_spelled, stage)]
    yield list(of_places(trial, name))
    yield [*fitted(trial, name)]
    yield list(of_pairs(moves, use))
    others = [each for each in of_conventions(moves, use) if not each.label.partition(" = ")[0].endswith(FINE)]
    yield of_half_words(EQUATIONS, others, use, (trial.row(name),), rows, time)
    yield of_other_words(EQUATIONS, others, use, (trial.row(name),), rows) if time() else []
    if trial.whole is not None:
        yield list(of_a_larger_batch(trial, name))


def _spelled(each: Try) -> Try:
    """Returns a change of an equation as libraries spell it that carry pads along."""
    head, bracket, rest = each.label.partition(" (")
    label = f"{head}{SPELLED}{bracket}{rest}" if bracket and ":" not in head else f"{each.label}{SPELLED}"
    return each._replace(label=label, ways={**each.ways, "pads": True})


def _moves(trial: MinibatchTrial, name: str, known: Collection[str]) -> tuple[str, ...]:
    """Returns the conventions that move a quantity, also through what it is made of where the file has not logged that."""
    through = (name, *before(name, known=known))
    found = dict.fromkeys(convention for each in through for convention in ALL[each].moves)
    # only where a loss is 0, in the file or here, it matters from which mean ratio on losses do not count
    stopped = trial.lines[name].compared.logged == 0 or trial.judge.found.whole["loss.keep"] == 0
    return tuple(each for each in found if stopped or each != THRESHOLD)


def of_mistakes(trial: MinibatchTrial, name: str, known: Collection[str]) -> Iterator[Try]:
    """Yields mistakes by name."""
    use = trial.settings
    if ALL[name] not in TENSORS:
        yield Try("the opposite sign", use, {"factor": {trial.row(name): -1.0}})
    yield from of_rows(use, name)
    yield from of_tensors(trial.batch, use, name, sorted(reads(ALL[name].needs, set(known))))


def of_conventions(names: Iterable[str], settings: Settings) -> Iterator[Try]:
    """Yields every other value of the named conventions, one at a time."""
    for name in dict.fromkeys(names):
        keys = TOGETHER.get(name, (name,))
        instead = " and ".join(dict.fromkeys(shown(settings[key]) for key in keys))
        for value in values_of(keys[0], rlhf()):
            changes = dict.fromkeys(keys, value)
            if _differ(settings, changes):
                said = " and ".join(f"{key} = {shown(value)}" for key in keys)
                means = MEANINGS.get((keys[0], "off" if value == OFF else value))
                label = f"{said} instead of {instead}{f' ({means})' if means else ''}"
                yield Try(label, laid_over(settings, changes))


def values_of(name: str, known: Catalogue) -> list[Setting]:
    """Returns what may stand for a convention: the words of a switch, for a number the presets' and some beside them."""
    if words := LIVE[name].words:
        return [word for word in words if word != "full"]
    listed = (*(preset.values[name] for preset in known.presets.values()), *VALUES.get(name, ()))
    return list(dict.fromkeys(number_of(name, each) for each in listed))


def _differ(settings: Settings, changes: Settings) -> bool:
    return any(number_of(key, settings[key]) != number_of(key, value) for key, value in changes.items())


def of_presets(settings: Settings, own: str, moving: Collection[str]) -> Iterator[Try]:
    """Yields the other presets altogether, if they move something."""
    keys = [key for name in moving for key in TOGETHER.get(name, (name,)) if key in settings]
    for name, preset in rlhf().presets.items():
        if name != own and _differ(settings, {key: preset.values[key] for key in keys}):
            yield Try(f"preset {name} altogether", laid_over(settings, preset.values))


def of_pairs(moves: Iterable[str], settings: Settings) -> Iterator[Try]:
    """Yields conventions two at a time."""
    singles = [*of_conventions([name for name in moves if not name.endswith(FINE)], settings)]
    for one, other in islice(combinations(singles, 2), PAIRS):
        changes = [
            {key: value for key, value in each.settings.items() if value != settings[key]} for each in (one, other)
        ]
        if not changes[0].keys() & changes[1].keys():
            yield Try(f"{one.label}, and {other.label}", laid_over(settings, *changes))


MOST_RUNS = 64


def of_runs(responses: int) -> Iterator[Try]:
    """Yields the divisions of a batch into equal runs of responses, at most so many of them: of losses alone, or of all."""
    for size in range(1, responses // 2 + 1):
        if responses % size == 0 and responses // size <= MOST_RUNS:
            yield Try(f"microbatches of {size}", {}, {"microbatch": size, "losses": True})
            yield Try(f"microbatches of {size}", {}, {"microbatch": size})


def _of_ranks(trial: MinibatchTrial, name: str) -> Iterator[Try]:
    """Yields the divisions of a rollout of several files into equal runs of responses as they were generated, as by ranks."""
    responses = len(trial.rollout.batch.slots)
    for count in range(2, min(responses, MOST_RUNS) // 2 + 1) if trial.rollout is not trial.alone else ():
        if responses % count == 0 and ALL[name] in TENSORS:
            size = responses // count
            label = (
                f"each {size} of the {responses} responses by themselves, as they were generated, as on {count} ranks"
            )
            yield Try(label, {}, {"microbatch": size, "generated": True})


def of_factors(trial: MinibatchTrial, name: str) -> Iterator[Try]:
    """Yields what a number may have been multiplied by: 2, and how many microbatches there may be, or the inverse."""
    responses, row = len(trial.batch.slots), trial.row(name)
    if ALL[name] in TENSORS:
        return
    for count in (2, *(count for count in range(3, min(responses, MOST_RUNS) + 1) if responses % count == 0)):
        yield Try(f"everything multiplied by {count}", trial.settings, {"factor": {row: float(count)}})
        yield Try(f"everything divided by {count}", trial.settings, {"factor": {row: 1 / count}})


IN_REWARD, IN_LOSS = ("reward", "both"), ("loss", "both")
"""Words of `reward.kl_in` by which the KL is paid there."""
COEFFICIENTS = (("vf_coef", "value_loss", 1.0), ("ent_coef", "entropy", -1.0), ("loss.kl_coef", "kl_loss", 1.0))
"""L = rest + sign·c·part: c is (L − rest) / (sign·part)."""
DIGITS, LARGEST = 3, 100.0
"""A coefficient that somebody typed has at most so many digits, and is at most as large."""
FINE_ENOUGH = 1e-3
"""A tolerance below which a coefficient of three digits tells something."""


def fitted(trial: MinibatchTrial, name: str) -> Iterator[Try]:
    """Yields the coefficient that a quantity is linear in, as it would have to be, that was not tried yet."""
    if ALL[name] in TENSORS or trial.judge.tolerance(ALL[name]) <= FINE_ENOUGH:
        own = trial.alone.feed(trial.known(name), trial.numbers(name))[0]
        for key, value in _fits(trial, own, name):
            if value not in values_of(key, rlhf()):
                label = f"{key} = {value:.6g} (fitted: the one number that explains it)"
                yield Try(label, laid_over(trial.settings, {key: value}), fitted=True, found=True)


def _fits(trial: MinibatchTrial, own: Fed, name: str) -> Iterator[tuple[str, float]]:
    logged, use = trial.lines[name].compared.logged, trial.settings
    if name == "rewards":
        yield from _kl_coef(trial.batch, own)
        yield from _score_clip(trial.batch, own)
    elif logged is not None and name == "total_loss":
        for key, part, sign in COEFFICIENTS:
            of = own.values(("total_loss", part, f"adds.{part}"))
            if of[part] and (key != "loss.kl_coef" or use["reward.kl_in"] in IN_LOSS):
                rest = of["total_loss"] - of[f"adds.{part}"]
                yield from _typed(key, float((logged - rest) / (sign * of[part])))
    elif logged is not None and name == "value_loss" and (ours := float(own.values(("value_loss",))["value_loss"])):
        yield from _typed("value.factor", number_of("value.factor", use["value.factor"]) * logged / ours)


def _kl_coef(batch: Minibatch, own: Fed) -> Iterator[tuple[str, float]]:
    """r = score − β·kl: β is Σ kl·(score − r) / Σ kl² over the words on which the KL is paid."""
    of = own.values(("kl.used", "score.placed", "response"))
    theirs, there = np.asarray(batch.tensors["rewards"], np.float64), of["response"] > 0
    paid = of["kl.used"][there]
    square = float((paid**2).sum())
    if square and own.settings["reward.kl_in"] in IN_REWARD:
        yield "kl_coef", float((paid * (of["score.placed"] - theirs)[there]).sum()) / square


def _score_clip(batch: Minibatch, own: Fed) -> Iterator[tuple[str, float]]:
    """r = score + penalty: where scores were clipped to ±c, c is the largest of |r − penalty| in the slots of the scores."""
    of = own.values(("reward.penalty", "score.place"))
    score = (np.asarray(batch.tensors["rewards"], np.float64) - of["reward.penalty"])[of["score.place"] > 0]
    yield from _typed("reward.score_clip", float(np.abs(score).max(initial=0.0)))


def _typed(key: str, value: float) -> Iterator[tuple[str, float]]:
    rounded = float(f"{value:.{DIGITS}g}")
    if 0 < rounded <= LARGEST:
        yield key, rounded


BEYOND = "in the whitening (fitted: those of a larger batch than this file has, or of other tokens)"


def of_a_larger_batch(trial: MinibatchTrial, name: str) -> Iterator[Try]:
    """Yields the mean and deviation of another batch that explain whitened advantages.

    Â = (A − μ)/σ is a straight line of the raw advantages whatever batch μ and σ are of: it is fitted by least squares, and
    named only if every token agrees.
    """
    if name != "advantages" or trial.settings["whiten_advantages"] != "on" or trial.row(name) == "advantages":
        return
    cells = trial.judge.cells(name)
    raw = trial.alone.feed(trial.known(name))[0].values(("advantages",))["advantages"]
    line = straight(raw[cells], np.asarray(trial.batch.tensors[name], np.float64)[cells])
    if line is not None:
        stands = {"advantages_used": partial(_on_line, line.slope, line.constant)}
        yield Try(f"{line} {BEYOND}", trial.settings, {"stands": stands}, fitted=True, found=True)


def _on_line(slope: float, constant: float, own: Own) -> Array:
    return np.asarray(own["response"] * (slope * own["advantages"] + constant))
