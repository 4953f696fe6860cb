"""How often verify names a mistake that nobody has listed: one-change mutants of TRL's formulas, made by a program from a seed.

    python -m tests.verifying.mutants grpo 97 30

Kinds are dpo, rm, grpo, rloo, ppo and classic, whose trainers are CleanRL's and Stable-Baselines3's. The formulas are those of
`tests/hooks`. Of a mutant that changes a logged number it is asked what verify names first. That is right if it explains two
other batches, too, with other numbers, lengths and more pairs, on which the same mutant ran. Half of the mutants run on a real
batch, half on one that is drawn: in the real ones every chosen response has two tokens, and what is divided by 2 there is
divided by their length, too. What becomes of a mutant:

first: the cause that is named first is right, and no other one gives the same numbers
together: it is one of two to five that give the same numbers in every logged value of every file, and are said to
said once: so it is, and stands for others that come to the same for any numbers, which verify found by computing them for others
crowd: it is one of more than five; listed: it is named, behind others that give other numbers
none: nothing is named; wrong first: something is named, and nothing of it is right
"""

from __future__ import annotations

import ast
import copy
import random
import re
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from blueprint.dumps import MinibatchError
from blueprint.verifying import StepVerdict, trials, verify_step
from tests.hooks import dpo_formulas, ppo_formulas, reward_formulas, rollout_formulas, trl_formulas
from tests.hooks.rollout_formulas import drawn as rollout_of
from tests.hooks.test_planted import dumped, second_pass, whole
from tests.hooks.trl_formulas import Array, Tensors, Written

PAIRS = (
    ("a", "c"), ("right", "wrong"), ("policy", "reference"), ("chosen", "rejected"), ("good", "bad"),
    ("per_token_logps", "ref_per_token_logps"), ("ref_chosen_logps", "ref_rejected_logps"), ("chosen_rewards", "rejected_rewards"),
)  # fmt: skip
OF_PAIRS = {one: two for pair in PAIRS for one, two in (pair, pair[::-1])}
OF_GROUPS = {
    "capped": "clipped", "clipped": "capped", "ratio": "clipped", "r": "of", "epsilon_low": "epsilon_high",
    "epsilon_high": "epsilon_low", "per_token_logps": "old_per_token_logps", "old_per_token_logps": "ref_per_token_logps",
    "ref_per_token_logps": "old_per_token_logps",
}  # fmt: skip


OF_ROLLOUTS = {
    "gamma": "gae_lambda", "gae_lambda": "gamma", "advantages": "returns", "returns": "advantages", "old": "new", "new": "old",
    "values": "old_values", "old_values": "values", "first": "second", "second": "first", "free": "near", "near": "free",
    "held": "values", "ratio": "log_ratio", "log_ratio": "ratio", "vf_coef": "ent_coef", "ent_coef": "vf_coef", "later": "delta",
}  # fmt: skip


class Kind(NamedTuple):
    """A trainer: its module, the functions that are changed, its own and imported ones, and the runs on whose files it is run.

    other: by name or key, which stands in its place by mistake; numbers: names of numbers, which are doubled or of the other sign.
    files: how those of a run are read, or a rollout of classic PPO. trainer: what the module calls it.
    """

    module: types.ModuleType
    functions: tuple[str, ...]
    runs: tuple[str, ...]
    other: Mapping[str, str] = OF_PAIRS
    numbers: Collection[str] = frozenset(
        {*OF_PAIRS, "h", "beta", "eps", "margin", "mask", "apart", "logps", "lengths", "each", "scores"}
    )
    files: Callable[[str], Any] = whole
    trainer: str = "TRL"


