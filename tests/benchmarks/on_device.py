"""The torch path on a device, beside numpy and beside the processor: `python -m tests.benchmarks.on_device cuda`.

Prints one JSON object: every built-in workbook in float64 and float32, its slopes, 4,096 files of the default at once, `check` of
saved workbooks, and `verify` of recorded files and of a large minibatch. It ends with 1 where a bound is broken.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import blueprint as bp
from blueprint.inputs import load
from blueprint.language import Block
from blueprint.language.evaluate_torch import Tensors, evaluate_torch
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.registry import kind_of
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.autograd import way_back
from tests.benchmarks.test_causes_speed import logged, with_wrong_number
from tests.page.workshop import BUILT_IN, SLOPED
from tests.same.cases import REAL
from tests.workbooks.test_in_torch import CLOSE, ILL

SINGLE = 2e-5
"""How far float32 may be from float64, of max(1, size)."""
FILES = 4096
CHECKED = ("default", "classic", "grpo", "dpo", "sft")
VERIFIED = (("512 x 1024", (512, 1024)),)
VERL = rlhf().preset("verl").values


def far(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Returns the largest difference of max(1, size); infinite where only one is a number."""
    if not np.array_equal(np.isfinite(ours), np.isfinite(theirs)):
        return float("inf")
    with np.errstate(invalid="ignore"):
        apart = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    return float(np.nan_to_num(apart).max(initial=0))


def worst(found: Tensors, book: bp.Book, dtype: str) -> tuple[float, str]:
    """Returns how far torch is from numpy in a book, and in which row.

    Of float32 the rows that check something to 1e-9 and those of *Overflow* are not asked.
    """
    apart = {"": 0.0}
    for block, array in book.values.arrays.items():
        if dtype == "float32" and block.name.startswith(("check", "overflow.")):
            continue
        other = found.numpy(block)
        if block.text:
            apart[block.name] = 0.0 if (array == other).all() else float("inf")
        else:
            apart[block.name] = far(other, array.astype(float))
    row = max(apart, key=lambda name: apart[name])
    return apart[row], row


def seconds(work: Callable[[], Any], device: str, turns: int = 3) -> tuple[float, Any]:
    """Returns the median time of some turns after a first one, and what the last one returned."""
    work()
    times, found = [], None
    for _ in range(turns):
        began = time.perf_counter()
        found = work()
        if device != "cpu":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return median(times), found


def cells(device: str, names: Sequence[str]) -> dict[str, Any]:
    """Holds every cell of built-in workbooks in torch on a device against numpy, and the way back against its rows."""
    found: dict[str, Any] = {}
    for name in names:
        book = bp.build(name, gradients=name in SLOPED)
        outline = book.blueprint
        says: dict[str, Any] = {}
        for dtype in ("float64", "float32"):
            made = evaluate_torch(outline.blocks(), outline.sizes, outline.typed, device=device, dtype=dtype, near=1e-6)
            says[dtype] = [*worst(made, book, dtype), [block.name for block in made.ties]]
        if name in SLOPED:
            back = way_back(book, kind_of(load(name)).name, device)
            row = max(back, key=lambda each: back[each])
            says["way back"] = [back[row], row]
        found[name] = says
    return found


def nudged(count: int) -> tuple[bp.Book, list[dict[Block, object]]]:
    """Returns the default workbook and many files of it, each with other weights and another gamma."""
    book, drawn = bp.build("default"), np.random.default_rng(0)
    typed = book.blueprint.typed
    moved = [block for block in typed if block.name.endswith((".E", ".W", ".Y"))]
    files = []
    for _ in range(count):
        cells = {block: np.asarray(typed[block], float) for block in moved}
        change = {block: each + 0.05 * drawn.normal(size=each.shape) for block, each in cells.items()}
        files.append({**typed, **change, book.blocks["gamma"]: drawn.uniform(0.9, 1)})
    return book, files


