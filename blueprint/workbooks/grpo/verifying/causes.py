"""What may have been done otherwise in a step of GRPO, by the quantity that deviates: known mistakes, conventions, equations."""

from collections.abc import Collection, Iterator, Mapping
from math import log2

import numpy as np

from blueprint.inputs.catalogue import OFF
from blueprint.misconceptions import equation
from blueprint.verifying import (
    Conventions,
    Given,
    Mistakes,
    Settings,
    Try,
    coefficient,
    mistakes_in,
    multiplied,
    of_equations,
    of_half_words,
    of_other_forms,
    of_other_words,
    of_what_is_read,
    on_the_line,
    straight_line,
    typed,
)
from blueprint.verifying.in_memory import Recompute
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.schema import GRPO, grpo_presets
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS, wide
from blueprint.workbooks.grpo.verifying.reward_functions import of_functions
from blueprint.workbooks.grpo.verifying.spelled import of_joined, of_other_rows, of_trl


def fitted(
    again: Recompute, batch: GroupedStep, settings: Settings, name: str, given: Given
) -> Iterator[tuple[str, float]]:
    """Yields settings with the number that a quantity comes to lie nearest to."""
    if name == "advantages" and settings["group.std"] != "none":
        yield from (("group.eps", eps) for eps in typed(_eps(again, batch, settings)))
    if name == "total_loss" and settings["kl.place"] == "loss":

        def off(coef: float) -> float:
            found = again(batch, {**settings, "kl.coef": coef}, {"until": name}, given)
            return found.numbers.get(name, np.nan) - batch.logged[name]

        yield from (("kl.coef", coef) for coef in typed(coefficient(off)))


def _constant(again: Recompute, batch: GroupedStep, settings: Settings, name: str, given: Given) -> Iterator[Try]:
    """Yields the whole number by which a loss is divided, as where a length is that of the prompt, too: a large one says less."""
    whole = again(batch, {**settings, "loss.constant": 1.0}, {"until": name}, given).numbers.get(name, np.nan)
    if name in batch.logged and batch.logged[name] and np.isfinite(by := whole / batch.logged[name]) and by >= 1:
        found = INSTEAD.changed(settings, {"loss.constant": float(round(by))}, fitted=True)
        yield found._replace(bits=log2(by) + CERTAIN, found=True)


CERTAIN = 10.0
"""So many bits more than it takes to pick a whole number must agree."""


@np.errstate(divide="ignore", invalid="ignore")
def _eps(again: Recompute, batch: GroupedStep, settings: Settings) -> float:
    """Returns ε of A = left/(spread + ε): 1/A is straight in ε, so that two of them give the line."""
    none, one = (
        1 / again(batch, {**settings, "group.eps": value}, {"until": "advantages"}).rows["advantages"]
        for value in (0.0, 1.0)
    )
    theirs = np.asarray(batch.tensors["advantages"], np.float64)
    eps = (1 / theirs - none) / (one - none)
    some = eps[batch.mask & np.isfinite(eps)]
    return float(np.median(some)) if len(some) else np.nan