GROUPS = Kind(
    trl_formulas, ("weighted", "advantages", "ratio", "objective", "kl", "averaged", "all_advantages", "logged"), (), OF_GROUPS,
    frozenset({"rewards", "grouped", "centred", "found", "apart", "ratio", "advantages", "new", "capped", "clipped", "above",
               "sums", "loss", "to_reference", "mask"}), second_pass,
)  # fmt: skip
OF_PPO: Mapping[str, Mapping[str, Any]] = {
    "plain": {}, "k3": {"kl_estimator": "k3", "kl_coef": 0.1}, "whitened": {"whiten_rewards": True},
}  # fmt: skip
"""By run of PPO what it has otherwise; in all of them γ is no 1, so that to forget it changes a number."""
OTHERS_OF_PPO = {
    "logprobs": "ref_logprobs", "ref_logprobs": "logprobs", "new_logprobs": "ref_logprobs", "values": "returns", "vpred": "values",
    "returns": "values", "advantages": "returns", "rewards": "values", "mask": "mask_p1", "mask_p1": "mask", "gamma": "lam",
    "lam": "gamma", "vf_losses1": "vf_losses2", "vf_losses2": "vf_losses1", "pg_losses": "pg_losses2", "pg_losses2": "pg_losses",
    "new": "old", "old": "new", "mean": "var", "pg_loss": "vf_loss", "vf_loss": "pg_loss", "cliprange": "cliprange_value",
    "cliprange_value": "cliprange",
}  # fmt: skip


def second_pass_of_ppo(run: str) -> list[Written]:
    """Reads the second pass over a rollout of TRL's PPO, under settings of a run."""
    use = {"gamma": 0.97, "vf_coef": 0.3, "cliprange": 0.25, "cliprange_value": 0.3, **OF_PPO[run]}
    return [each._replace(settings={**each.settings, **use}) for each in second_pass("trl_1_12/float32")]


PPO = Kind(
    ppo_formulas,
    ("masked_mean", "masked_var", "masked_whiten", "kl", "rewarded", "whitened_rewards", "gae", "targets", "whitened",
     "value_losses", "value_loss", "ratio", "policy_losses", "policy_loss", "total", "approximate_kl", "rollout", "logged"),
    tuple(OF_PPO), OTHERS_OF_PPO,
    frozenset({*OTHERS_OF_PPO, "logr", "kl", "scores", "delta", "nextvalues", "lastgaelam", "ratio", "logprobs_diff", "whitened",
               "var", "variance", "centered_values", "lengths"}), second_pass_of_ppo,
)  # fmt: skip
OF_REWARDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "centred": ("trl_reward/plain", {"center_rewards_coefficient": 0.1}),
    "centred_margin": ("trl_reward/margin", {"center_rewards_coefficient": 0.5}),
}
"""By run of a reward model beside the real ones the files of which, and what it has otherwise."""


def whole_of_rewards(run: str) -> list[Written]:
    """Reads the files of a reward model's step, under settings of a run."""
    files, use = OF_REWARDS.get(run, (run, {}))
    return [each._replace(settings={**each.settings, **use}) for each in whole(files)]


