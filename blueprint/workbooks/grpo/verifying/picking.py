"""Which groups of a step are shown: those of the rows that are asked for, or the one that deviates first and the worst."""

import numpy as np

from blueprint.dumps import Array, MinibatchError, require
from blueprint.inputs import ROWS
from blueprint.verifying import Verdict, ViewOptions
from blueprint.workbooks.grpo.dumps import GroupedStep
from blueprint.workbooks.grpo.verifying.replayed import Replayed

MEASURES = {"ratio": ("ratio", 1.0), "advantage": ("advantages", 0.0), "kl": ("kl_new", 0.0)}
"""By what a token may be bad: a row, and the number from which it is far."""
ALL, FEW = 16, 2
"""Responses of a step that is shown whole unasked, and groups of a larger one."""


def picked(verdict: Verdict, options: ViewOptions) -> Array:
    """Returns the rows of the dump that are shown, group by group.

    Raises MinibatchError for a row that is not there, two wishes at once, groups of several sizes, or more than fit.
    """
    found: Replayed = verdict.replayed
    batch, groups = found.batch, found.batch.groups
    require(groups is not None, f"{batch.path}: nothing tells which responses answer the same prompt; write group, [B]")
    assert groups is not None
    require(
        options.rows is None or options.worst is None,
        "--rows names the responses, --worst finds them: use one of the two",
    )
    chosen = _groups(verdict, options, groups)
    sizes = {int((groups == each).sum()) for each in chosen}
    require(
        len(sizes) == 1,
        f"{batch.path} has groups of {sorted(sizes)} responses there: a workbook shows groups of one size",
    )
    rows = np.concatenate([np.flatnonzero(groups == each) for each in chosen])
    require(len(rows) <= ROWS[1], f"{len(rows)} responses are asked for: a workbook shows up to {ROWS[1]}")
    return rows


def _groups(verdict: Verdict, options: ViewOptions, groups: Array) -> list[int]:
    batch: GroupedStep = verdict.replayed.batch
    count = int(groups.max()) + 1
    if options.rows is not None:
        return list(dict.fromkeys(int(groups[_place(batch, row)]) for row in options.rows))
    if options.worst is None and len(groups) <= ALL and len(set(batch.sizes.tolist())) == 1:
        return list(range(count))
    worst = _worst(verdict.replayed, options.by, groups)
    spot = verdict.first.compared.spot if verdict.first else None
    first = [int(groups[spot.episode])] if spot and options.worst is None else []
    alike = [each for each in worst if batch.sizes[each] == batch.sizes[(first or worst)[0]]]
    return list(dict.fromkeys([*first, *alike]))[: options.worst or FEW]


def _place(batch: GroupedStep, row: int) -> int:
    """Returns the response that stands in a row of the file."""
    places = list(range(len(batch.mask))) if batch.rows is None else np.asarray(batch.rows).tolist()
    if row not in places:
        raise MinibatchError(f"{batch.path} has no row {row}, or leaves it out: it has rows 0 … {max(places)}")
    return places.index(row)


def _worst(found: Replayed, by: str | None, groups: Array) -> list[int]:
    """Returns the groups, that with the worst token first."""
    row, usual = MEASURES[by or ("ratio" if "logprobs_new" in found.batch.tensors else "advantage")]
    values = found.rows.get(row, found.rows["advantages"])
    off = np.where(found.batch.mask, np.abs(values - usual), 0.0).max(axis=1)
    worst = np.array([off[groups == each].max() for each in range(int(groups.max()) + 1)])
    return [int(each) for each in np.argsort(-worst, kind="stable")]
