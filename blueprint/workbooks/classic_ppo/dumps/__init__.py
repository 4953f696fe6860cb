"""Dumps of classic PPO: a rollout of environments side by side, and one minibatch of its steps, whichever library wrote it, under
neutral names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.dumps import (
    PLACE_KEYS,
    TENSOR,
    UNUSED,
    Array,
    Dump,
    DumpKind,
    MinibatchError,
    Names,
    Needs,
    Raw,
    first_pass,
    mentioned,
    names_in_metadata,
    naming,
    not_read,
    not_understood,
    preset_said,
    require,
    run_fields,
    said_shape,
)
from blueprint.inputs import counted
from blueprint.quoting import unquoted
from blueprint.workbooks.classic_ppo.rollout import CLASSIC, classic_presets

OF_STEPS = (
    "rewards_env", "terminal_values", "rewards", "values_old", "done", "terminated", "logprobs_old", "advantages", "returns",
    "actions", "logits_old",
)  # fmt: skip
OF_MINIBATCH = ("logprobs_new", "values_new", "entropy", "advantages_used", "logits_new")
"""Tensors with an entry for each step of the rollout, and for each row of the minibatch."""


ORDERS = TIME, ENVIRONMENT = "time", "environment"
"""How a rollout may be flattened: step by step over all environments (t·N + n), or environment by environment (n·T + t)."""


def places(flat: Array, shape: tuple[int, ...], order: str) -> Array:
    """Returns environment and step, [M, 2], of steps of a rollout that is flattened in an order."""
    environments, steps = shape
    by_time, by_environment = np.divmod(flat, environments)[::-1], np.divmod(flat, steps)
    return np.stack(by_time if order == TIME else by_environment, axis=1)


def transposed(at: Array, shape: tuple[int, int], order: str) -> Array:
    """Returns places [M, 2] of a rollout that was flattened the other way than it is read in that order."""
    (environments, steps), (environment, step) = shape, at.T
    return places(environment * steps + step if order == TIME else step * environments + environment, shape, order)


@dataclass(frozen=True)
class Rollout(Dump):
    """A dump of a rollout. Rows are environments, columns steps, counted from 0: [N, T]; whatever the file has.

    tensors: those of OF_STEPS, [N, T], `logits_old` [N, T, A]; those of OF_MINIBATCH, [M] and [M, A]; `next_values` [N], the
        value of the state behind the last step. `done` is 1 where the episode ended after the step, and `terminated` 1
        where not only a time limit ended it; the latter is `done` in a file that does not say it.
    at: [M, 2], environment and step of each row of the minibatch.
    """

    at: Array

    kind = "classic_ppo"
    counted = "steps"

    @property
    def mask(self) -> Array:
        """1 for each row of the minibatch, [M]."""
        return np.ones(len(self.at), np.bool_)

    @property
    def shape(self) -> tuple[int, int]:
        """Environments and steps."""
        shape: tuple[int, int] = self.tensors["rewards"].shape
        return shape

    @property
    def head(self) -> str:
        """Says how many environments, steps and rows of a minibatch there are."""
        environments, steps = self.shape
        many = f"{environments} environment{'s' * (environments > 1)}, {steps:,} step{'s' * (steps > 1)} each"
        minibatch = "all of them in one minibatch" if self.whole else f"a minibatch of {len(self.at):,}"
        return f"A rollout of classic PPO: {many}, {minibatch}."

    @property
    def facts(self) -> Mapping[str, int]:
        """Says how many environments and steps there are."""
        return {"environments": self.shape[0], "steps": self.shape[1]}

    @property
    def whole(self) -> bool:
        """Whether the minibatch is the whole rollout, every step once."""
        return len(self.at) == self.tensors["rewards"].size == len(np.unique(self.at, axis=0))

    @property
    def minibatch_rows(self) -> Array:
        """Returns environment and step of each row of the minibatch, [M, 2]."""
        return self.at

    def of_minibatch(self, name: str) -> Array:
        """Returns the entries of a tensor of steps that the minibatch has, [M]."""
        return np.asarray(self.tensors[name][self.at[:, 0], self.at[:, 1]])


def together(rollouts: Sequence[Rollout]) -> Rollout:
    """Returns the minibatches of the first pass over a rollout as one, in the order of its steps; what each logged is left out."""
    first = first_pass(rollouts)
    at = np.concatenate([each.at for each in first])
    order = np.lexsort((at[:, 1], at[:, 0]))
    common = [name for name in OF_MINIBATCH if all(name in each.tensors for each in first)]
    rows = {name: np.concatenate([each.tensors[name] for each in first])[order] for name in common}
    tensors = {name: each for name, each in first[0].tensors.items() if name not in OF_MINIBATCH} | rows
    alone = len(first) == 1
    logged, place = (first[0].logged, first[0].place) if alone else ({}, None)
    return replace(first[0], tensors=tensors, at=at[order], logged=logged, place=place)


ORDER = {"cleanrl": TIME, "sb3": ENVIRONMENT, "torchrl": ENVIRONMENT}
"""How a library flattens a rollout."""
LAYOUT = {"torchrl": ENVIRONMENT}
"""Which index of its tensors comes first, where it is not time."""


def shaped(
    given: Mapping[str, Array], metadata: Mapping[str, Any], library: str | None, called: Mapping[str, str]
) -> tuple[dict[str, Array], Array, list[str]]:
    """Returns the tensors of a rollout, [N, T]; where the rows of the minibatch stand, [M, 2]; and what was assumed.

    given: by neutral name; called: what the file calls each. Raises MinibatchError where something is missing, or shapes disagree.
    """
    own = {name: unquoted(each) for name, each in called.items()}
    layout = _word(metadata, "layout") or LAYOUT.get(library or "", TIME)
    steps = {name: _turned(name, given[name], layout, own) for name in (*OF_STEPS, "episode_starts") if name in given}
    _check_steps(steps, own)
    starts, shape = steps.pop("episode_starts", None), steps["rewards"].shape
    ends = {name: _one_each(own[name], given[name], shape[0]) for name in ("next_values", "last_done") if name in given}
    tensors, notes = _with_ends(steps | ends, starts, own)
    at = _places(given.get("rows"), shape, metadata, library, own)
    of_minibatch = {name: given[name] for name in OF_MINIBATCH if name in given}
    rows = {name: _of_minibatch(name, each, len(at), layout, own) for name, each in of_minibatch.items()}
    return tensors | rows, at, notes


def _word(metadata: Mapping[str, Any], key: str) -> str | None:
    found = metadata.get(key)
    require(found in (None, *ORDERS), f"metadata, {key}: found {unquoted(str(found))}, expected {' or '.join(ORDERS)}.")
    return None if found is None else str(found)


def _turned(name: str, array: Array, layout: str, own: Mapping[str, str]) -> Array:
    """Returns a tensor of steps with its environments first; a single environment may be left out, or a last axis of 1."""
    axes = 3 if name.startswith("logits") else 2
    wide = np.asarray(array, dtype=np.float64)
    if wide.ndim == axes + 1 and wide.shape[-1] == 1:
        wide = wide[..., 0]
    if wide.ndim == axes - 1:
        wide = wide[:, None] if layout == TIME else wide[None]
    require(
        wide.ndim == axes,
        f"{own[name]}: found the shape {said_shape(array.shape)}, expected [T, N]{'' if axes == 2 else ' and actions'}.",
    )
    return wide.swapaxes(0, 1) if layout == TIME else wide


def _check_steps(steps: Mapping[str, Array], own: Mapping[str, str]) -> None:
    require("rewards" in steps, "rewards [T, N] are missing: advantages are made of them.")
    *_, environments, length = steps["rewards"].shape
    found_so = f"{counted(length, 'step')} of {counted(environments, 'environment')}"
    require(environments * length > 0, f"{own['rewards']}: found {found_so}, expected some.")
    for name, array in steps.items():
        found, expected = list(array.shape[1::-1]), [length, environments]
        says = f"{own[name]}: found {found} steps and environments, expected {expected} as {own['rewards']} has."
        require(found == expected, says)


def _one_each(name: str, array: Array, environments: int) -> Array:
    flat = np.asarray(array, dtype=np.float64).reshape(-1)
    require(
        len(flat) == environments,
        f"{name}: found {counted(len(flat), 'number')}, expected {environments}, one for each environment.",
    )
    return flat


def _with_ends(
    tensors: dict[str, Array], starts: Array | None, own: Mapping[str, str]
) -> tuple[dict[str, Array], list[str]]:
    """Adds `done`, of the starts of episodes where the file has those, and checks that ends are 0 or 1."""
    last = tensors.pop("last_done", None)
    notes = []
    if "done" not in tensors and starts is not None:
        if last is None:
            raise MinibatchError(
                f"{own['episode_starts']} is there, and last_done [N], whether the last step ended an episode, is missing: add it "
                "(CleanRL's next_done, the dones that Stable-Baselines3 passes to compute_returns_and_advantage)."
            )
        tensors["done"] = np.concatenate([starts[:, 1:], last[:, None]], axis=1)
    require(
        "done" in tensors,
        "ends of episodes are missing: done [T, N], or episode_starts [T, N] and last_done [N].",
    )
    for name in [each for each in ("done", "terminated") if each in tensors]:
        require(
            bool(np.isin(tensors[name], (0, 1)).all()),
            f"{own.get(name, own.get('episode_starts', name))}: found other numbers than 0 and 1, expected 1 where an episode "
            f"{'ended after the step' if name in own else 'began'}.",
        )
    if "terminated" in tensors and (tensors["terminated"] > tensors["done"]).any():
        done = own.get("done", "done")
        notes.append(f"{own['terminated']} is 1 where {done} is 0: {done} is taken to be 1 there")
        tensors["done"] = np.maximum(tensors["done"], tensors["terminated"])
    return tensors, notes


def _places(
    rows: Array | None, shape: tuple[int, ...], metadata: Mapping[str, Any], library: str | None, own: Mapping[str, str]
) -> Array:
    """Returns environment and step of each row of the minibatch, [M, 2]; without `rows` it is the whole rollout."""
    environments, steps = shape
    if rows is None:
        return np.argwhere(np.ones(shape, dtype=bool))
    flat = np.asarray(rows, dtype=np.float64).reshape(-1)
    require(
        len(flat) > 0 and bool(np.isin(flat, np.arange(environments * steps)).all()),
        f"{own['rows']}: expected whole numbers from 0 to {environments * steps - 1}, the steps of the flattened rollout.",
    )
    order = _word(metadata, "order") or ORDER.get(library or "")
    require(
        order is not None or environments == 1,
        f'{own["rows"]} number the steps of the flattened rollout: say "order" in the metadata, "time" for step·environments + '
        'environment or "environment" for environment·steps + step.',
    )
    return places(flat.astype(np.int64), shape, order or TIME)


def _of_minibatch(name: str, array: Array, count: int, layout: str, own: Mapping[str, str]) -> Array:
    """Returns a tensor of the minibatch, [M]; without rows it is one of all steps, and turned as those are."""
    actions, listed = array.shape[-1:] if name == "logits_new" else (), "rows" in own
    turned = _turned(name, array, layout, own) if not listed and array.ndim > 1 + len(actions) else array
    flat = np.asarray(turned, dtype=np.float64).reshape(-1, *actions)
    steps = "the steps of the rollout; add rows [M] if it is a minibatch of them"
    expected = f"{count}, {'the rows of the minibatch' if listed else steps}"
    require(len(flat) == count, f"{own[name]}: found {counted(len(flat), 'number')}, expected {expected}.")
    return flat


NAMES = Names(Path(__file__).parent / "names.csv", CLASSIC)
NEEDS: Needs = {
    "advantages, returns": (("rewards", "values_old", "done"), ("rewards", "values_old", "episode_starts")),
    "ratio, approximate KL": (("logprobs_old", "logprobs_new"),),
    "policy loss, clip fraction": (("logprobs_new", "advantages, returns"),),
    "value loss": (("values_new", "advantages, returns"),),
    "mean entropy": (("entropy",),),
}
"""What is computed of what."""
SPELLED = {"stable_baselines3": "sb3", "stablebaselines3": "sb3", "stable_baselines": "sb3"}
"""What people call a library, where it is not the name of its column."""
METADATA = (
    "schema", "library", "version", "step", "preset", "layout", "order", "names", "hyperparameters", "logged", *PLACE_KEYS,
)  # fmt: skip
ENDS = ("episode_starts", "done", "terminated", "last_done", "next_values")


def library_of(name: str) -> str:
    """Returns a library's name as the presets have it: "Stable-Baselines3" is sb3."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    return SPELLED.get(plain, plain)