KINDS = {
    "ppo": PPO,
    "dpo": Kind(dpo_formulas, ("log_sigmoid", "mask_of", "sums", "rewards", "ahead", "pair_loss", "likelihood", "weight",
                               "averaged", "written"), tuple(f"trl_dpo/{run}" for run in (
                                   "sigmoid", "ipo", "robust", "norm", "sft", "alike", "shared", "weighted"))),
    "rm": Kind(reward_formulas, ("log_sigmoid", "ahead", "averaged", "last_tokens", "pair_loss", "centred", "plain_margin",
                                 "written"), ("trl_reward/plain", "trl_reward/margin", "trl_reward/pad_eos", *OF_REWARDS),
               OF_PAIRS | {"apart": "margin"},
               frozenset({*OF_PAIRS, "x", "apart", "margin", "each", "scores", "kept", "loss"}), whole_of_rewards),
    "grpo": GROUPS._replace(runs=("trl_grpo/grpo", "trl_grpo/dr_grpo", "trl_grpo/dapo", "trl_grpo/sequence", "trl_grpo/batch")),
    "rloo": GROUPS._replace(runs=("trl_rloo/kl", "trl_rloo/normalized")),
    "classic": Kind(rollout_formulas, ("estimated", "normalised", "explained", "cleanrl", "sb3"), ("cleanrl", "sb3"), OF_ROLLOUTS,
                    frozenset({*OF_ROLLOUTS, "going", "ahead", "clip", "clip_vf", "policy_loss", "pg_loss", "value_loss", "v_loss",
                               "entropy_loss"}), lambda run: rollout_of(run, 0), "TRAINER"),
}  # fmt: skip
OPERATORS: tuple[type[ast.operator], ...] = (ast.Add, ast.Sub, ast.Mult, ast.Div)
CALLS: Mapping[str, tuple[str, ...]] = {
    "maximum": ("minimum",), "minimum": ("maximum",), "exp": ("log1p", "expm1"), "log1p": ("exp",), "abs": ("sign",),
    "sum": ("mean", "max"), "mean": ("sum", "max", "min"), "min": ("max", "mean"), "max": ("min", "mean"), "prod": ("sum",),
    "std": ("var",), "argmax": ("argmin",), "nansum": ("nanmean",),
}  # fmt: skip
FORGOTTEN = ("exp", "log1p", "abs", "log")
COMPARED: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Gt: (ast.GtE, ast.Lt), ast.Lt: (ast.LtE, ast.Gt), ast.GtE: (ast.Gt, ast.LtE), ast.LtE: (ast.Lt, ast.GtE),
}  # fmt: skip
APART = {"logprobs": ("new_logprobs", "ref_logprobs"), "values": ("vpred",)}
"""By tensor of PPO those that are about as far from it as before, where it is another."""
MASKS = ("np.ones_like(mask)", "mask * (mask.cumsum(1) > 1)", "mask * (mask[:, ::-1].cumsum(1)[:, ::-1] > 1)",
         "np.maximum(mask, np.pad(mask, ((0, 0), (1, 0)))[:, :-1])")  # fmt: skip
"""What stands for a mask: everywhere, without the first and without the last token, one longer."""


def sites(tree: ast.AST, kind: Kind) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields every part of the functions that is changed, and what stands there then, each change once."""
    of = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name in kind.functions]
    for node in (inner for each in of for line in each.body for inner in ast.walk(line)):
        if isinstance(node, ast.expr):
            yield from {ast.unparse(other): (node, other) for other in others(node, kind)}.values()


def others(node: ast.expr, kind: Kind) -> Iterator[ast.expr]:
    """Yields what may stand for a part of a formula: an operation, operand, function, number, axis, index, tensor, mask."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS if other is not type(op))
            yield from (left, right)
            yield from [ast.BinOp(right, op, left)] if isinstance(op, ast.Sub | ast.Div) else []
        case ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.Call(ast.Attribute(_, _, _), _, _):
            yield from _calls(node)
        case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
            yield from (ast.Compare(left, [other()], [right]) for other in COMPARED[type(op)])
        case ast.Subscript(value, ast.Slice(None, ast.expr() as end, None), ctx):
            yield ast.Subscript(value, ast.Slice(end, None, None), ctx)
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            numbers = dict.fromkeys((value * 2, value + 1, value / 2 if value != 1 else 0.5, value - 1, 0, -value))
            yield from (ast.Constant(other) for other in numbers if other != value)
        case ast.Constant(str() as key) if key in kind.other:
            yield ast.Constant(kind.other[key])
        case ast.Name(name, ast.Load()) if name in kind.numbers:
            yield from _names(node, kind)


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    """Yields another function, none at all, and other axes."""
    assert isinstance(node.func, ast.Attribute)
    value, name = node.func.value, node.func.attr
    for other in CALLS.get(name, ()):
        yield ast.Call(ast.Attribute(value, other, ast.Load()), node.args, node.keywords)
    if name in FORGOTTEN and len(node.args) == 1:
        yield node.args[0]
    if name == "clip":
        yield value
    if name == "where":
        yield ast.Call(node.func, [node.args[0], *node.args[:0:-1]], node.keywords)
    if name in CALLS and [*map(type, node.args)] == [ast.Constant]:  # an axis
        yield ast.Call(node.func, [ast.Constant(1 - node.args[0].value)], node.keywords)  # type: ignore[attr-defined]
        yield ast.Call(node.func, [], node.keywords)


