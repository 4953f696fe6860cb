"""Dumps of steps of GRPO and its family: their names, their groups, and what a library's own words say of its conventions."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blueprint.dumps import (
    COUNTED_IN,
    Array,
    DumpKind,
    Given,
    Minibatch,
    Names,
    Needs,
    Place,
    Raw,
    Recognised,
    algorithm_said,
    minibatch_of,
    naming,
    number_said,
    pairs_in,
    preset_of_library,
    preset_said,
    require,
    single_responses,
    understood,
    whole_number,
)
from blueprint.inputs import counted
from blueprint.quoting import unquoted
from blueprint.workbooks.grpo.schema import GRPO, grpo_presets

TOLD = "as the file says"
"""How groups were told that the file itself names."""


@dataclass(frozen=True)
class GroupedStep(Minibatch):
    """A dump of a step of GRPO, or of a part of one: rows are responses, those to a prompt are a group.

    tensors: those of a `Minibatch`, and as far as the file has them `group` (whole numbers, [B], the same for the responses to a
        prompt), `greedy` ([B]), `truncated` ([B], 1 or 0), `ratio`, `token_loss`, `kl_new` and `rollout_weights` ([B, T]).
    each: how many responses a prompt has, as the file says, else None. by: how the groups were told, in words.
    unsure: the share of the tokens, those of most entropy, that the policy loss counts. function_weights: the weights of the reward
        functions, where the file has what each said, `rewards_per_func`, [B, K]. normalised: whether each is normalised within the
        group before they are added up. unknown: what of other files decides which tokens count, and is not there. responses: how
        many the whole rollout has, where the file says it.
    """

    each: int | None = None
    by: str = ""
    unsure: float = 1.0
    function_weights: tuple[float, ...] = ()
    normalised: bool = False
    unknown: str = ""
    responses: int | None = None

    kind = "grpo"

    @property
    def groups(self) -> Array | None:
        """Which group each response is of, [B], from 0 in the order in which they appear; None where nothing tells."""
        if "group" not in self.tensors:
            return None
        _, first, inverse = np.unique(self.tensors["group"], return_index=True, return_inverse=True)
        return np.asarray(first.argsort().argsort()[inverse])

    def some(self, rows: Array) -> GroupedStep:
        """Returns some of the responses, by their places, or where rows, [B], is true."""
        every = np.arange(len(self.mask)) if self.rows is None else np.asarray(self.rows)
        tensors = {name: array[rows] for name, array in self.tensors.items()}
        return replace(self, tensors=tensors, slots=self.slots[rows], first=self.first[rows], rows=every[rows])

    @property
    def sizes(self) -> Array:
        """How many responses of each group are here."""
        groups = self.groups
        return np.bincount(groups) if groups is not None else np.empty(0, np.int64)

    @property
    def lacks(self) -> str:
        """Says what keeps groups from being compared: "" where they are whole."""
        sizes = self.sizes
        if not len(sizes):
            return "group (which prompt each response answers)"
        index = self.tensors.get("row_index")
        if index is not None and "row_index" in self.by and len(np.unique(index)) < len(index):
            return "each row of the rollout once, by which groups are told"
        uneven = self.each is None and self.by == TOLD and not self._divided  # the file itself says which are a group
        if self.responses is not None and len(self.mask) < self.responses and self.each is None:
            return f"the other {self.responses - len(self.mask)} of the {self.responses} responses of the rollout"
        whole = self.each or (2 if uneven else max(2, int(sizes.max())))
        few = int((sizes < whole).sum())
        return f"the other responses of {few} of {len(sizes)} group{'s' * (len(sizes) > 1)}" if few else ""

    @property
    def _divided(self) -> bool:
        """Whether the file says that it is a part of its step."""
        place = self.place or Place()
        return any((each or 1) > 1 for each in (place.world_size, place.minibatches, place.microbatches))

    @property
    def head(self) -> str:
        """Says how many responses and groups there are."""
        sizes, responses = self.sizes, counted(len(self.mask), "response")
        if not len(sizes):
            return f"A step of GRPO: {responses}, in groups that nothing tells."
        many = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
        return f"A step of GRPO: {responses} to {counted(len(sizes), 'prompt')}, {many} to each; groups {self.by}."

    @property
    def facts(self) -> Mapping[str, Any]:
        """Says how many responses and groups there are."""
        return {"responses": len(self.mask), "groups": len(self.sizes), "group_sizes": sorted(set(self.sizes.tolist()))}


class Groups(NamedTuple):
    """A number for each response, [B], the same for those to a prompt; and how that was told, in words."""

    numbers: Array | None
    by: str = ""


def groups_of(
    told: Array | tuple[str, ...] | None, index: Array | None, prompts: Array | None, count: int, each: int | None
) -> Groups:
    """Tells groups by the first of these that there is.

    told: what the file says, numbers or words. index: row of the whole rollout, in which the responses to a prompt stand side by
    side. prompts: tokens, [B, P]. count: responses. each: how many a prompt has.
    """
    if told is not None:
        require(
            len(told) == count,
            f"group: found {counted(len(told), 'entry', 'entries')}, expected {count}, one for each response.",
        )
        numbers = (
            np.asarray(told, np.float64) if isinstance(told, np.ndarray) and told.dtype.kind == "f" else np.zeros(1)
        )
        require(bool(np.isfinite(numbers).all()), "group: found no finite number, expected one for each response.")
        whole = isinstance(told, np.ndarray) and told.dtype.kind in "iu"
        return Groups(np.asarray(told, np.int64) if whole else _numbers_of(str(each).encode() for each in told), TOLD)
    if index is not None and each:
        return Groups(index // each, f"by row_index, {each} side by side")
    # pads stand in front or behind, and are the same for equal prompts
    same = None if prompts is None else _numbers_of(np.ascontiguousarray(each, np.int64).tobytes() for each in prompts)
    if each and count % each == 0:
        blocks = np.arange(count) // each
        if same is None:
            return Groups(blocks, f"{each} rows side by side, as num_generations says")
        if (same.reshape(-1, each) == same[::each, None]).all():
            return Groups(blocks, f"{each} rows with the same prompt side by side")
    return Groups(same, "by equal prompts" if same is not None else "")


def _numbers_of(what: Iterable[bytes]) -> Array:
    """Returns a whole number for each word or prompt, which is the same in every file."""
    return np.array([zlib.crc32(each) for each in what], np.int64)


ESTIMATORS = ("adv_estimator", "advantage_estimator", "advantage.estimator")
SIZES = ("num_generations", "num_generations_per_prompt", "n_samples_per_prompt", "rollout.n", "group_size")
"""What libraries call the number of responses to a prompt."""
WEIGHTS, RANGE = "reward_weights", "reward_clip_range"
SCALE = "loss_scale_factor"
RESPONSES = "rollout_responses"
"""How many responses the whole rollout has, of which the file may have a part."""
LENGTH, UNSURE, AGGREGATION = "max_completion_length", "top_entropy_quantile", "multi_objective_aggregation"
DROPPED = (*SIZES, *ESTIMATORS, WEIGHTS, LENGTH, UNSURE, AGGREGATION)
CUT = "mask_truncated_completions"
SUMMED, NORMALISED = "sum_then_normalize", "normalize_then_sum"
ALGORITHMS = (
    "grpo", "rloo", "dr_grpo", "dapo", "gspo", "cispo", "bnpo", "luspo", "sapo", "vespo", "gdpo", "remax", "opo", "gpg",
    "reinforce", "reinforce_plus_plus", "reinforce_plus_plus_baseline", "reinforce++", "reinforce++_baseline", "reinforce_baseline",
    "flash_reinforce", "group_norm", "grpo_vectorized", "grpo_passk", "rloo_vectorized", "optimal_token_baseline",
    "tir_optimal_token_baseline",
)  # fmt: skip
"""What papers call an algorithm without a critic, and libraries their estimators of advantages and their losses."""
OF_PPO = ("gae", "ppo")
OF_OTHERS = (*OF_PPO, "sft", "fine_tuning", "finetuning", "supervised_fine_tuning")
PAID_IN_LOSS = ("grpo", "dr_grpo", "dapo", "bnpo", "cispo", "gspo", "luspo", "sapo", "vespo")
"""Algorithms of TRL's GRPOTrainer, which adds `beta` times the KL to any of its losses; its RLOOTrainer pays it in the reward."""
BY_STD, DIVIDED = "norm_adv_by_std_in_grpo", ("", "grpo", "grpo_vectorized", "grpo_passk")
"""A switch of verl, and the only algorithms that read it."""


