"""What a recomputation does otherwise than a library: known mistakes, and conventions that no setting names."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ways:
    """How a rollout is computed; each default is what all libraries do.

    gamma_of_next, gamma_of_sum: whether γ multiplies V(next), and later advantages. own_value_next: V(t) where V(t + 1)
    should stand. ddof: what the variance of the advantages is divided by, N less this.
    centred: whether the mean is taken off. over: what is normalised, the "minibatch" or the whole "rollout".
    done_of_next, done_of_sum: whether the end of an episode cuts off V(next), and later advantages.
    late, early: rows of steps that the minibatch reads one step late or early, around the end. transposed: a row of steps
    that it reads as if the rollout were flattened in that order, "time" or "environment".
    surrogate: the "smaller" of both, the "larger", or the "unclipped" or "clipped" one alone.
    value_combine: "smaller" for the smaller of the two distances; none: what the setting says.
    value_target: what the value is trained towards, "returns" or "advantages".
    returns_of: "advantages", or the normalised "advantages_used". bonus: the sign of the entropy in the total.
    summed: whether losses are sums over the minibatch and no means. ratio: new over old, or "inverted".
    kl: "k1" or "k2" where k3 is meant, or "k3" where k1 is; none: what the name of the number means.
    """

    gamma_of_next: bool = True
    gamma_of_sum: bool = True
    done_of_next: bool = True
    done_of_sum: bool = True
    late: tuple[str, ...] = ()
    early: tuple[str, ...] = ()
    transposed: tuple[str, str] | None = None
    own_value_next: bool = False
    ddof: int = 1
    centred: bool = True
    over: str = "minibatch"
    surrogate: str = "smaller"
    value_combine: str = ""
    value_target: str = "returns"
    returns_of: str = "advantages"
    bonus: float = 1.0
    summed: bool = False
    ratio: str = "new over old"
    kl: str = ""


PLAIN = Ways()