def _names(node: ast.Name, kind: Kind) -> Iterator[ast.expr]:
    """Yields a tensor doubled, of the other sign, of the row or the column before, its mask otherwise, and another tensor."""
    name = node.id
    yield ast.BinOp(ast.Constant(2.0), ast.Mult(), copy.deepcopy(node))
    yield ast.UnaryOp(ast.USub(), copy.deepcopy(node))
    yield from [ast.Name(kind.other[name], ast.Load())] if name in kind.other else []
    moved = () if name in ("beta", "eps") else (f"np.roll({name}, 1, 0)", f"np.roll({name}, 1, 1)")
    for said in (*moved, *(MASKS if name == "mask" else ())):
        yield ast.parse(said, mode="eval").body


def parsed(kind: Kind) -> ast.AST:
    """Parses a trainer's module; functions that it imports from another one stand in it as its own, where they are changed."""
    tree = _source(kind.module)
    for line in [each for each in tree.body if isinstance(each, ast.ImportFrom)]:
        for name in [each for each in line.names if each.name in kind.functions]:
            line.names.remove(name)
            tree.body.insert(tree.body.index(line) + 1, _function(sys.modules[str(line.module)], name.name))
    return tree


def _source(module: types.ModuleType) -> ast.Module:
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))


def _function(module: types.ModuleType, name: str) -> ast.FunctionDef:
    return next(each for each in _source(module).body if isinstance(each, ast.FunctionDef) and each.name == name)


def placed(kind: Kind) -> list[str]:
    """Lists all mutants of a trainer: line, what stands there, and what stands there then."""
    return [
        f"line {node.lineno}: {ast.unparse(node)} -> {ast.unparse(other)}" for node, other in sites(parsed(kind), kind)
    ]


def mutant(kind: Kind, at: int) -> tuple[Any, str]:
    """Returns a trainer with one part of its formulas changed, and which."""
    tree = parsed(kind)
    node, other = [*sites(tree, kind)][at]
    said = placed(kind)[at]

    class Put(ast.NodeTransformer):
        def visit(self, each: ast.AST) -> Any:
            return other if each is node else self.generic_visit(each)

    made = sys.modules["mutant"] = types.ModuleType("mutant")
    exec(compile(ast.fix_missing_locations(Put().visit(tree)), "mutant", "exec"), made.__dict__)
    return getattr(made, kind.trainer), said


def varied(files: Any, seed: int) -> Any:
    """Returns files with other log-probs, scores and margins; of pairs three times as many, with responses of other lengths; for a
    rollout of classic PPO another one.

    Of four pairs an accuracy tells very little.
    """
    if not isinstance(files, list):
        return rollout_of(files.library, 1 + seed)
    drawn, found = np.random.default_rng(seed), []
    for file in files:
        t = dict(file.tensors)
        if "new_logprobs" in t:
            found.append(file._replace(tensors=t | _of_ppo(t, drawn)))
        elif "old_per_token_logps" in t:
            found.append(file._replace(tensors=t | _of_groups(t, drawn)))
        else:
            t = {name: _more(each, len(t["attention_mask"])) for name, each in t.items()}
            found.append(file._replace(tensors=t | _of_pairs(t, file.settings, drawn)))
    return found


