"""Several files in one call, ties, devices, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.witness import WitnessError
from blueprint.workbooks.registry import witness_of as witness
from blueprint.workbooks.rlhf_ppo.witness import WITNESS
from tests.witness.stage import Array, built_in, differing, random_file


def changed(name: str = "default", **blocks: Any) -> dict[str, Array]:
    """Returns a built-in file with some blocks set, their names written with _ for the dot."""
    file = dict(built_in(name))
    for key, value in blocks.items():
        name = next(each for each in file if each.replace(".", "_") == key)
        file[name] = np.array(value, dtype=file[name].dtype)
    return file


def with_cell(block: str, at: tuple[int, ...], value: object, name: str = "default") -> dict[str, Array]:
    """Returns a built-in file with one cell changed."""
    file = {each: array.copy() for each, array in built_in(name).items()}
    file[block][at] = value
    return file


def test_several_files_in_one_call_are_what_each_gives_alone() -> None:
    longer = built_in("default", "sizes.max_new_tokens=9", "sizes.episodes=3")
    files = [built_in("default"), longer, built_in("very-very-sleepy"), random_file(3), with_cell("given", (0, 3), "")]
    assert len({file["mask"].shape for file in files}) == 4
    for found, file in zip(witness(files, device="cpu"), files, strict=True):
        alone = witness([file], device="cpu")[0]
        assert list(found) == list(alone)
        assert differing(found, alone | {"whiten_eps": file["whiten_eps"]}, 1e-14) == []


BACK = (
    ("default",),
    ("default", "gradients=on"),
    ("default", "gradients=on", "ppo.ent_coef=0.1", "sizes.max_new_tokens=9", "sizes.episodes=3"),
    ("default", "gradients=on", "conventions=live", "preset=verl"),
    ("default", "gradients=on", "conventions=live", "preset=trl_1.12"),
    ("epochs", "update.epochs=2"),
    ("epochs", "update.epochs=2", "update.by=sgd"),
    ("epochs", "update.epochs=2", "update.by=adam", "update.lr=0.1"),
    ("epochs", "update.epochs=3"),
)


def test_gradients_and_steps_of_several_files_in_one_call_are_what_each_gives_alone() -> None:
    files = [built_in(*each) for each in BACK]
    found = witness(files, device="cpu")
    assert sum("policy.W.grad" in each for each in found) == len(BACK) - 1
    for ours, file in zip(found, files, strict=True):
        alone = witness([file], device="cpu")[0]
        assert list(ours) == list(alone)
        assert differing(ours, alone | {"whiten_eps": file["whiten_eps"]}, 1e-13) == []


@pytest.mark.parametrize(
    ("one", "other", "together"), [(1, 2, True), (3, 4, True), (5, 7, True), (0, 1, False), (5, 8, False)]
)
def test_files_that_show_the_same_of_the_way_back_are_one_computation(one: int, other: int, together: bool) -> None:
    keys = [WITNESS.group_key(built_in(*BACK[each])) for each in (one, other)]
    assert (keys[0] == keys[1]) == together


def test_no_files_give_nothing() -> None:
    assert witness([], device="cpu") == []


def test_the_record_says_how_it_was_computed() -> None:
    record = witness([built_in("default")], device="cpu", dtype="float32").record
    assert (record.device, record.dtype, record.torch) == ("cpu", "float32", torch.__version__)


def test_quantities_come_in_the_order_of_derivation() -> None:
    names = list(witness([built_in("default")], device="cpu")[0])
    chain = ["gamma", "given_id", "mask", "old.memory", "old.logits", "old.logprobs", "policy.Y", "kl.k1", "rewards"]
    chain += [
        "td_errors",
        "advantages",
        "returns",
        "advantage.whitened",
        "ratio",
        "surrogate",
        "policy_loss",
        "total_loss",
    ]
    assert sorted(chain, key=names.index) == chain


def test_a_draw_on_a_boundary_is_reported_as_a_tie() -> None:
    boundary = built_in("default")["old.cumulative"][0, 4, 3]
    found = witness([built_in("default"), with_cell("rollout.draw", (0, 4), boundary + 1e-11)], device="cpu")
    (tie,) = found.record.ties
    assert (tie.file, tie.episode, tie.position) == (1, 1, 5)
    assert tie.margin == pytest.approx(1e-11, abs=1e-13)


def test_a_draw_beyond_all_words_takes_the_last_and_one_on_a_boundary_the_word_behind() -> None:
    boundary = built_in("default")["old.cumulative"][1, 3, 6]
    assert witness([with_cell("rollout.draw", (1, 3), 1.0)], device="cpu")[0]["rollout.drawn"][1, 3] == 7
    for nudge, word in ((1e-7, 6), (-1e-7, 5)):
        file = with_cell("rollout.draw", (1, 3), boundary + nudge)
        assert witness([file], device="cpu")[0]["rollout.drawn"][1, 3] == word


def test_words_match_whatever_their_capitals_and_blank_cells_count_as_zero() -> None:
    found = witness([with_cell("given", (0, 1), "OLD")], device="cpu")[0]
    assert found["given_id"][0, 1] == 2
    assert found["word_written"][0, 1] == "old"
    blank, zero = (witness([with_cell("old.E", (2, 1), each)], device="cpu")[0] for each in (np.nan, 0.0))
    assert blank["total_loss"] == zero["total_loss"]


def test_what_is_typed_comes_before_the_preset() -> None:
    found = witness([changed(gamma_yours=1.0, kl_estimator_yours="K3", whiten_advantages_yours="off")], device="cpu")[0]
    assert [found[name] for name in ("gamma", "kl_estimator", "kl_estimator.number")] == [1.0, "K3", 2]
    np.testing.assert_array_equal(found["kl.used"], found["kl.k3"])
    np.testing.assert_array_equal(found["advantages_used"], found["advantages"][:, :-1])


def test_settings_outside_their_ranges_are_added_up() -> None:
    found = witness([changed(gamma_yours=1.5, gae_lambda_yours=-0.25)], device="cpu")[0]
    assert [found[f"{name}.outside"] for name in ("gamma", "gae_lambda", "whiten_eps")] == [0.5, 0.75, 0.75]
    assert [found[name] for name in ("check.settings.verdict", "check.master")] == ["LOOK", "LOOK"]


def test_values_behind_the_response_do_not_leak_into_the_last_td_error() -> None:
    """No bootstrap: the value of a masked word is 0, wherever the text starts (as in TRL 0.11.4, OpenRLHF, verl)."""
    file = with_cell("mask", (0, 2), 0.0, "very-very-sleepy")
    found = witness([file], device="cpu")[0]
    np.testing.assert_allclose(found["td_errors"], [[0.09, 0.15 - 3.5, 0]], rtol=0, atol=1e-15)
    assert found["check.lambda_1.worst"] < 1e-14


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "tf32", "float63"])
def test_coarse_numbers_are_refused(dtype: str) -> None:
    with pytest.raises(WitnessError, match=f"does not compute in '{dtype}': .* write 'float64' or 'float32'"):
        witness([], dtype=dtype)


@pytest.mark.parametrize("device", ["cuda:99", "mps", "abacus"])
def test_a_device_that_is_not_here_is_refused(device: str) -> None:
    with pytest.raises(WitnessError, match=f"cannot compute on '{device}' in torch.float64: .*write 'auto' or 'cpu'"):
        witness([built_in("default")], device=device)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            lambda: {"a": np.array(1.0)},
            "of no kind of workbook that torch computes: it has none of the blocks old_critic.W or",
        ),
        (lambda: with_cell("given", (0, 1), "cat"), "the token 'cat', which is not in the vocabulary: add it there"),
        (lambda: changed(kl_estimator_yours="k4"), "kl_estimator is 'k4': write one of k1, k2, k3"),
        (lambda: with_cell("rollout.draw", (0, 1), -0.1), r"a draw is -0.1, where no token begins"),
        (lambda: with_cell("mask", (0, 1), 0.5, "very-very-sleepy"), "the mask is neither 0 nor 1"),
        (lambda: {k: v for k, v in built_in("default").items() if k != "critic.delta.W"}, "no block critic.delta.W"),
    ],
)
def test_files_that_cannot_be_computed_are_refused(file: Any, message: str) -> None:
    with pytest.raises(WitnessError, match=message):
        witness([file()], device="cpu")


def test_every_tensor_is_made_on_the_device_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with a GPU: one that is made anywhere else cannot meet the others here, nor be read.

    What numpy hands over begins on the processor, wherever it goes then.
    """
    files = [built_in("very-very-sleepy"), *(built_in(*each) for each in BACK)]
    from_numpy = torch.as_tensor
    monkeypatch.setattr(torch, "as_tensor", lambda data: from_numpy(data, device="cpu"))
    with torch.device("meta"):
        found = witness(files, device="cpu")
        with pytest.raises((NotImplementedError, RuntimeError)):
            torch.zeros(1).cpu()
    assert all(np.isfinite(each["critic.W.grad"]).all() for each in found[2:])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device on this machine")
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-5)])
def test_the_gpu_gives_the_same(dtype: str, tolerance: float) -> None:
    files = [built_in("default"), built_in("very-very-sleepy"), *(random_file(seed) for seed in range(10))]
    files += [built_in(*each) for each in BACK]
    found = witness(files, dtype=dtype)
    assert found.record.device.startswith("cuda")
    verdicts = (".verdict", ".failed", "check.master")
    for ours, file in zip(found, files, strict=True):
        assert differing({k: v for k, v in ours.items() if not k.endswith(verdicts)}, file, tolerance) == []