def is_rollout(raw: Raw) -> bool:
    """Whether a file is a rollout of environments: its library or preset says so, or it marks ends of episodes.

    One with a mask of responses is a step of RLHF, whatever else it has.
    """
    library = library_of(str(raw.metadata.get("library", "")))
    if library in NAMES.libraries or str(raw.metadata.get("preset", "")) in set(classic_presets().presets) - {
        "default"
    }:
        return True
    names = raw.metadata.get("names")
    neutral = {row for name in raw.tensors for row in NAMES.meant(TENSOR, name, None)}
    neutral |= set(map(str, names.values())) if isinstance(names, dict) else set()
    return "rewards" in neutral and bool(neutral & set(ENDS)) and "response_mask" not in raw.tensors


def rollout_of(raw: Raw, path: Path) -> Rollout:
    """Makes a rollout of a file as it was read.

    Raises:
        MinibatchError: two readings are possible, something needed is missing, or shapes disagree; in one sentence that
            begins with the path.
    """
    with naming(path):
        library = library_of(str(raw.metadata["library"])) if raw.metadata.get("library") else None
        called, unknown = _called(raw, library)
        unused = [name for name in raw.tensors if name not in called.values() and name not in unknown]
        metadata = mentioned(raw.metadata, library, NAMES, CLASSIC)
        tensors, at, notes = shaped(
            {name: raw.tensors[own] for name, own in called.items()}, raw.metadata, library, called
        )
        _check_finite(tensors, called)
        return Rollout(
            str(path),
            tensors,
            {name: raw.dtypes[own] for name, own in called.items()},
            {**called, **metadata.called},
            at,
            library=library,
            preset=preset_said(raw.metadata, classic_presets, library),
            notes=(*notes, *not_read(raw, unused), *not_understood(raw, unknown, metadata, METADATA, NAMES, CLASSIC)),
            hyperparameters=metadata.settings,
            logged=metadata.logged,
            **run_fields(raw.metadata),
        )


