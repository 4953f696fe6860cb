"""Which number of a step of GRPO went wrong first, all being computed again; and the causes that are tried."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from blueprint.dumps import Array
from blueprint.inputs.catalogue import OFF
from blueprint.misconceptions import equation
from blueprint.verifying import (
    Compared,
    Conventions,
    Effects,
    Kept,
    Mistakes,
    Moved,
    Otherwise,
    Place,
    Quantity,
    Seen,
    Settings,
    StepVerdict,
    Try,
    Verdict,
    VerifyOptions,
    Watch,
    Way,
    agreeing,
    amid,
    before_first_update,
    beside_the_trainer,
    coefficient,
    computed,
    judged,
    laid,
    mistakes_in,
    multiplied,
    of_equations,
    of_other_axes,
    of_what_is_read,
    on_the_line,
    otherwise_by,
    places_of,
    straight_line,
    totals_of,
    two_at_a_time,
    typed,
    verify_parts,
)
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.schema import GRPO, grpo_presets
from blueprint.workbooks.grpo.verifying.feeding import EQUATIONS, NOTHING, PLAIN, Given, Replayed, Whole, whole_of
from blueprint.workbooks.grpo.verifying.joined import of_joined
from blueprint.workbooks.grpo.verifying.judge import ALL, Judge, Straight, given_of, left_open, said_of, with_least
from blueprint.workbooks.grpo.verifying.recompute import recompute
from blueprint.workbooks.grpo.verifying.spelled import of_other_rows, of_trl


def fitted(
    batch: GroupedStep, settings: Settings, name: str, given: Given, whole: Whole | None
) -> Iterator[tuple[str, float]]:
    """Yields settings with the number that a quantity comes to lie nearest to."""
    if name == "advantages" and settings["group.std"] != "none":
        yield from (("group.eps", eps) for eps in typed(_eps(batch, settings, whole)))
    if name == "total_loss" and settings["kl.place"] == "loss":

        def off(coef: float) -> float:
            found = recompute(batch, {**settings, "kl.coef": coef}, given=given, until=name, whole=whole)
            return found.numbers.get(name, np.nan) - batch.logged[name]

        yield from (("kl.coef", coef) for coef in typed(coefficient(off)))


def _eps(batch: GroupedStep, settings: Settings, whole: Whole | None) -> float:
    """Returns ε of A = left/(spread + ε): 1/A is straight in ε, so that two of them give the line."""
    none, one = (_reciprocal(batch, {**settings, "group.eps": value}, whole) for value in (0.0, 1.0))
    theirs = np.asarray(batch.tensors["advantages"], np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        eps = (1 / theirs - none) / (one - none)
    some = eps[batch.mask & np.isfinite(eps)]
    return float(np.median(some)) if len(some) else np.nan


def _reciprocal(batch: GroupedStep, settings: Settings, whole: Whole | None) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / recompute(batch, settings, until="advantages", whole=whole).rows["advantages"])


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
    batch: GroupedStep, settings: Settings, name: str, given: Given = NOTHING, whole: Whole | None = None
) -> Iterator[list[Try]]:
    """Yields what may have been done otherwise where a quantity deviates, in stages, the likelier first.

    given, whole: as `recompute` takes them, for numbers that the file itself gives away.
    """
    read = _read(settings, name)
    few, many = _slips(batch, settings, name)
    yield [*few, *_conventions(batch, settings, read), *many]
    if name in MADE and not name.startswith("clip."):  # a share of some tokens has too few bits to tell changes apart
        yield [
            *of_equations(EQUATIONS, settings, MADE[name], _known(name)),
            *of_trl(settings, MADE[name], _known(name)),
        ]
    if name == "total_loss":
        yield list(of_joined(settings))
    if name == "advantages":
        yield list(of_other_rows(settings))
    yield list(INSTEAD.of_presets(settings, read))
    own = fitted(batch, settings, name, given, whole)
    yield [INSTEAD.changed(settings, {key: value}, fitted=True) for key, value in own]
    if name == "advantages":
        yield list(_line(batch, settings, whole))
    if name in MADE and not name.startswith("clip."):
        yield from of_what_is_read(EQUATIONS, settings, MADE[name], _known(name))
        yield list(of_other_axes(EQUATIONS, settings, MADE[name], _known(name)))
    both = TOGETHER["advantages" if name == "advantages" else "loss"]
    yield list(INSTEAD.two_at_a_time(settings, [key for key in both if key in read]))


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


SLIPS: Mistakes = {
    "advantages": (
        ("the opposite sign", {"factor": {"advantages": -1.0}}),
        ("groups that are interleaved: row i answers prompt i modulo the number of prompts", {"groups": "interleaved"}),
        ("groups that are rows side by side", {"groups": "rows"}),
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
        ("the better of both surrogates, not the worse", {"factor": {"in_loss": -1.0, "policy_loss": -1.0}}),
        ("the token behind each response counted, too", {"mask": "one_more"}),
        ("pads counted as tokens, of loss 0", {"padded": True}),
        ("pads counted as tokens, with a loss of their own", {"mask": "all"}),
        ("the last token of each response left out", {"mask": "no_last"}),
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


def _line(batch: GroupedStep, settings: Settings, whole: Whole | None) -> Iterator[Try]:
    """Yields the straight line of the right advantages on which those of the file lie, by numbers that somebody may have typed."""
    step = whole.step if whole else batch  # a file of it may have too few responses
    ours = recompute(step, settings, until="advantages", sized=False).rows.get("advantages")
    if ours is None or "advantages" not in step.tensors:
        return
    theirs = np.asarray(step.tensors["advantages"], np.float64)
    theirs = np.broadcast_to(theirs[:, None] if theirs.ndim == 1 else theirs, ours.shape)[step.mask]
    if line := straight_line(ours[step.mask], theirs):
        yield Try(on_the_line(line, "advantages"), settings, {"line": line}, fitted=True)


TOKENS = 1 << 23
"""So many tokens are gone through for causes at most: all of them on a small step, the likeliest on a large one."""
OVERHEAD, FEWEST = 1 << 12, 32


class StepTrial(NamedTuple):
    """A step, and how it is computed again and compared."""

    batch: GroupedStep
    settings: Settings
    judge: Judge
    given: Given
    whole: Whole | None = None
    device: str = "cpu"
    quantities: Mapping[str, Quantity] = ALL
    kept: Kept = Kept()
    effects: Effects = Effects()
    of_step: dict[str, Array] = {}  # noqa: RUF012
    moved: Moved = []  # noqa: RUF012

    @property
    def most(self) -> int:
        """How many causes there is time for."""
        return max(FEWEST, TOKENS // max(OVERHEAD, self.batch.mask.size))

    def called(self, name: str) -> str:
        """Returns what the file calls a quantity."""
        return self.judge.called(name)

    def compared(self, each: Try | None = None, given: Given | None = None, until: str = "") -> dict[str, Compared]:
        """Compares what the file logged with what comes out, as the settings say or with something done otherwise."""
        if each is None and given is None:
            return self._straight()
        settings, ways = (each.settings, each.ways) if each else (self.settings, PLAIN)
        asked = (given or {}, until, self.whole, self.device)
        if not self.kept.made:
            recompute(self.batch, self.settings, {"kept": self.kept}, *asked, sized=False)
        if "place" in ways:
            return self.judge.compared(self._placed(ways["place"], ways["of"], given or {}, until), until)
        kept = {**ways, "kept": self.kept}
        found = computed(ways, lambda: recompute(self.batch, settings, kept, *asked, sized=False))
        if found is None:
            return {}
        if each and until and not each.bits:
            self.effects.note(until, each, self._sums(found, until))
        return self.judge.compared(found, until)

    def tries(self, name: str) -> Iterator[list[Try]]:
        """Yields what may have been done otherwise where a quantity deviates."""
        before = {key: value for key, value in self.given.items() if key in ALL[name].after}
        stages = tries(self.batch, self.settings, name, before, self.whole)
        return amid(stages, lambda: self._places(name, before), lambda: self._pairs(name, before))

    def otherwise(self, each: Try, name: str, alone: bool) -> Otherwise | None:
        """Returns what a cause comes to where the file's numbers are others, by itself; alone: whether only of the quantity."""

        def made(batch: GroupedStep, kept: Kept, one: Try | None = None) -> Replayed:
            settings, ways = (self.settings, PLAIN) if one is None else (one.settings, one.ways)
            until = name if alone and one else ""
            return recompute(batch, settings, {**ways, "kept": kept}, until=until, device=self.device, sized=False)

        return otherwise_by(made, each, name, [name] if alone else ALL, (self.batch, Kept()), self.moved)

    def _again(self, given: Given, until: str) -> Replayed:
        ways = {"kept": self.kept}
        return recompute(self.batch, self.settings, ways, given, until, self.whole, self.device, sized=False)

    def _places(self, name: str, given: Given) -> list[Try]:
        """Returns where the numbers of a row may have come from, as far as every cell says so."""
        found = self._again(given, name)
        if name not in self.batch.tensors or name not in found.rows:  # the entropy is a row that is given, and a number
            return []
        places = places_of(self._seen(name, found), self.judge.compared(found, name)[name].allowed)
        return [Try(f"{self.called(name)} that are {e.said}", self.settings, {"place": e, "of": name}) for e in places]

    def _placed(self, place: Place, name: str, given: Given, until: str) -> Replayed:
        """Computes the step again with a row laid out in another way; of advantages what follows from these."""
        row = laid(place, self._seen(name, self._again(given, name)))
        found = self._again({**given, name: row} if name == "advantages" else given, until)
        return replace(found, rows={**found.rows, name: row})

    def _seen(self, name: str, found: Replayed) -> Seen:
        mask, ours = self.batch.mask, found.rows[name]
        theirs = np.nan_to_num(np.asarray(self.batch.tensors[name], np.float64))
        theirs = np.broadcast_to(theirs[:, None] if theirs.ndim == 1 else theirs, mask.shape)
        others = {self.called(each): row for each, row in found.rows.items() if each != name}
        if self.whole is not None and name not in self.of_step:
            whole = recompute(self.whole.step, self.settings, until=name, device=self.device, sized=False)
            self.of_step[name] = whole.rows.get(name, np.empty((0, 0)))
        logged = None if self.whole is None else self.whole.step.tensors.get(name)
        return Seen(name, theirs, ours, mask, self.batch.groups, others, self.of_step.get(name), logged)

    def _pairs(self, name: str, given: Given) -> list[Try]:
        """Returns two changes at a time that may explain a quantity together."""
        found = self._again(given, name)
        compared, straight = self.judge.compared(found, name).get(name), self._sums(found, name)
        if compared is None or straight is None:
            return []
        logged = (
            totals_of(self.batch.logged[name]) if name in self.batch.logged else self._sums_of(self.batch.tensors[name])
        )
        allowed = compared.allowed * compared.cells**0.5
        both = two_at_a_time(self.effects, name, self.settings, straight, logged, allowed, [*found.numbers.values()])
        return agreeing(both, self.most, lambda each: self.compared(each, given, name).get(name))

    def _sums(self, found: Replayed, name: str) -> Array | None:
        if name in found.numbers:
            return totals_of(found.numbers[name])
        return self._sums_of(found.rows[name]) if name in found.rows else None

    def _sums_of(self, row: Array) -> Array:
        mask, row = self.batch.mask, np.asarray(row, np.float64)
        return totals_of(np.broadcast_to(row[:, None] if row.ndim == 1 else row, mask.shape), mask)

    def _straight(self) -> dict[str, Compared]:
        """Compares with what was computed from the inputs alone; where rounding of rewards that are alike makes advantages of it,
        and these agree, the losses are made of the file's own."""
        found = self.judge.compared(self.judge.straight)
        first = found.get("advantages")
        if first is None or not first.agrees or not self.judge.rounding_rules:
            return found
        of_theirs = recompute(self.batch, self.settings, given=self.given, whole=self.whole, device=self.device)
        judge = Judge(self.batch, of_theirs, self.judge.factor)  # of ours, which may be 0, the losses have no size
        return {**judge.compared(of_theirs), "advantages": first}


