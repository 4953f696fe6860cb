"""The core of the witness against the libraries' own code, run by run: advantages, ratios, weights, losses, and gradients."""

from math import isinf

import numpy as np
import pytest

from blueprint.workbooks.grpo.schema import GRPO
from blueprint.workbooks.grpo.witness import Asked
from tests.workbooks.grpo.recorded import Array, Run, batch, off, runs
from tests.workbooks.grpo.side_by_side import witnessed

RUNS = list(runs())


def computed(run: Run) -> dict[str, Array]:
    """Returns what the witness makes of the batch with the conventions of a run, by what the record calls it."""
    use = Asked({key: setting.value for key, setting in GRPO.items()} | run.conventions)
    of, z, made, lost = witnessed(batch(), run.conventions, run.reference, run.old)
    lost.total.backward()  # type: ignore[no-untyped-call]
    objective = use.word("loss.objective")
    found = {
        "advantages": made.advantages, "ratio": of.new if objective == "reinforce" else lost.ratio,
        "is_weight": lost.weight, "kl_per_token": lost.kl, "loss": lost.total,
        "grad_logits": z.grad, "grad_logp": of.new.grad,
    }  # fmt: skip
    if not isinf(use.number("loss.off_policy")) or not isinf(use.number("loss.entropy_least")):
        kept = None  # what TRL leaves out is no part of what the core shows
    elif run.library.startswith("nemo_rl"):
        kept = lost.tokens
    else:
        kept = use.number("loss.factor") * lost.tokens * lost.weight
        if use.word("kl.place") == "loss" and not run.library.startswith(("verl", "open_instruct", "oat")):
            kept = kept + use.number("kl.coef") * lost.kl
    found["per_token_loss"] = kept
    # A library logs the KL that it pays: in the loss, or in the reward, where β is already in it; without any, what it likes.
    match use.word("kl.place"):
        case "reward":
            found["kl_per_token"] = made.paid / use.number("kl.coef")
        case "none":
            del found["kl_per_token"]
    if objective == "gmpo":
        del found["ratio"]  # verl logs the geometric mean
    if use.number("loss.ent_coef"):
        del found["grad_logp"]  # the entropy has a gradient beside that of the log-probs
    return {name: each.detach().numpy() for name, each in found.items() if each is not None}


@pytest.mark.parametrize("run", RUNS, ids=[f"{run.library}-{run.variant}" for run in RUNS])
def test_the_witness_gives_what_a_library_computed(run: Run) -> None:
    ours, mask = computed(run), batch().mask
    compared = {}
    for name in ours.keys() & run.out.keys():
        if name == "grad_logits":
            apart = np.abs(ours[name] - np.array(run.out[name], float)) * mask[..., None]
            compared[name] = float(apart.max())
        else:
            compared[name] = off(ours[name], run.out[name], mask)
    assert compared, "a run without a number that is compared"
    assert max(compared.values()) <= run.tolerance, compared


def test_many_gradients_are_among_what_is_compared() -> None:
    keys = [key for run in RUNS for key in run.out]
    assert keys.count("grad_logp") > 100
    assert keys.count("grad_logits") > 0
