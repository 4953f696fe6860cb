"""verify on steps of GRPO that are made here, in numpy: groups however told, parts of a step, extremes, and what is planted."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from blueprint.dumps import MinibatchError, Raw, read_dump, save
from blueprint.verifying import StepVerdict, VerifyOptions, text_of_step, verify_dumps, verify_one, verify_step
from blueprint.verifying.compare import TOO_COARSE, Compared, Line
from blueprint.verifying.report import why
from blueprint.workbooks.grpo.dumps import DUMPS, GroupedStep, settings_said

Array = npt.NDArray[np.float64]
WITHOUT_CAUSES = VerifyOptions(causes=False)
SETTINGS = {"group.std": "group", "group.eps": 1e-4, "loss.aggregation": "token_mean", "kl.place": "none"}


def advantages(scores: Array, groups: npt.NDArray[Any], eps: float = 1e-4) -> Array:
    """(r − mean)/(std + ε) of each group."""
    found = np.zeros_like(scores)
    for group in np.unique(groups):
        r = scores[groups == group]
        found[groups == group] = (r - r.mean()) / ((r.std(ddof=1) if len(r) > 1 else 0) + eps)
    return found


def loss(tensors: dict[str, Any]) -> float:
    """−min(ρA, clip(ρ)A), a mean over all tokens."""
    mask = tensors["response_mask"] > 0
    ratio = np.exp(np.where(mask, tensors["logprobs_new"] - tensors["logprobs_old"], 0))
    A = tensors["advantages"][:, None]
    return float(-np.minimum(ratio * A, ratio.clip(0.8, 1.2) * A)[mask].sum() / max(1, mask.sum()))


def step(groups: list[int], length: int = 5, spread: float = 0.3, seed: int = 0) -> dict[str, Any]:
    """Returns the tensors of a step with a response for each entry, of 1 to `length` tokens."""
    draw = np.random.default_rng(seed)
    count, which = len(groups), np.array(groups)
    mask = np.arange(length) < draw.integers(1, length + 1, count)[:, None]
    old = np.where(mask, -draw.uniform(0.1, 3, mask.shape), 0)
    new = np.where(mask, np.minimum(old + draw.normal(0, spread, mask.shape), 0), 0)
    scores = draw.integers(0, 5, count) / 4
    made = {"response_mask": mask.astype(np.int64), "logprobs_old": old, "logprobs_new": new, "scores": scores,
            "group": which}  # fmt: skip
    return made | {"advantages": advantages(scores, which)}


def dump(tensors: dict[str, Any], logged: float | None = None, **metadata: Any) -> GroupedStep:
    raw = Raw()
    for name, array in tensors.items():
        raw.add(name, np.asarray(array))
    settings = SETTINGS | metadata.pop("hyperparameters", {})
    said = {"algorithm": "grpo", "preset": "default", "hyperparameters": settings, "optimizer_step": 1}
    raw.metadata = said | ({"logged": {"total_loss": loss(tensors) if logged is None else logged}}) | metadata
    found = DUMPS.read(raw, Path(metadata.get("path", "step.npz")))
    assert isinstance(found, GroupedStep)
    return found


def says(found: GroupedStep) -> dict[str, str]:
    return {line.compared.name: line.says for line in verify_one(found).verdict.lines}


CLEAN = {"advantages": "agrees", "total_loss": "agrees"}
GROUPS = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("groups", [GROUPS, [2, 0, 1] * 4, [0, 0, 1, 1], [5, 5, 5, 5], [0, 0, 0, 1, 1, 1, 1, 2, 2]])
def test_groups_of_any_size_and_order_are_told(groups: list[int]) -> None:
    assert says(dump(step(groups))) == CLEAN


def test_a_smaller_group_is_whole_unless_the_file_is_a_part_of_its_step() -> None:
    tensors, lacking = step([0, 0, 0, 1, 1]), "the other responses of 1 of 2 groups"
    for place in ({"optimizer_step": None}, {}, {"world_size": 1, "minibatches": 1, "microbatches": 1}):
        assert dump(tensors, **place).lacks == "", place
    for part in ("world_size", "minibatches", "microbatches"):
        assert dump(tensors, **{part: 2}).lacks == lacking, part


def test_groups_are_told_by_the_place_in_the_rollout_by_words_and_by_prompts() -> None:
    tensors = step(GROUPS)
    del tensors["group"]
    shuffled = np.random.default_rng(1).permutation(12)
    mixed = {name: array[shuffled] for name, array in tensors.items()}
    by_place = dump(mixed | {"row_index": shuffled}, hyperparameters={"num_generations": 4})
    by_prompt = dump(mixed | {"prompt_ids": np.array(GROUPS)[shuffled][:, None] + [[3, 4]]})
    side_by_side = dump(tensors, hyperparameters={"num_generations": 4})
    assert [each.by.partition(",")[0] for each in (by_place, by_prompt)] == ["by row_index", "by equal prompts"]
    assert [says(each) for each in (by_place, by_prompt, side_by_side)] == [CLEAN] * 3
    untold = verify_one(dump(tensors)).verdict
    assert "group" in untold.uncompared["advantages"]
    assert untold.agrees  # the loss is computed from the file's own advantages


def test_what_is_said_of_the_deviation_holds_where_the_estimator_divides_by_one() -> None:
    """verl hands norm_adv_by_std_in_grpo to every estimator, and the others leave it unread."""
    said = {"norm_adv_by_std_in_grpo": False, "clip_ratio": 0.2}
    for algorithm, kept in (("grpo", said), ("grpo_passk", said), ("rloo", {"clip_ratio": 0.2})):
        assert settings_said({"algorithm": algorithm, "hyperparameters": said}) == kept, algorithm


def test_a_saved_file_is_a_step_of_grpo_by_what_it_says(tmp_path: Path) -> None:
    tensors = {name: np.asarray(array) for name, array in step(GROUPS).items()}
    save(tmp_path / "a.npz", tensors, {"algorithm": "grpo"})
    assert read_dump(tmp_path / "a.npz").kind == "grpo"
    del tensors["group"]
    save(tmp_path / "b.npz", tensors, {"library": "trl"})
    assert read_dump(tmp_path / "b.npz").kind == "rlhf_ppo"


EXTREME: dict[str, Any] = {
    "one token each": {"length": 1}, "ratios of e^20 and beyond": {"spread": 40.0}, "old is new": {"spread": 0.0},
}  # fmt: skip


@pytest.mark.parametrize("how", EXTREME)
def test_extremes_agree(how: str) -> None:
    tensors = step(GROUPS, **EXTREME[how])
    assert says(dump(tensors)) == CLEAN


def test_equal_rewards_empty_responses_and_half_precision_are_not_accused() -> None:
    equal = step(GROUPS) | {"scores": np.full(12, 0.1), "advantages": np.zeros(12)}
    noisy = equal | {
        "scores": np.full(12, 0.1, np.float32),
        "advantages": np.full(12, 6e-5, np.float32),
    }  # mean off by 6e-9
    empty = step(GROUPS)
    empty["response_mask"][3] = 0
    small = step(GROUPS)
    small |= {name: small[name].astype(np.float16) for name in ("logprobs_old", "logprobs_new")}
    assert all(verify_one(dump(each)).verdict.agrees for each in (equal, noisy, empty, small))


def parts_of(tensors: dict[str, Any], count: int, shared: bool = True) -> list[GroupedStep]:
    """Returns a step whose rows are dealt out to files, as a library that shuffles them does; each logs its share of the loss."""
    tokens, found = int(tensors["response_mask"].sum()), []
    for part in range(count):
        mine = {name: array[part::count] for name, array in tensors.items()}
        share = loss(mine) * (mine["response_mask"].sum() / tokens if shared else 1)
        place = {"epoch": 0, "epochs": 1, "minibatch": 0, "minibatches": 1, "microbatch": part, "microbatches": count}
        hyper = {"num_generations": 4}
        found.append(dump(mine, share, batch_num_tokens=tokens, path=f"{part}.npz", hyperparameters=hyper, **place))
    return found


def by_name(found: StepVerdict) -> dict[str, str]:
    return {line.name: line.line.says for line in found.lines if not line.of_forwards}


def test_groups_that_are_dealt_out_to_several_files_are_put_together() -> None:
    files = parts_of(step(GROUPS), 4)
    together = verify_dumps(files)
    assert by_name(together) == CLEAN
    assert not together.lacking
    alone = verify_one(files[0]).verdict
    assert "the other responses" in alone.uncompared["advantages"]
    assert alone.agrees


def test_a_mean_over_each_file_in_place_of_its_share_is_named() -> None:
    found = verify_dumps(parts_of(step(GROUPS), 3, shared=False))
    assert found.first is not None
    assert found.first.name == "total_loss"
    assert "a mean over this file alone, not its share of the larger batch's" in [each.said for each in found.causes]


PLANTED: dict[str, Any] = {
    "the opposite sign": lambda t: {"advantages": -t["advantages"]},
    "group.eps = 0.033": lambda t: {"advantages": advantages(t["scores"], t["group"], 0.033)},
    "groups that are interleaved": lambda t: {"advantages": advantages(t["scores"], np.arange(12) % 3)},
    "group.std = none": lambda t: {"advantages": t["scores"] - np.repeat(t["scores"].reshape(3, 4).mean(1), 4)},
    "group.ddof = 0": lambda t: {"advantages": np.concatenate(
        [(r - r.mean()) / (r.std() + 1e-4) for r in t["scores"].reshape(3, 4)])},
}  # fmt: skip


@pytest.mark.parametrize("cause", PLANTED)
def test_mistakes_in_advantages_are_named(cause: str) -> None:
    tensors = step(GROUPS)
    wrong = tensors | PLANTED[cause](tensors)
    found = verify_one(dump(wrong)).verdict
    assert found.first is not None
    assert found.first.compared.name == "advantages"
    assert any(each.said.startswith(cause) for each in found.causes)


def in_microbatches(tensors: dict[str, Any]) -> float:
    return float(np.mean([loss({name: array[at : at + 4] for name, array in tensors.items()}) for at in (0, 4, 8)]))


LOSSES: dict[str, Any] = {
    "the opposite sign": lambda t: -loss(t),
    "a mean over 3 microbatches": in_microbatches,
    "the ratio the other way round": lambda t: loss(t | {"logprobs_old": t["logprobs_new"], "logprobs_new": t["logprobs_old"]}),
    "pads counted as tokens, of loss 0": lambda t: loss(t) * t["response_mask"].mean(),
    "everything divided by 4": lambda t: loss(t) / 4,
}  # fmt: skip


@pytest.mark.parametrize("cause", LOSSES)
def test_mistakes_in_the_loss_are_named(cause: str) -> None:
    tensors = step(GROUPS)
    found = verify_one(dump(tensors, LOSSES[cause](tensors))).verdict
    assert found.first is not None
    assert found.first.compared.name == "total_loss"
    assert any(each.said.startswith(cause) for each in found.causes)


def test_a_kl_coefficient_that_nobody_uses_is_fitted() -> None:
    tensors = step(GROUPS)
    mask, draw = tensors["response_mask"] > 0, np.random.default_rng(5)
    tensors["logprobs_ref"] = np.where(
        mask, np.minimum(tensors["logprobs_new"] + draw.normal(0, 0.2, mask.shape), 0), 0
    )
    x = tensors["logprobs_new"] - tensors["logprobs_ref"]
    total = loss(tensors) + 0.0123 * float((np.exp(-x) - 1 + x)[mask].mean())
    found = verify_one(dump(tensors, total, hyperparameters={"kl.place": "loss", "kl.coef": 0.04})).verdict
    assert [each.said for each in found.causes] == ["kl.coef = 0.0123"]


def test_advantages_whitened_over_more_than_the_file_holds_are_left_open_and_a_turned_sign_is_not() -> None:
    tensors = step(GROUPS)
    raw = tensors["scores"] - np.repeat(tensors["scores"].reshape(3, 4).mean(1), 4)
    hyper = {"advantage.whiten": "tokens", "group.std": "none"}
    for sign, expected in ((1.0, "needs the others"), (-1.0, "DIFFERS")):
        wide = tensors | {"advantages": sign * (raw - 0.07) / 0.9}
        verdict = verify_one(dump(wide, 0.0, hyperparameters=hyper), WITHOUT_CAUSES).verdict
        found = {line.compared.name: line.says for line in verdict.lines}
        assert found["advantages"] == expected
        assert ("advantages" in verdict.left_open) == (sign > 0)


ALONE = {"rank": 0, "world_size": 1, "minibatch": 0, "minibatches": 1, "microbatch": 0, "microbatches": 1}


@pytest.mark.parametrize("part", [{}, {"world_size": 2}, {"minibatches": 2}, {"microbatches": 2}], ids=str)
def test_a_file_that_says_it_is_its_whole_step_leaves_nothing_open(part: dict[str, int]) -> None:
    tensors = step(GROUPS)
    raw = tensors["scores"] - np.repeat(tensors["scores"].reshape(3, 4).mean(1), 4)
    wide = tensors | {"advantages": (raw - 0.07) / 0.9}
    hyper = {"advantage.whiten": "tokens", "group.std": "none"}
    verdict = verify_one(dump(wide, 0.0, hyperparameters=hyper, **(ALONE | part)), WITHOUT_CAUSES).verdict
    assert ("advantages" in verdict.left_open) == bool(part)


def test_what_is_no_group_or_weight_is_refused() -> None:
    tensors = step(GROUPS)
    with pytest.raises(MinibatchError, match="need the same rows and columns"):
        dump(tensors | {"group": np.arange(5)})
    functions = {name: each for name, each in tensors.items() if name != "scores"}
    with pytest.raises(MinibatchError, match="found 3 weights, expected 2"):
        dump(functions | {"rewards_per_func": np.ones((12, 2))}, 0.0, hyperparameters={"reward_weights": [1, 1, 1]})
    with pytest.raises(MinibatchError, match="preset"):
        dump(tensors, preset="grpp")


@pytest.mark.parametrize(
    ("changed", "settings", "says"),
    [
        ({"group": np.full(12, np.nan)}, {}, "group: found no finite number, expected one for each response"),
        ({}, {"reward_clip_range": [1, -1]}, r"reward_clip_range: found \[1, -1\], expected two numbers, the lower one first"),
        ({}, {"reward_clip_range": "wide"}, "reward_clip_range: found wide, expected two numbers, the lower one first"),
        ({}, {"top_entropy_quantile": 10**400}, "top_entropy_quantile: found 1000.*, expected a number"),
        ({}, {"algo": {"advantage": {"estimator": "rloo"}}, "actor": 3}, "actor: found 3, expected settings by name"),
        ({"rewards_per_func": np.full((12, 1), 1e200)}, {"reward_weights": [1e200]}, "rewards_per_func, row 0: .* comes to inf"),
        ({"rewards_per_func": np.ones((12, 1))}, {"reward_weights": [np.nan]}, "reward_weights: found .*nan.*, expected finite"),
    ],
    ids=["groups", "range", "no range", "share", "section", "too large", "weight"],
)  # fmt: skip
def test_what_means_nothing_is_refused(changed: dict[str, Any], settings: dict[str, Any], says: str) -> None:
    tensors = {
        name: each for name, each in step(GROUPS).items() if name != "scores" or "rewards_per_func" not in changed
    }
    with pytest.raises(MinibatchError, match=says):
        dump(tensors | changed, 0.0, hyperparameters=settings)


def test_a_group_of_one_is_none_in_trl() -> None:
    tensors = {name: each for name, each in step(GROUPS).items() if name != "group"}
    with pytest.raises(
        MinibatchError, match="hyperparameter num_generations: found 1, expected a whole number, 2 or more"
    ):
        dump(tensors, 0.0, library="trl", hyperparameters={"num_generations": 1})


def test_a_row_that_stands_twice_makes_no_groups() -> None:
    tensors = {name: each for name, each in step(GROUPS).items() if name != "group"}
    twice = np.array([0, *range(11)])
    found = dump(tensors | {"row_index": twice}, 0.0, hyperparameters={"num_generations": 4})
    assert found.lacks == "each row of the rollout once, by which groups are told"


def test_what_was_compared_nowhere_is_not_said_to_agree() -> None:
    found = Compared("advantages", "advantages", "", cells=0, deviating=0, largest=0.0, allowed=1.0, dtype="float32")
    assert found.too_coarse
    assert why(Line("advantages", found, TOO_COARSE, {})) == "rounding in float32 decides every number of it"


def test_what_a_step_logged_and_nobody_can_compare_is_said(tmp_path: Path) -> None:
    """Two files of three responses, where each prompt has four; the second by other conventions."""
    for at, coef in enumerate((0.0, 0.1)):
        tensors = {name: each[:3] for name, each in step(GROUPS).items() if name != "group"}
        tensors["row_index"] = np.arange(3) + 3 * at
        said = {"algorithm": "grpo", "preset": "default", "hyperparameters": {"num_generations": 4, "kl.coef": coef},
                "logged": {"total_loss": 0.0}, "microbatch": at, "microbatches": 2, "step": 0}  # fmt: skip
        save(tmp_path / f"{at}.npz", {name: np.asarray(each) for name, each in tensors.items()}, said)
    told = text_of_step(verify_step(sorted(tmp_path.iterdir()), WITHOUT_CAUSES))
    assert "advantages: not compared, it takes the other responses of" in told
    assert "Note: 1.npz by other conventions than 0.npz: Preset default" in told
    assert "kl.coef = 0.1 (the file says so" in told