def hyperparameter(metadata: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Returns the first of some hyperparameters that a file says, by its name or the end of a dotted one; None if none."""
    said = metadata.get("hyperparameters")
    flat = {str(key): value for key, value in said.items()} if isinstance(said, dict) else {}
    flat |= {f"algo.advantage.{key}": value for key, value in advantage_said(said).items()}
    found = (flat[key] for name in names for key in flat if key == name or key.endswith(f".{name}"))
    return next((each for each in found if each is not None), None)


def unsure_of(metadata: Mapping[str, Any]) -> float:
    """Returns the share of the tokens, those of most entropy, that the policy loss counts, as TRL's `top_entropy_quantile` says it.

    Raises MinibatchError for what is no share.
    """
    found = hyperparameter(metadata, (UNSURE,))
    share = 1.0 if found is None else number_said(found, UNSURE) if type(found) in (int, float) else nan
    require(0 <= share <= 1, f"hyperparameter {UNSURE}: found {unquoted(str(found))}, expected a number from 0 to 1.")
    return share


def is_normalised(said: Mapping[str, Any]) -> bool:
    """Whether each reward function is normalised within the group before they are added up (TRL 1.16.0, GDPO).

    Raises MinibatchError for an aggregation that there is not.
    """
    word = said.get(AGGREGATION, SUMMED)
    require(
        word in (SUMMED, NORMALISED, None),
        f"hyperparameter {AGGREGATION}: found {unquoted(str(word))}, expected {SUMMED} or {NORMALISED}.",
    )
    return bool(word == NORMALISED)


def algorithm_of(metadata: Mapping[str, Any]) -> str:
    """Returns the algorithm that a file says, "" where it says none, or one of another kind of dumps."""
    plain = algorithm_said(metadata) or str(hyperparameter(metadata, ESTIMATORS) or "").lower().replace("-", "_")
    return "" if plain in OF_OTHERS else plain


Settings = dict[str, float | str]

WHITENED: Settings = {
    "advantage.whiten": "tokens", "advantage.whiten_form": "at_least", "advantage.whiten_eps": 1e-8, "advantage.whiten_ddof": 0.0,
}  # fmt: skip
"""(A − mean)/√max(var, 1e-8) over the tokens of all experiences, the variance divided by N."""
OPENRLHF_ESTIMATORS: Mapping[str, Settings] = {
    "group_norm": {},
    "rloo": {"group.baseline": "others", "group.std": "none"},
    "dr_grpo": {"group.std": "none"},
    "reinforce_baseline": {"group.std": "none", **WHITENED},
    "reinforce": {"group.baseline": "none", "group.std": "none", **WHITENED},
    "flash_reinforce": {"group.baseline": "batch", "group.std": "none"},
}
"""By OpenRLHF's estimator (`--algo.advantage.estimator`), what differs from the preset, which is group_norm."""
STATISTICS = {"ratio": "ratio", "binary_kl": "binary_kl", "tv": "difference"}


def advantage_said(said: Any) -> Mapping[str, Any]:
    """Returns what hyperparameters say under `algo.advantage`, nested as OpenRLHF's own arguments are; {} where nothing."""
    algorithm = said.get("algo") if isinstance(said, dict) else None
    found = algorithm.get("advantage") if isinstance(algorithm, dict) else None
    return found if isinstance(found, dict) else {}


def openrlhf_in_our_words(said: Mapping[str, Any]) -> dict[str, Any]:
    """Returns hyperparameters with those of `algo.advantage` under our own keys.

    Estimators but for reinforce set gamma to 1. With policy_loss_type = gspo the loss is a mean over responses, and its log-ratio
    is not clamped. A KL whose coefficient is 0 is none. A gap to the engine may weigh tokens or leave them out.

    Read in OpenRLHF 0.11.2: openrlhf/trainer/ppo_utils/experience_maker.py, compute_advantages_and_returns(), and
    openrlhf/models/loss.py, PolicyLoss.
    """
    advantage = advantage_said(said)
    estimator = str(advantage.get("estimator"))
    if estimator not in OPENRLHF_ESTIMATORS:
        return dict(said)
    actor, kl = _section(said, "actor"), _section(said["algo"], "kl")
    found: dict[str, Any] = dict(OPENRLHF_ESTIMATORS[estimator])
    found["gamma"] = advantage.get("gamma", 1.0) if estimator == "reinforce" else 1.0
    if advantage.get("no_std_norm") and "advantage.whiten" in found:
        found["advantage.whiten_form"] = "centre"
    if said.get("kl_ctl") == 0:
        kl.pop("use_loss", None)
        found["kl.place"] = "none"
    corrected = advantage.get("is_correction_level", "off") != "off"
    if actor.get("policy_loss_type") == "gspo":
        for name in ("policy_loss_type", "loss_agg_mode"):
            actor.pop(name, None)
        found |= {"ratio.level": "rollout" if corrected else "response", "ratio.clamp": "off"}
        found |= {
            "loss.aggregation": "seq_mean_token_mean",
            "loss.length_eps": 1e-8,
            "loss.entropy_aggregation": "token_mean",
        }
    elif corrected:
        found |= _correction(advantage)
    return {**said, "actor": actor, "algo": {"kl": kl}, **found}


def _section(said: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Returns the settings under a name; none where there is nothing. Raises MinibatchError for what are no settings."""
    found = said.get(name) or {}
    require(isinstance(found, dict), f"hyperparameter {name}: found {unquoted(str(found))}, expected settings by name.")
    return dict(found)


def _correction(advantage: Mapping[str, Any]) -> dict[str, Any]:
    """Returns how tokens are weighted by the gap to the engine; without the bounds, which older hooks did not write, only where."""
    bounds = advantage.get("is_correction_threshold") or (0.5, 5.0)
    return {
        "rollout.level": "mean" if advantage["is_correction_level"] == "seq" else "token",
        "rollout.mode": "truncate" if advantage.get("is_correction_mode") == "clip" else "filter",
        "rollout.statistic": STATISTICS.get(str(advantage.get("is_correction_gating")), "ratio"),
        "rollout.low": bounds[0],
        "rollout.high": bounds[1],
    }


def _check_range(found: Any) -> None:
    """Raises MinibatchError for a range of rewards that is none."""
    both = found if isinstance(found, list | tuple) else []
    ends = [number_said(each, RANGE) for each in both]
    holds = found is None or (len(ends) == 2 and ends[0] <= ends[1])
    require(holds, f"hyperparameter {RANGE}: found {unquoted(str(found))}, expected two numbers, the lower one first.")


def settings_said(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the hyperparameters, with those that follow from several of them under our own keys.

    TRL 1.16.0: `dr_grpo` divides by max_completion_length; CISPO's cap is epsilon_high itself, not 1 + ε, and has no floor.
    """
    said = metadata.get("hyperparameters")
    if not isinstance(said, dict):
        return {} if said is None else said
    _check_range(said.get(RANGE))
    found = {key: value for key, value in openrlhf_in_our_words(said).items() if key not in DROPPED}
    if said.get("loss_type") == "dr_grpo":
        constant = metadata.get(SCALE) or said.get(LENGTH)
        found |= {"loss.constant": number_said(constant, SCALE)} if constant else {}
    if said.get("loss_type") == "cispo":
        cap: Any = next((said[name] for name in ("epsilon_high", "epsilon") if said.get(name) is not None), 0.2)
        for name in ("epsilon", "epsilon_low", "epsilon_high"):
            found.pop(name, None)
        found |= {"loss.clip_low": "off", "loss.clip_high": number_said(cap, "epsilon_high") - 1}
    if said.get("beta") is not None and not said.get("loss_type") and algorithm_of(metadata) in PAID_IN_LOSS:
        found.setdefault("kl.place", "loss")
    if algorithm_of(metadata) not in DIVIDED:
        found = {key: value for key, value in found.items() if not key.endswith(BY_STD)}
    if is_normalised(said):  # over the whole batch, whatever scale_rewards is
        found.pop("scale_rewards", None)
        found |= {"group.baseline": "batch", "group.std": "batch"}
    if str(said.get("loss_agg_mode", "")).endswith("-norm") and metadata.get(SCALE):
        found["loss.constant"] = number_said(metadata[SCALE], SCALE)
    return found


NAMES = Names(Path(__file__).with_suffix(".csv"), GRPO)
GROUP = ("group", "uid", "prompt_idx", "group_index", "group_ids")
OWN = ("group", "greedy", "rewards_per_func", "truncated")
"""Tensors that a step of PPO has not."""


NEEDS: Needs = {
    "advantages": (("scores",), ("rewards_per_func",)),
    "ratio, approximate KL": (("logprobs_old", "logprobs_new"),),
    "policy loss, clip fractions": (("logprobs_new", "advantages"),),
    "KL to the reference": (("logprobs_new", "logprobs_ref"),),
    "mean entropy": (("entropy",),),
    "gap to the generating engine": (("logprobs_old", "logprobs_rollout"),),
}
"""What is computed of what, as far as groups are whole."""


def is_grouped(raw: Raw) -> bool:
    """Whether a file is a step of GRPO or a relative: it says so, has groups, or says how many responses a prompt has.

    Pairs of a chosen and a rejected response are none, nor are single ones that are good or bad.
    """
    if pairs_in(raw.tensors) or single_responses(raw):
        return False
    names = raw.metadata.get("names")
    told = {*raw.tensors, *raw.texts, *(map(str, names.values()) if isinstance(names, dict) else ())}
    preset = str(raw.metadata.get("preset", ""))
    return bool(
        algorithm_of(raw.metadata)
        or preset in set(grpo_presets().presets) - {"default", "openrlhf", "nemo_rl"}
        or told & set(GROUP)
        or (hyperparameter(raw.metadata, SIZES) is not None and hyperparameter(raw.metadata, ESTIMATORS) not in OF_PPO)
    )


def step_of(raw: Raw, path: Path) -> GroupedStep:
    """Makes a step of a file as it was read.

    Raises:
        MinibatchError: as `read_dump`; an unknown preset, or groups that are not one number for each response.
    """
    with naming(path):
        read = understood(raw, NAMES, grpo_presets, GRPO, settings_said(raw.metadata), (RESPONSES,), GROUP)
        found = _with_old(read.found)
        own = preset_of_library(NAMES, found.library, algorithm_of(raw.metadata) or "grpo")
        # a part of a step may have no token that counts, where responses that were cut off do not (TRL, DAPO)
        part = any(raw.metadata.get(key) is not None for key in COUNTED_IN)
        empty = part and hyperparameter(raw.metadata, (CUT,)) is True
        batch = minibatch_of(raw, found, read.named, str(path), critic=False, empty=empty)
        # by what verl's `-norm` divides the sum of a response where no loss_scale_factor says it: the columns of the batch
        norm = str(hyperparameter(raw.metadata, ("loss_agg_mode",)) or "").endswith("-norm")
        width = {"loss.constant": float(batch.mask.shape[1])} if norm else {}
        batch = replace(
            batch,
            preset=preset_said(raw.metadata, grpo_presets, own),
            hyperparameters={**width, **batch.hyperparameters},
            notes=(*batch.notes, *read.unknown),
        )
        return _grouped(raw, found, batch)


def _with_old(found: Recognised) -> Recognised:
    """Takes the new log-probs for the old ones where a file has none, as TRL does with one update for each batch."""
    if "logprobs_old" in found.called or "logprobs_new" not in found.called:
        return found
    found.notes.append(
        f"no old log-probs: {unquoted(found.called['logprobs_new'])} stand for them, so every ratio is 1"
    )
    return replace(found, called={**found.called, "logprobs_old": found.called["logprobs_new"]})


def _grouped(raw: Raw, found: Recognised, batch: Minibatch) -> GroupedStep:
    """Adds groups and what else a step of GRPO has; rows that are left out are left out of these, too."""
    given = Given(raw, found)
    keep = batch.rows if batch.rows is not None else np.arange(len(batch.mask))
    tensors = dict(batch.tensors) | {name: np.asarray(given[name])[keep] for name in OWN if name in given}
    said, each, of = (
        raw.metadata.get("hyperparameters") or {},
        hyperparameter(raw.metadata, SIZES),
        raw.metadata.get(RESPONSES),
    )
    require(isinstance(said, dict), f"metadata, hyperparameters: found {said!r:.40}, expected settings by name.")
    least = 2 if found.library == "trl" else 1
    count = None if each is None else whole_number(each, SIZES[0], least, "hyperparameter")
    words = next((raw.texts[name] for name in GROUP if name in raw.texts), None)  # as verl's uid are
    in_words = None if words is None else tuple(words[at] for at in keep if at < len(words))
    told = tensors.pop("group", in_words)
    groups = groups_of(told, tensors.get("row_index"), tensors.get("prompt_ids"), len(keep), count)
    if groups.numbers is not None:
        tensors["group"] = groups.numbers
    function_weights: tuple[float, ...] = ()
    if (functions := tensors.get("rewards_per_func")) is not None:
        each_counts = _weights(functions, said.get(WEIGHTS))
        if "scores" not in tensors:
            # as TRL has it (nansum): a function that does not judge counts 0; one that none judges has no score
            none = np.asarray(np.isnan(functions).all(axis=1))
            with np.errstate(over="ignore", invalid="ignore"):
                tensors["scores"] = np.where(none, np.nan, np.nansum(functions * each_counts, axis=1))
            _check_scores(tensors["scores"], none)
        function_weights = tuple(each_counts.tolist())
    dtypes = {**batch.dtypes, **{name: array.dtype.name for name, array in tensors.items() if name not in batch.dtypes}}
    known = {field.name: getattr(batch, field.name) for field in fields(batch)}
    known |= {"tensors": tensors, "dtypes": dtypes, "called": {**found.called, **batch.called}}
    return GroupedStep(
        **known,
        each=count,
        by=groups.by,
        unsure=unsure_of(raw.metadata),
        function_weights=function_weights,
        normalised=bool(function_weights) and is_normalised(said),
        responses=None if of is None else whole_number(of, RESPONSES, 1),
    )


def _weights(functions: Array, weights: Any) -> Array:
    """Returns the weight of each reward function, [K]; 1 where the file says none."""
    require(functions.shape[1] > 0, "rewards_per_func: found no column, expected one for each reward function.")
    said: list[Any] = [] if weights is None else np.asarray(weights, dtype=object).ravel().tolist()
    each = np.ones(functions.shape[1]) if weights is None else np.array([number_said(one, WEIGHTS) for one in said])
    require(
        len(each) == functions.shape[1],
        f"reward_weights: found {counted(len(each), 'weight')}, expected {functions.shape[1]}, one for each column of "
        "rewards_per_func.",
    )
    require(bool(np.isfinite(each).all()), f"reward_weights: found {unquoted(str(said))}, expected finite numbers.")
    return each


def _check_scores(scores: Array, none: Array) -> None:
    """Raises MinibatchError where somebody judged a response, and its reward is no finite number. none: where nobody did."""
    wrong = np.flatnonzero(~np.isfinite(scores) & ~none)
    where = f"rewards_per_func, row {wrong[0]}" if len(wrong) else ""
    says = f"{where}: with reward_weights it comes to {scores[wrong[:1]].sum()}, expected a finite number."
    require(not len(wrong), says)


DUMPS = DumpKind("a step of GRPO", grpo_presets, step_of, is_grouped, NAMES, NEEDS, ALGORITHMS)
