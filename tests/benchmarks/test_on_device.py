"""The program that measures the torch path on a device lives: a small part of it, on the processor."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="it measures torch: install the extra [torch]")

from tests.benchmarks.on_device import cells, far, many


def test_its_parts_say_how_far_a_device_is_from_numpy() -> None:
    found = cells("cpu", ["by-hand"])["by-hand"]
    assert found["float64"][0] <= 1e-12 < found["float32"][0] <= 2e-5
    assert found["way back"][0] <= 1e-12


def test_many_files_at_once_are_each_compared() -> None:
    found = many("cpu", 3)
    assert (found["float64"]["files beyond the bound"], found["float32"]["files beyond the bound"]) == (0, 0)
    assert found["float64"]["worst of the others"] == 0 < found["float32"]["worst of the others"]


def test_a_number_beside_none_is_infinitely_far() -> None:
    assert far(np.array([1.0, np.nan]), np.array([1.0, 2.0])) == np.inf
    assert far(np.array([1.5, 30.0]), np.array([1.0, 33.0])) == 0.5
