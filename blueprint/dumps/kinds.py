"""What a file is that is no step of PPO: preference pairs, or a step without a critic."""

from __future__ import annotations

from collections.abc import Collection

from blueprint.dumps.batch import MinibatchError
from blueprint.dumps.recognise import Recognised
from blueprint.quoting import unquoted

CHOSEN, REJECTED = "chosen", "rejected"
CRITIC = ("values_old", "values_new", "returns")

WITHOUT_CRITIC = (
    "no critic in it: GRPO, RLOO or REINFORCE? The advantages are taken as they stand; ratio, clip, KL and policy loss are "
    "computed from them, and how they arose is not"
)


def refuse_pairs(found: Recognised) -> None:
    """Refuses a file of preference pairs, which has no step of PPO in it.

    Raises:
        MinibatchError: a tensor is called "chosen" whose counterpart is "rejected"; says DPO where both are log-probs.
    """
    names = [*found.called.values(), *found.unused, *found.unknown]
    pairs = [(name, name.replace(CHOSEN, REJECTED)) for name in names if CHOSEN in name]
    both = next((pair for pair in sorted(pairs, key=_not_logprobs) if pair[1] in names), None)
    if both is not None:
        kind = "DPO or a relative of it" if not _not_logprobs(both) else "a reward model or DPO"
        raise MinibatchError(
            f"{unquoted(both[0])} and {unquoted(both[1])} are pairs of a preferred and another answer ({kind}), not a step of "
            "PPO: verify cannot compute them again."
        )


def _not_logprobs(pair: tuple[str, str]) -> bool:
    return "logp" not in pair[0].lower().replace("_", "")


def without_critic(tensors: Collection[str]) -> tuple[str, ...]:
    """Says that a file has advantages and nothing of a critic, if that is so."""
    return () if "advantages" not in tensors or set(CRITIC) & set(tensors) else (WITHOUT_CRITIC,)