def trial_of(
    batch: GroupedStep,
    settings: Settings,
    options: VerifyOptions,
    whole: Whole | None,
    steps: Sequence[GroupedStep] = (),
) -> StepTrial:
    """Computes a step again under settings, to be compared with what its file logged.

    whole: the step of which it is a part, where its other files are there; steps: all files.
    """
    batch, settings = with_least(batch, told(batch, settings), steps or [batch])
    found = recompute(batch, settings, whole=whole, device=options.device)
    judge = Judge(batch, found, options.tolerance)
    made = batch, settings, judge, given_of(batch), whole, options.device
    return StepTrial(*made, kept=Kept(), effects=Effects(), of_step={}, moved=[])


def verdict_of(trial: StepTrial, preset: str, explain: bool) -> Verdict:
    """Compares a step computed again with everything that its file logged; explain: whether to look for a cause."""
    batch, found, open_ = trial.batch, trial.judge.straight, dict[str, Straight]()

    def left(straight: Mapping[str, Compared]) -> Mapping[str, Straight]:
        open_.update(left_open(trial.judge, found, straight, trial.settings, trial.whole))
        return open_

    def likely(name: str) -> Iterator[list[Try]]:
        return trial.tries(name) if explain else iter(())

    lines, first, causes = judged(trial, likely, left, trial.most)
    early, engine = before_first_update(batch), beside_the_trainer(batch)
    notes = (*batch.notes, *early.notes, *engine.notes, *_notes(batch, found))
    every = (*early.lines, *engine.lines, *lines)
    return Verdict(
        preset,
        found,
        every,
        trial.judge.uncompared(),
        first or early.differs or engine.differs,
        causes.matches,
        notes,
        causes,
        open_,
        early,
        engine,
    )


