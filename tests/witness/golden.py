"""The rollout of golden_runs.json as inputs of the witness's conventions, its options by preset, and comparisons."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import blueprint.workbooks.common
from blueprint.witness.options import NUMBERS, WORDS, Options, Texts
from blueprint.witness.ppo import recompute
from blueprint.witness.tensors import Named, distribution_rows, kl_rows, logprobs

RECORDED = Path(__file__).parents[1] / "data" / "golden_runs.json"
PRESETS = Path(blueprint.workbooks.common.__file__).parent / "presets.csv"
FLOOR = 1e-12
ALL = (0, 1, 2, 3)

Changes = Mapping[str, str | float]


@dataclass(frozen=True)
class Run:
    """One run of a library: where it stands in the file, the preset it goes by, and the options that the run changed."""

    preset: str
    run: str
    variant: str = "result"
    changes: Changes = field(default_factory=dict)
    responses: tuple[int, ...] = ALL

    @property
    def place(self) -> tuple[str, str]:
        """The names of run and variant in the file."""
        return self.run, self.variant


@dataclass(frozen=True)
class Found:
    """What torch found for a run: its inputs and rows, without the axis of files."""

    texts: Texts
    rows: Named


Derive = Callable[[Found], Tensor]


@cache
def recorded() -> dict[str, Any]:
    """Returns the file."""
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def results(run: Run) -> dict[str, Any]:
    """Returns the recorded quantities of a run, by name; texts about them are left out."""
    found = recorded()["runs"][run.run][run.variant]
    if "results" in found:
        found = found["results"][found["minibatches"].index(list(run.responses))]
    found = found.get("result", found)
    return {name: each for name, each in found.items() if not isinstance(each, str)}


@cache
def presets() -> dict[str, dict[str, str]]:
    """Returns the options of every library, by its name and theirs."""
    with PRESETS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    libraries = [name for name in rows[0] if name != "convention"]
    return {library: {row["convention"]: row[library] for row in rows} for library in libraries}


def number_of(name: str, value: str | float) -> float:
    """Returns an option as the number that the pipeline computes with."""
    if name in WORDS:
        return WORDS[name].index(str(value))
    return math.inf if value == "off" else float(value)


def numbers(value: Any) -> Tensor:
    """Returns numbers of the file as a tensor."""
    return torch.tensor(value, dtype=torch.float64)


def options(runs: Sequence[Run]) -> Options:
    """Returns the options of several runs, each [F, 1, 1]."""
    assert {name for run in runs for name in run.changes} <= {*NUMBERS, *WORDS}
    used = [{**presets()[run.preset], **run.changes} for run in runs]
    values = {name: [number_of(name, each[name]) for each in used] for name in (*NUMBERS, *WORDS)}
    return Options({name: numbers(each).view(-1, 1, 1) for name, each in values.items()})


def texts(runs: Sequence[Run], chosen: Options) -> Texts:
    """Returns the inputs of several runs on the same number of responses."""
    rollout, rows = recorded()["rollout"], torch.tensor([run.responses for run in runs])
    window = slice(rollout["Q"] - 1, -1)  # the column that reads a word scores the word behind it
    temperature = (chosen.number("batch.temperature") + chosen.number("batch.temperature_eps"))[..., None]
    logits = (numbers(rollout[f"logits_{model}"])[:, window][rows] for model in ("old", "ref", "new"))
    old, reference, new = (each / temperature for each in logits)
    written = torch.tensor(rollout["responses"])[rows]
    lengths = torch.tensor(rollout["response_lens"])[rows]
    mask = (torch.arange(rollout["T"]) < lengths[..., None]).to(torch.float64)
    values = {f"{name}values": numbers(rollout[f"values_full_{model}"])[:, window][rows]
              for name, model in (("old_", "old"), ("", "new"))}  # fmt: skip
    return Texts(
        slots=torch.ones_like(mask),
        mask=mask,
        **from_logits(old, reference, new, written),
        **values,
        score=numbers(rollout["scores"])[rows],
        ended=(mask * (written == rollout["eos_id"])).amax(dim=-1),
    )


def from_logits(old: Tensor, reference: Tensor, new: Tensor, written: Tensor) -> Named:
    """Returns log-probs of the words written, exact KLs and the entropy by the names of Texts, of tempered logits."""
    policies = {"old": distribution_rows(old), "reference": distribution_rows(reference), "new": distribution_rows(new)}
    chosen = {name: logprobs(found["log_p"], written) for name, found in policies.items()}
    log_q = {name: found["log_p"] for name, found in policies.items()}
    return {
        "old_logprobs": chosen["old"],
        "reference_logprobs": chosen["reference"],
        "logprobs": chosen["new"],
        "kl_old_reference": kl_rows(policies["old"], log_q["reference"])["exact"],
        "kl_new_reference": kl_rows(policies["new"], log_q["reference"])["exact"],
        "kl_old_new": kl_rows(policies["old"], log_q["new"])["exact"],
        "entropy": -policies["new"]["p_log_p"],
    }


def computed(runs: Sequence[Run]) -> list[Found]:
    """Returns what torch finds for several runs on the same number of responses, in one computation."""
    chosen = options(runs)
    given = texts(runs, chosen)
    rows = recompute(given, chosen, torch.full((len(runs),), FLOOR, dtype=torch.float64))
    inputs = {each.name: getattr(given, each.name) for each in fields(given)}
    return [
        Found(Texts(**{name: each[at] for name, each in inputs.items()}), {name: row[at] for name, row in rows.items()})
        for at in range(len(runs))
    ]


def distance(derive: Derive, found: Found, value: Any, where: Tensor | None) -> float:
    """Returns the largest difference, divided by 1 + the largest number of the row; for rows of words at some places."""
    theirs, ours = numbers(value), derive(found)
    if theirs.dim() == 2:
        ours = ours[:, : theirs.shape[1]]
        where = torch.ones_like(theirs) if where is None else where
        ours, theirs = ours * where, theirs * where
    assert ours.shape == theirs.shape, f"{tuple(ours.shape)} is not {tuple(theirs.shape)}"
    return float((ours - theirs).abs().max() / (1 + theirs.abs().max()))
