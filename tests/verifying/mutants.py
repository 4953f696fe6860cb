"""How often verify names a mistake that nobody has listed: one-change mutants of TRL's formulas, made by a program from a seed.

    python -m tests.verifying.mutants grpo 97 30

Kinds are dpo, rm, grpo, rloo and classic, whose trainers are CleanRL's and Stable-Baselines3's. The formulas are those of
`tests/hooks`. Of a mutant that changes a logged number it is asked what verify names first. That is right if it explains another
batch, which verify has not seen, too.
"""

from __future__ import annotations

import ast
import copy
import random
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from blueprint.verifying import StepVerdict, verify_step
from tests.hooks import dpo_formulas, reward_formulas, rollout_formulas, trl_formulas
from tests.hooks.rollout_formulas import drawn
from tests.hooks.test_planted import dumped, second_pass, whole
from tests.hooks.trl_formulas import Written

PAIRS = (("a", "c"), ("right", "wrong"), ("policy", "reference"), ("chosen", "rejected"), ("good", "bad"))
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
    """A trainer: its module, the functions that are changed, and the runs on whose files it is run.

    other: by name or key, which stands in its place by mistake; numbers: names of numbers, which are doubled or of the other sign.
    files: how those of a run are read. trainer: what the module calls it. classic: whether it writes rollouts of classic PPO.
    """

    module: types.ModuleType
    functions: tuple[str, ...]
    runs: tuple[str, ...]
    other: Mapping[str, str] = OF_PAIRS
    numbers: Collection[str] = frozenset({*OF_PAIRS, "h", "beta", "eps", "margin", "mask", "apart"})
    files: Callable[[str], Any] = whole
    trainer: str = "TRL"
    classic: bool = False


GROUPS = Kind(
    trl_formulas, ("weighted", "advantages", "ratio", "objective", "kl", "averaged", "all_advantages", "logged"), (), OF_GROUPS,
    frozenset({"rewards", "grouped", "centred", "found", "apart", "ratio", "advantages", "new", "capped", "clipped", "above",
               "sums", "loss", "to_reference", "mask"}), second_pass,
)  # fmt: skip
KINDS = {
    "dpo": Kind(dpo_formulas, ("log_sigmoid", "sums", "rewards", "pair_loss", "likelihood", "averaged", "written"),
                ("trl_dpo/sigmoid", "trl_dpo/ipo", "trl_dpo/robust", "trl_dpo/norm")),
    "rm": Kind(reward_formulas, ("pair_loss", "centred", "plain_margin", "written"), ("trl_reward/plain", "trl_reward/margin")),
    "grpo": GROUPS._replace(runs=("trl_grpo/grpo", "trl_grpo/dr_grpo", "trl_grpo/dapo", "trl_grpo/sequence", "trl_grpo/batch")),
    "rloo": GROUPS._replace(runs=("trl_rloo/kl", "trl_rloo/normalized")),
    "classic": Kind(rollout_formulas, ("estimated", "normalised", "explained", "cleanrl", "sb3"), ("cleanrl", "sb3"), OF_ROLLOUTS,
                    frozenset({*OF_ROLLOUTS, "going", "ahead", "clip", "clip_vf", "policy_loss", "pg_loss", "value_loss", "v_loss",
                               "entropy_loss"}), lambda run: drawn(run, 0), "TRAINER", True),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add, ast.Mult), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult, ast.Sub),
}  # fmt: skip
CALLS = {
    "maximum": "minimum", "minimum": "maximum", "exp": "log1p", "log1p": "exp", "abs": "sign", "sum": "mean", "mean": "sum",
    "min": "max", "max": "min", "prod": "sum",
}  # fmt: skip
MOVED = ("per_token_logps", "ref_per_token_logps", "position_scores", "margin", "rewards_per_func")