def _called(raw: Raw, library: str | None) -> tuple[dict[str, str], list[str]]:
    """Returns by neutral name what the file calls it, and the names that are not understood."""
    told, found, unknown = names_in_metadata(raw, NAMES, "no neutral name of a rollout"), dict[str, str](), list[str]()
    for name in raw.tensors:
        neutral = [told[name]] if name in told else NAMES.meant(TENSOR, name, library)
        if len(neutral) > 1:
            raise MinibatchError(
                f'{unquoted(name)} means {" or ".join(neutral)} in different libraries; say "library" in the metadata, or '
                f'{{"names": {{"{unquoted(name)}": "{neutral[0]}"}}}}.'
            )
        if not neutral:
            unknown.append(name)
        elif neutral[0] in found:
            raise MinibatchError(
                f"{unquoted(found[neutral[0]])} and {unquoted(name)} could both be {neutral[0]}; keep one."
            )
        elif neutral[0] != UNUSED:
            found[neutral[0]] = name
    return found, unknown


def _check_finite(tensors: dict[str, Array], called: dict[str, str]) -> None:
    """Refuses numbers that are none, with the first place of one."""
    for name, array in tensors.items():
        wrong = ~np.isfinite(array)
        if wrong.any():
            at = np.argwhere(wrong)[0].tolist()
            row = f"row {at[0]}" if name in OF_MINIBATCH or len(at) == 1 else f"environment {at[0]}, step {at[1]}"
            raise MinibatchError(
                f"{unquoted(called.get(name, name))}, {row}: found {array[tuple(at)]}, expected a number."
            )


DUMPS = DumpKind("a rollout of classic PPO", classic_presets, rollout_of, is_rollout, NAMES, NEEDS)
