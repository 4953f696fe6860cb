"""Two recorded runs that have no loss of the batch: the original code's function alone, and HALOs' SLiC, one pair at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from blueprint.book import Book
from tests.page.workshop import made
from tests.workbooks.dpo.recorded import Array, recorded_file

EXACT = 1e-12


def out_of(library: str, variant: str) -> Any:
    return recorded_file()["runs"][library]["runs"][variant]["result"]


def row(book: Book, name: str) -> Array:
    return np.asarray(book.values[book.blocks[name]], float)


def test_the_function_of_the_original_code() -> None:
    """preference_loss: losses, both rewards, and the slope of the mean loss by the log-prob of each response."""
    out = out_of("direct_preference_optimization_f8b8c0f", "dpo_function")
    book = made("preset=dpo_original", "gradients=on", numbers="dpo-batch")
    for name, key in {
        "loss.pair": "losses", "chosen.reward": "chosen_rewards", "rejected.reward": "rejected_rewards",
        "chosen.logp.grad": "grad_policy_chosen_logps", "rejected.logp.grad": "grad_policy_rejected_logps",
    }.items():  # fmt: skip
        np.testing.assert_allclose(row(book, name), out[key], rtol=0, atol=EXACT, err_msg=name)


def test_slic_one_pair_at_a_time() -> None:
    """HALOs adds a number of each pair to one of each token, which fits only where there is one pair: each position of the chosen
    response has the pair's loss and 0.1 of the token's NLL, prompt and pads the pair's alone; the loss is their mean."""
    out = out_of("halos_4831988", "slic")
    book = made("loss.form=slic", "dpo.beta=1", "reference.used=off", "watch.rewards=no_beta", numbers="dpo-batch")
    pair, tokens, chosen = row(book, "loss.slic"), row(book, "policy.logprobs"), row(book, "response.chosen") == 1
    nll = -(tokens * row(book, "mask"))[chosen]
    for place, alone in enumerate(out["one_pair_at_a_time"]):
        losses = pair[place] + 0.1 * nll[place]
        np.testing.assert_allclose(losses[: len(alone["losses"][0])], alone["losses"][0], rtol=0, atol=EXACT)
        assert abs(np.mean(losses[: len(alone["losses"][0])]) - alone["loss"]) <= EXACT
        assert abs(row(book, "chosen.logged")[place] - alone["chosen_reward"]) <= EXACT
        assert abs(row(book, "rejected.logged")[place] - alone["rejected_reward"]) <= EXACT
    assert "shapes do not broadcast" in out["meaning"]