def _of_ppo(t: Tensors, drawn: np.random.Generator) -> dict[str, Array]:
    """Other policies and critics are about as far from the old ones as before; log-probs behind the last tokens stay."""
    found = {
        name: t[name] * drawn.uniform(0.5, 1.5, t[name].shape)
        for name in ("logprobs", "values", "scores", "entropy")
        if name in t
    }
    for name, others in APART.items():
        for other in others:
            apart = (t[other] - t[name]) * drawn.uniform(0.5, 1.5, t[name].shape)
            found[other] = found[name] + apart if name == "values" else np.minimum(found[name] + apart, 0)
    for name in ("logprobs", *APART["logprobs"]):
        found[name] = np.where(t["padding_mask"] > 0, t[name], found[name])
    return found


def _of_groups(t: Tensors, drawn: np.random.Generator) -> dict[str, Array]:
    """Other policies are about as far from this one as before."""
    names = [name for name in ("per_token_logps", "ref_per_token_logps", "rewards_per_func") if name in t]
    moved = {name: t[name] * drawn.uniform(0.5, 1.5, t[name].shape) for name in names}
    new = t["per_token_logps"]
    for name in ("old_per_token_logps", "ref_per_token_logps"):
        apart = (t.get(name, new) - new) * drawn.uniform(0.5, 1.5, new.shape)
        moved |= {name: np.minimum(moved["per_token_logps"] + apart, 0)} if name in t else {}
    return moved


def _more(each: Array, responses: int) -> Array:
    """Returns a tensor of pairs, or of their responses, chosen ones first, of three times as many."""
    halves = np.split(each, 2) if len(each) == responses else [each]
    return np.concatenate([half for half in halves for _ in range(3)])


def _of_pairs(t: Tensors, use: Mapping[str, Any], drawn: np.random.Generator) -> dict[str, Array]:
    """Texts end elsewhere, each by itself; every token has another log-prob or score."""
    there = t.get("completion_mask", t["attention_mask"])
    columns, first = np.arange(there.shape[1]), there.argmax(1)[:, None]
    end = drawn.integers(first + 2, there.shape[1] + 1)
    made = {"attention_mask": np.where(columns < end, np.maximum(t["attention_mask"], columns >= first), 0.0)}
    if "completion_mask" in t:
        made["completion_mask"] = ((columns >= first) & (columns < end)) * 1.0
        made["per_token_logps"] = -drawn.exponential(2.0, t["per_token_logps"].shape)
        near = made["per_token_logps"] + drawn.normal(0, 0.5, made["per_token_logps"].shape)
        made |= {"ref_per_token_logps": np.minimum(near, 0)} if "ref_per_token_logps" in t else {}
        made |= {"log_sum_sq_probs": -drawn.exponential(1.0, near.shape)} if "log_sum_sq_probs" in t else {}
        sums = [name for name in ("ref_chosen_logps", "ref_rejected_logps") if "ref_per_token_logps" not in t]
        made |= {name: t[name] * drawn.uniform(0.5, 1.5, t[name].shape) for name in sums}
    else:
        pad, ids = use["pad_token_id"], t["input_ids"]
        tokens = np.where(ids == pad, drawn.integers(2, 9, ids.shape), ids)
        made["input_ids"] = np.where(made["attention_mask"] > 0, tokens, pad)
        made["position_scores"] = drawn.normal(0, 1, t["position_scores"].shape)
    made |= {"margin": drawn.uniform(0.1, 1.0, t["margin"].shape)} if "margin" in t else {}
    return {name: np.float32(each).astype(float) for name, each in made.items()}


class CannotRunError(Exception):
    """A mutant that computes nothing."""


def verified(files: Any, trainer: Any) -> StepVerdict:
    """Verifies what a trainer makes of files. Raises CannotRunError where it makes nothing."""
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        try:
            of_pass = isinstance(files, list)
            paths = dumped(files, trainer, Path(folder)) if of_pass else [trainer.written(files, Path(folder))]
        except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, NameError) as error:
            raise CannotRunError from error
        return verify_step(paths)


