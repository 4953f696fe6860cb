"""What a policy says in every slot: tempered logits, distributions, log-probs of the words written, exact KLs."""

from __future__ import annotations

from torch import Tensor

from blueprint.witness import signal
from blueprint.witness.batch import Rows
from blueprint.witness.models import distribution, logprobs


def add_distribution(rows: Rows, name: str, logits: Tensor, temperature: Tensor, written: Tensor) -> None:
    """Adds the distribution of tempered logits [F, N, T, V], and in every slot the log-prob of the word written."""
    tempered = logits / temperature[..., None]
    found = distribution(tempered)
    chosen = logprobs(found["log_p"], written, slots_of(rows))
    p_log_p = (found["p"] * found["log_p"]).sum(dim=-1)
    whole = {"tempered": tempered} | found | {"logprobs": chosen, "p_log_p": p_log_p}
    rows.add({f"{name}.{row}": each for row, each in whole.items()})


def add_kl(rows: Rows, kl: str, name: str, other: str) -> None:
    """Adds the exact KL of one policy to another in every slot, and Σ p·log q that it is made of."""
    cross, exact = signal.exact_kl(rows[f"{name}.p"], rows[f"{name}.p_log_p"], rows[f"{other}.log_p"], slots_of(rows))
    rows.add({f"{kl}.cross": cross, f"{kl}.exact": exact})


def add_update(rows: Rows) -> None:
    """Adds what compares the new policy with the old one and the reference, and its entropy."""
    add_kl(rows, "policy_kl", "old", "policy")
    add_kl(rows, "kl_new", "policy", "reference")
    rows.add({"policy.entropy": -slots_of(rows) * rows["policy.p_log_p"]})


def slots_of(rows: Rows) -> Tensor:
    """Returns 1 in every slot, [F, N, T]."""
    return rows["slots"][..., :-1]