NUMBERS: Mapping[str, tuple[float, ...]] = {
    "group.eps": (0.0, 1e-9, 1e-8, 1e-6, 1e-5, 1e-4), "group.ddof": (0.0, 1.0), 
    "kl.coef": (0.0, 0.001, 0.01, 0.02, 0.04, 0.05, 0.1),
    "kl.clamp_in": (OFF, 10.0, 20.0, 40.0), "kl.clamp_out": (OFF, 10.0), "ratio.clamp": (OFF, 10.0, 20.0),
    "ratio.sequence_most": (OFF, 10.0),
    "loss.clip_low": (OFF, 0.0003, 0.1, 0.2, 0.3), "loss.clip_high": (OFF, 0.0004, -0.8, 0.1, 0.2, 0.27, 0.272, 0.28, 0.3, 4.0),
    "loss.dual_clip": (OFF, 3.0, 10.0), "loss.delta": (OFF, 1.5, 2.0), "loss.sapo_good": (1.0,), "loss.sapo_bad": (1.05,),
    "loss.ent_coef": (0.0, 0.001, 0.01), "loss.off_policy": (OFF,), "loss.entropy_least": (OFF,), "gamma": (0.99, 1.0),
    "reward.clip_low": (OFF, -1.0, -5.0, -10.0), "reward.clip_high": (OFF, 1.0, 5.0, 10.0), "reward.truncated": (OFF, 0.0, 0.5),
    "advantage.whiten_eps": (1e-8, 1e-6, 1e-5, 1e-4), "advantage.whiten_ddof": (0.0, 1.0),
    "rollout.low": (OFF, 0.0, 0.5), "rollout.high": (OFF, 2.0, 3.0, 5.0), "rollout.clamp": (OFF, 10.0, 20.0), "loss.factor": (1.0,),
    "loss.agg_eps": (0.0, 1e-8), "loss.length_eps": (0.0, 1e-8), "loss.rows_eps": (0.0, 1e-8), "advantage.mean_eps": (0.0, 1e-8),
}  # fmt: skip
"""Numbers that libraries and papers use, by setting."""
INSTEAD = Conventions(grpo_presets, NUMBERS)
TOGETHER = {
    "advantages": ("group.baseline", "group.std", "group.zero_std", "group.ddof", "advantage.whiten"),
    "loss": ("loss.aggregation", "loss.objective", "ratio.level", "kl.place", "kl.estimator", "ratio.old", "loss.mask"),
}
"""Conventions in which libraries differ most, of advantages and of all else: two of them at a time are tried."""
KL_USED, POLICY = "kl_new.used", ("policy_loss", "policy.token_loss", "rollout.counts")
MADE: Mapping[str, tuple[str, ...]] = {
    "advantages": ("advantages",), "ratio": ("ratio",), "token_loss": ("policy.token_loss", "rollout.counts", KL_USED),
    "rollout_weights": ("rollout.counts",), "kl_new": (KL_USED,), "mean.ratio": ("mean.ratio",),
    **{f"clip.{of}": (f"clip.{of}",) for of in ("fraction_low", "fraction_high", "fraction")},
    "kl.mean_new": ("kl.mean_new", KL_USED), "policy_loss": POLICY, "kl_loss": ("adds.kl_loss", KL_USED), "entropy": ("entropy",),
    "total_loss": ("total_loss", *POLICY, KL_USED),
}  # fmt: skip
"""By quantity the rows of the definitions that make it: of the KL those in the losses are fed."""
MOST_PARTS = 8