def told(batch: GroupedStep, settings: Settings) -> Settings:
    """Returns settings with what the file itself says of them: without old log-probs, old is new."""
    found = dict(settings)
    if batch.called.get("logprobs_old") == batch.called.get("logprobs_new") and "logprobs_new" in batch.called:
        found["ratio.old"] = "new" if found["ratio.old"] == "old" else found["ratio.old"]
    return found


def _notes(batch: GroupedStep, found: Replayed) -> Iterator[str]:
    yield from filter(None, [said_of(batch, found.settings)])
    for name in found.started:
        yield f"{name} stand in the file and are taken from there: {found.lacks[name]} missing"
    for name, value in batch.logged.items():
        if name not in ALL:
            yield f"{name} = {value:g} was logged, but is nothing that is compared"


def verify_steps(
    batches: Sequence[GroupedStep], options: VerifyOptions, watch: Watch, not_read: Mapping[Path, str]
) -> StepVerdict:
    """Verifies the files of one step: each with its own losses, and advantages over the groups of all of them."""
    return verify_parts(Way(ALL, _trial_in, verdict_of), batches, options, watch, not_read)


def _trial_in(
    batch: GroupedStep, settings: Settings, options: VerifyOptions, steps: Sequence[GroupedStep]
) -> StepTrial:
    return trial_of(batch, settings, options, whole_of(batch, steps), steps)