def many(device: str, count: int) -> dict[str, Any]:
    """Computes many files at once on a device and on the processor, with the slopes of their losses."""
    book, files = nudged(count)
    outline = book.blueprint
    loss = book.blocks["total_loss"]
    blocks = [*outline.blocks()]
    moving = [block for block in blocks if block.typed and not (block.text or block.limit)]

    def forward(where: str, dtype: str) -> Tensors:
        return evaluate_torch(blocks, outline.sizes, files, device=where, dtype=dtype, near=1e-9)

    def slopes(where: str, dtype: str) -> dict[Block, torch.Tensor]:
        made = evaluate_torch(blocks, outline.sizes, files, device=where, dtype=dtype, moving=moving)
        return made.slopes(loss)

    says: dict[str, Any] = {"files": count, "cells": count * sum(each.size for each in book.values.arrays.values())}
    truth: dict[Block, torch.Tensor] = {}
    for dtype, bound in (("float64", CLOSE), ("float32", SINGLE)):
        here, mine = seconds(partial(forward, "cpu", dtype), "cpu", 1)
        there, other = seconds(partial(forward, device, dtype), device)
        truth = truth or dict(mine.arrays)
        named = [block for block in truth if not (block.text or block.name.startswith("check"))]
        apart = np.array([_files_apart(other[block], truth[block]) for block in named])
        beyond = (apart > bound).any(0)
        says[dtype] = _times(here, there) | {
            "files beyond the bound": int(beyond.sum()),
            "worst of the others": float(apart[:, ~beyond].max(initial=0)),
        }
    here, mine_back = seconds(partial(slopes, "cpu", "float64"), "cpu", 1)
    there, other_back = seconds(partial(slopes, device, "float64"), device)
    worst_slope = max(float(_files_apart(other_back[block], mine_back[block]).max()) for block in mine_back)
    says["with slopes"] = _times(here, there) | {"worst": worst_slope}
    if device != "cpu":
        says["memory"] = f"{torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
    return says


def _times(here: float, there: float) -> dict[str, float]:
    return {"processor": round(here, 3), "device": round(there, 3), "times": round(here / there, 1)}


def _files_apart(ours: torch.Tensor, theirs: torch.Tensor) -> np.ndarray:
    a, b = (each.detach().cpu().double().reshape(len(each), -1) for each in (ours, theirs))
    apart = ((a - b).abs() / b.abs().clamp(min=1)).nan_to_num(0.0, posinf=np.inf)
    apart[torch.isfinite(a) != torch.isfinite(b)] = np.inf
    return np.asarray(apart.amax(1))


def checked(device: str) -> dict[str, Any]:
    """Has `check` hold saved workbooks against torch on a device, in both formats."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{name}.xlsx" for name in CHECKED]
        for path in paths:
            bp.build(path.stem, gradients=True).save(path)
        for dtype in ("float64", "float32"):
            outcome = bp.check(*paths, device=device, dtype=dtype)
            found[dtype] = [bool(outcome.agrees), str(outcome).splitlines()[-1]]
    return found


def verified(device: str) -> dict[str, Any]:
    """Has recorded files and a large minibatch verified on a device and on the processor; what differs is listed."""
    files = sorted(path for path in REAL.rglob("*") if path.is_file() and path.name != "hooks.json")
    other = [path.name for path in files if _said(path, "cpu") != _said(path, device)]
    found: dict[str, Any] = {"files": len(files), "other verdicts": other}
    for title, size in VERIFIED:
        clean = logged(size)
        for what, batch in ((title, clean), (f"{title}, nothing explains it", with_wrong_number(clean))):
            here, mine = seconds(partial(verify, batch, VERL, "verl", device="cpu"), "cpu", 1)
            there, others = seconds(partial(verify, batch, VERL, "verl", device=device), device, 1)
            found[what] = _times(here, there) | {"agrees": [bool(mine.agrees), bool(others.agrees)]}
    return found


def _said(path: Path, device: str) -> tuple[object, ...]:
    """A refusal is a verdict, too: it must be the same on both."""
    try:
        found = bp.verify(path, device=device)
    except ValueError as error:
        return (str(error),)
    return (bool(found.agrees), str(found.first), [str(cause) for cause in found.causes])


def main(device: str = "cuda", count: int = FILES, names: Sequence[str] = BUILT_IN) -> int:
    """Prints what was found, and returns 1 where a bound is broken."""
    found: dict[str, Any] = {"device": torch.cuda.get_device_name() if device != "cpu" else "cpu"}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "many": partial(many, device, count),
        "cells": partial(cells, device, names),
        "check": partial(checked, device),
        "verify": partial(verified, device),
    }
    print(json.dumps(found | {"torch": torch.__version__}), flush=True)
    for part, work in parts.items():
        began = time.perf_counter()
        found[part] = work()
        took = {"seconds": round(time.perf_counter() - began, 1)}
        print(json.dumps({part: found[part] | took}, indent=1, ensure_ascii=False), flush=True)
    return int(bool(broken(found)))


def broken(found: Mapping[str, Any]) -> list[str]:
    """Returns what of the parts breaks a bound."""
    names = [name for name, says in found["cells"].items() if says["float64"][0] > ILL.get(name, CLOSE)]
    names += [name for name, says in found["cells"].items() if says["float32"][0] > SINGLE and name not in ILL]
    names += ["many"] if found["many"]["float64"]["files beyond the bound"] else []
    names += [dtype for dtype, says in found["check"].items() if not says[0]]
    return [*names, *found["verify"]["other verdicts"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "cuda"))
