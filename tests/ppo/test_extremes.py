"""Extreme numbers: definitions, witness and engines agree on every number, or on where it ends."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.numbers import load, rlhf
from blueprint.page.contents import kind_of
from blueprint.ppo import rlhf_ppo
from blueprint.witness import witness
from tests.ppo.extreme import EXTREMES, computed, finite
from tests.witness.stage import differing

PRESETS = tuple(rlhf().presets)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_witness_agrees(preset: str) -> None:
    blueprint = rlhf_ppo(load("ten-libraries", [f"preset={preset}", f"compare={preset}"]))
    told = []
    for extreme in EXTREMES:
        ours, ended = computed(blueprint, extreme)
        known = finite(ours)
        typed = {block.name: ours[block.name] for block in blueprint.blocks() if kind_of(block) == "typed"}
        found = witness([typed], device="cpu")[0]
        shared = {name: array for name, array in found.items() if name in known}
        told += [f"{extreme.name}: {each}" for each in differing(shared, ours, 1e-12)]
        if ended is not None and np.isfinite(found[ended.block.name]).all():
            told.append(f"{extreme.name}: ends at {ended.block.name} here, not in torch")
    assert told == [], "\n".join(told)