def sites(tree: ast.AST, kind: Kind) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yields every part of the functions that is changed, and what stands there then."""
    of = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name in kind.functions]
    for node in (inner for each in of for line in each.body for inner in ast.walk(line)):
        if isinstance(node, ast.expr):
            yield from ((node, other) for other in others(node, kind))


def others(node: ast.expr, kind: Kind) -> Iterator[ast.expr]:
    """Yields what may stand for a part of a formula by mistake."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield from (ast.BinOp(left, other(), right) for other in OPERATORS[type(op)])
            yield from (left, right)
        case ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.Call(ast.Attribute(value, name, ctx), args, keywords) if name in CALLS:
            yield ast.Call(ast.Attribute(value, CALLS[name], ctx), args, keywords)
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            yield from (ast.Constant(other) for other in (value * 2, value + 1, value / 2) if other != value)
        case ast.Constant(str() as key) if key in kind.other:
            yield ast.Constant(kind.other[key])
        case ast.Name(name, ast.Load()) if name in kind.numbers:
            yield ast.BinOp(ast.Constant(2.0), ast.Mult(), copy.deepcopy(node))
            yield ast.UnaryOp(ast.USub(), copy.deepcopy(node))
            yield from [ast.Name(kind.other[name], ast.Load())] if name in kind.other else []


def parsed(kind: Kind) -> ast.AST:
    return ast.parse(Path(str(kind.module.__file__)).read_text(encoding="utf-8"))


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


def another_batch(files: Sequence[Written], seed: int) -> list[Written]:
    """Returns files of the same shape with other log-probs, scores and margins."""
    drawn, found = np.random.default_rng(seed), []
    for file in files:
        moved = {
            name: each * drawn.uniform(0.5, 1.5, each.shape) for name, each in file.tensors.items() if name in MOVED
        }
        if "old_per_token_logps" in file.tensors:  # other policies are about as far from this one as before
            new = file.tensors["per_token_logps"]
            for name in ("old_per_token_logps", "ref_per_token_logps"):
                apart = (file.tensors.get(name, new) - new) * drawn.uniform(0.5, 1.5, new.shape)
                moved |= {name: np.minimum(moved["per_token_logps"] + apart, 0)} if name in file.tensors else {}
        found.append(file._replace(tensors={**file.tensors, **moved}))
    return found


def verified(files: Sequence[Written], trainer: Any) -> StepVerdict:
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        return verify_step(dumped(files, trainer, Path(folder)))


def judged(kind: Kind, files: Any, trainer: Any, seed: int | None = None) -> StepVerdict:
    """Verifies the files of a run, or with a seed another batch."""
    if not kind.classic:
        return verified(files if seed is None else another_batch(files, seed), trainer)
    of = files if seed is None else drawn(files.library, 1 + seed)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        return verify_step([trainer.written(of, Path(folder))])


def named(kind: Kind, at: int, run: str) -> tuple[str, str] | None:
    """Returns which mutant it is, and whether its cause is named; None where it cannot run, or changes no logged number."""
    files = kind.files(run)
    try:
        trainer, said = mutant(kind, at)
        found = judged(kind, files, trainer)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, NameError):
        return None
    if found.first is None or found.first.line.says != "DIFFERS":
        return None
    causes = [each.said for each in found.causes]
    if not causes:
        return said, "none"
    others = (judged(kind, files, trainer, seed) for seed in (at, at + 1, at + 2))
    again = {each.said for each in next((other for other in others if other.first is not None), found).causes}
    right = [each in again for each in causes[:5]]
    return said, "first" if right[0] else "among five" if any(right) else "wrong first"


def main(name: str, seed: int, count: int) -> None:
    """Prints what becomes of each mutant, and how many of each there are."""
    kind, drawn, found = KINDS[name], random.Random(seed), Counter[str]()
    every = len(placed(kind))
    for at in drawn.sample(range(every), every):
        run = drawn.choice(kind.runs)
        if found.total() < count and (result := named(kind, at, run)):
            found[result[1]] += 1
            print(f"{result[1]}: {run}, {result[0]}", flush=True)
    print(dict(found), f"of {found.total()} mutants, seed {seed}, {every} places")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