def of_these(asked: Collection[str], files: Any, trainer: Any) -> tuple[StepVerdict, bool]:
    """Verifies another batch, for which only the causes are tried that were named of the first: all others take long.

    Also tells whether any was: where a deviation has few bits, few causes are.
    """
    search, tried = trials.causes_of, list[Any]()

    def some(evidence: Any, tries: Any, name: str, most: int | None = None) -> Any:
        halves = [half for said in asked for half in (said, *said.split(", and "), FITTED.sub(": ", said))]

        def of(stage: Any) -> list[Any]:
            found = [each for each in stage if any(is_of(half, each.label) for half in halves)]
            tried.extend(found)
            return found

        return search(evidence, map(of, tries), name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trials, "causes_of", some)
        return verified(files, trainer), bool(tried)


FITTED = re.compile(r": −?[\d.e-]+·")
"""The number by which a term too many is multiplied: it follows from what the term comes to without it, which is tried first."""


def is_of(said: str, label: str) -> bool:
    """Tells whether a cause is the one of that label, perhaps of one quantity or of some files alone."""
    rest = said.removeprefix(label)
    return said.startswith(label) and (
        not rest or rest.startswith((", in ", ", and what agrees", " in that file", " in these"))
    )


class Result(NamedTuple):
    """What becomes of a mutant, in a word; and the cause that is named first."""

    word: str
    cause: str


OTHERS, MOST_DRAWN, EQUALS = 2, 5, 5
"""Other batches by which a cause is judged, of so many that are drawn; and causes that may be named together."""
UNSEEN = ("no number is another", "no other batch shows it")


def judged(files: Any, trainer: Any, seed: int) -> Result:
    """Verifies files that a trainer wrote which does something otherwise, and judges what is named by other batches."""
    found = verified(files, trainer)
    if found.first is None or found.first.line.says != "DIFFERS":
        return Result(UNSEEN[0], "")
    if not found.causes:
        return Result("none", found.first.name)
    again, asked = list[set[str]](), [each.said for each in found.causes]
    for number in range(MOST_DRAWN):
        if len(again) < OTHERS:
            other, tried = of_these(asked, varied(files, 1000 * (seed + 1) + number), trainer)
            known = other.first is not None and (tried or other.first.name != found.first.name)
            again += [{each.said for each in other.causes}] if known else []
    if not again:
        return Result(UNSEEN[1], "")
    right = {each.said for each in found.causes if all(each.said in those for those in again)}
    first = found.causes[0]
    equal = [first.said, *first.same]
    if right & {*equal}:
        word = "first" if len(equal) == 1 else "together" if len(equal) <= EQUALS else "crowd"
        word = "said once" if first.stands_for and word != "crowd" else word
    else:
        word = "listed" if right else "wrong first"
    return Result(word, f"{first.said}{f' (and {len(equal) - 1} equal)' * (len(equal) > 1)}")


def named(kind: Kind, at: int, run: str, vary: bool = False) -> tuple[str, Result] | None:
    """Returns which mutant it is, and whether its cause is named; None where it cannot run, or changes no logged number."""
    try:
        trainer, said = mutant(kind, at)
        files = kind.files(run)
        found = judged(varied(files, at) if vary else files, trainer, at)
    except (CannotRunError, MinibatchError, NameError, TypeError):
        return None
    return None if found.word in UNSEEN else (said, found)


def main(name: str, seed: int, count: int) -> None:
    """Prints what becomes of each mutant, and how many of each there are."""
    kind, drawn, found = KINDS[name], random.Random(seed), Counter[str]()
    every = len(placed(kind))
    for at in drawn.sample(range(every), every):
        run, vary = drawn.choice(kind.runs), drawn.random() < 0.5
        if found.total() < count and (result := named(kind, at, run, vary)):
            found[result[1].word] += 1
            print(f"{result[1].word}: {run}{' varied' * vary}, {result[0]}: {result[1].cause}", flush=True)
    print(dict(found), f"of {found.total()} mutants, seed {seed}, {every} places", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