def tries(
    again: Recompute, batch: GroupedStep, settings: Settings, name: str, given: Given, whole: GroupedStep | None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    again: computes a step anew, for numbers that the file itself gives away. given: results of the file before the quantity.
    whole: all files of its pass, where there are several.
    """
    read = _read(settings, name)
    few, many = _slips(batch, settings, name)
    yield [*few, *_conventions(batch, settings, read), *many]
    told = name in MADE and not name.startswith(
        "clip."
    )  # a share of some tokens has too few bits to tell changes apart
    reads = of_what_is_read(EQUATIONS, settings, MADE[name], _known(name), signs=False) if told else iter(())
    if told:
        yield [
            *of_equations(EQUATIONS, settings, MADE[name], _known(name)),
            *of_trl(settings, MADE[name], _known(name)),
        ]
        yield next(reads)  # what one equation reads otherwise, all of them may
    if name == "total_loss":
        yield list(of_joined(settings))
    if name == "advantages":
        step = whole or batch
        rows = of_other_rows(settings, [*map(int, step.sizes)])
        yield [*of_functions(step, settings), *rows, *_other_groups(step, settings)]
    yield list(INSTEAD.of_presets(settings, read))
    if told:  # few, so that there is time for them before two at a time
        yield from of_other_forms(EQUATIONS, settings, MADE[name], _known(name))
    own = fitted(again, batch, settings, name, given)
    yield [
        *(INSTEAD.changed(settings, {key: value}, fitted=True) for key, value in own),
        *(_constant(again, batch, settings, name, given) if "loss.constant" in read else ()),
    ]
    if name == "advantages":
        yield list(_line(again, whole or batch, settings))  # a file of it may have too few responses
    if told:
        yield from reads
    both = TOGETHER["advantages" if name == "advantages" else "loss"]
    pairs = list(INSTEAD.two_at_a_time(settings, [key for key in both if key in read]))
    yield pairs
    if name == "total_loss":  # a mean in NumPy or torch that no mask is multiplied with
        yield [each._replace(label=f"{each.label}, {PADS}", ways={"mask": "all"}) for each in pairs]
    if told:
        words = (each for each in GRPO if each in read and isinstance(settings[each], str))
        others = [INSTEAD.changed(settings, {key: word}) for key in words for word in INSTEAD.values(settings, key)]
        yield of_half_words(EQUATIONS, others, settings, MADE[name], _known(name))
        yield of_other_words(EQUATIONS, others, settings, MADE[name], _known(name))


def _other_groups(step: GroupedStep, settings: Settings) -> Iterator[Try]:
    """Yields groups of another size, side by side or not, as where prompts and responses are exchanged in a shape."""
    count, prompts = len(step.mask), len(step.sizes)
    for size in (each for each in range(2, count // 2 + 1) if count % each == 0 and each * prompts != count):
        yield Try(f"groups of {size} rows side by side", settings, {"groups": ("rows", count // size)})
        yield Try(f"groups of {size} rows that are interleaved", settings, {"groups": ("interleaved", count // size)})


def _known(name: str) -> tuple[str, ...]:
    return () if name == "advantages" else ("advantages", "loss.left", "group.left", "kl_new.counts")


def _read(settings: Settings, name: str) -> Collection[str]:
    """Returns the settings that a quantity reads; of what no definition makes, all."""
    return EQUATIONS.read(settings, MADE[name], _known(name)) if name in MADE else GRPO


def _conventions(batch: GroupedStep, settings: Settings, read: Collection[str]) -> Iterator[Try]:
    """Yields every setting that is read with its other values: lengths of this file, and of CISPO's cap also 1 + ε."""
    lengths = (batch.mask.shape[1], int(batch.mask.sum(axis=1).max()), 1)
    cap = settings["loss.clip_high"]
    also = {"loss.constant": [*map(float, lengths)], "loss.clip_high": [float(cap) + 1] if cap != OFF else []}
    for key in (each for each in GRPO if each in read):
        for value in INSTEAD.values(settings, key, also.get(key, ())):
            yield INSTEAD.changed(settings, {key: value})
    for low, high in BOUNDS:
        if {low, high} <= {*read} and OFF not in (settings[low], settings[high]):
            yield INSTEAD.changed(settings, {low: OFF, high: OFF})
            if settings[low] != settings[high]:
                yield INSTEAD.changed(settings, {low: settings[high], high: settings[low]})


BOUNDS = (("reward.clip_low", "reward.clip_high"), ("loss.clip_low", "loss.clip_high"), ("rollout.low", "rollout.high"))
"""Settings that are one bound each of the same quantity: without a clip neither is there, and somebody may exchange them."""
PADS = "pads counted as tokens, with a loss of their own"
SLIPS: Mistakes = {
    "advantages": (
        ("the opposite sign", {"factor": {"advantages": -1.0}}),
        ("groups that are interleaved: row i answers prompt i modulo the number of prompts", {"groups": ("interleaved", 0)}),
        ("groups that are rows side by side", {"groups": ("rows", 0)}),
        ("the reference's log-probs and the old ones exchanged",
         {"swap": {"logprobs_ref": "logprobs_old", "logprobs_old": "logprobs_ref"}}),
    ),
    "kl_new": (
        ("the KL the other way round, π_ref over π", {"equations": {"kl_new.free": equation(lambda b: -b("kl_new.free"))}}),
        ("the KL of the old log-probs, not of the new ones", {"swap": {"logprobs_new": "logprobs_old"}}),
        ("the old log-probs in the place of the reference's", {"swap": {"logprobs_ref": "logprobs_old"}}),
        ("the reference's log-probs one position late", {"moved": {"logprobs_ref": 1}}),
        ("the reference's log-probs one position early", {"moved": {"logprobs_ref": -1}}),
    ),
    "ratio": (
        ("the ratio the other way round, old over new", {"inverted": True}),
        ("the generating engine's log-probs in the place of the old ones", {"swap": {"logprobs_old": "logprobs_rollout"}}),
        ("the reference's log-probs in the place of the old ones", {"swap": {"logprobs_old": "logprobs_ref"}}),
        ("the old log-probs one position late", {"moved": {"logprobs_old": 1}}),
        ("the old log-probs one position early", {"moved": {"logprobs_old": -1}}),
        ("the new log-probs one position late", {"moved": {"logprobs_new": 1}}),
        ("the new log-probs one position early", {"moved": {"logprobs_new": -1}}),
    ),
    "rollout_weights": (
        ("the weight the other way round, the engine over the trainer",
         {"swap": {"logprobs_old": "logprobs_rollout", "logprobs_rollout": "logprobs_old"}}),
        ("the new log-probs in the place of the old ones", {"swap": {"logprobs_old": "logprobs_new"}}),
        ("the reference's log-probs in the place of the old ones", {"swap": {"logprobs_old": "logprobs_ref"}}),
        ("the generating engine's log-probs one position late", {"moved": {"logprobs_rollout": 1}}),
        ("the generating engine's log-probs one position early", {"moved": {"logprobs_rollout": -1}}),
    ),
    "loss": (
        ("the opposite sign of the policy loss", {"factor": {"policy_loss": -1.0}}),
        ("the opposite sign of the advantages in the loss", {"factor": {"in_loss": -1.0}}),
        ("the KL taken off the loss, not added", {"factor": {"kl_loss": -1.0}}),
        ("the entropy added to the loss, not taken off", {"factor": {"entropy": -1.0}}),
        ("the entropy bonus of all tokens, not of those that the policy loss counts", {"bonus": "all"}),
        ("the better of both surrogates, not the worse", {"factor": {"in_loss": -1.0, "policy_loss": -1.0}}),
        ("the token behind each response counted, too", {"mask": "one_more"}),
        ("pads counted as tokens, of loss 0", {"padded": True}),
        (PADS, {"mask": "all"}),
        ("the last token of each response left out", {"mask": "no_last"}),
        ("the last token of each response left out, but of those that are as long as can be", {"mask": "no_end"}),
        ("responses left out that are as long as can be, as where those without an end are masked", {"mask": "not_full"}),
        ("the mask one token late, as where it is not shifted as the labels are", {"mask": "later"}),
    ),
}  # fmt: skip
"""Mistakes, by the quantity in which they show first."""


def _slips(batch: GroupedStep, settings: Settings, name: str) -> tuple[list[Try], list[Try]]:
    """Returns mistakes, signs first; and a loss that was averaged in parts, multiplied or divided."""
    alone = ("advantages", "ratio", "kl_new", "rollout_weights")
    of = (name,) if name in alone else ("loss", "ratio", "kl_new")
    few = mistakes_in(SLIPS, of, settings)
    if name in (*alone, "token_loss"):
        return few, []
    own = [multiplied(settings, name, -1.0, f"the opposite sign of {name}")]
    if batch.share is not None:
        own.append(Try("a mean over this file alone, not its share of the larger batch's", settings, {"share": False}))
    rows, many = len(batch.mask), list[Try]()
    for count in (each for each in range(2, min(rows, 64) + 1) if rows % each == 0 or each <= MOST_PARTS):
        if rows % count == 0:
            many.append(Try(f"a mean over {count} microbatches, each averaged by itself", settings, {"parts": count}))
        many.append(multiplied(settings, name, float(count), f"everything multiplied by {count}"))
        many.append(multiplied(settings, name, 1.0 / count, f"everything divided by {count}"))
    return [*own, *few], many


def _line(again: Recompute, step: GroupedStep, settings: Settings) -> Iterator[Try]:
    """Yields the straight line of the right advantages on which those of the file lie, by numbers that somebody may have typed."""
    ours = again(step, settings, {"until": "advantages"}).rows.get("advantages")
    if ours is None or "advantages" not in step.tensors:
        return
    if line := straight_line(ours[step.mask], wide(step.tensors["advantages"], step.mask)[step.mask]):
        yield Try(on_the_line(line, "advantages"), settings, {"line": line}, fitted=True)
