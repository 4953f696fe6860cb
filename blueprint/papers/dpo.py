"""DPO and four of its relatives, on one page of plain torch.

Rafailov et al. 2023, Direct Preference Optimization (DPO), eq. 5 and 7; Mitchell 2023, A note on DPO with noisy
preferences (cDPO), eq. 3; Azar et al. 2023, A General Theoretical Paradigm (IPO), eq. 17; Meng et al. 2024, SimPO, eq. 3
and 5; Hong et al. 2024, ORPO, eq. 4, 6 and 7. Tensors are [2P, T]: the chosen responses of P pairs, then the rejected ones,
T tokens; `mask` says which tokens are response.

    DPO, cDPO  loss="dpo", smoothing=ε        SimPO  loss="simpo", beta=2, gamma=1
    IPO        loss="ipo", beta=τ             ORPO   loss="orpo", beta=λ
"""

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import log_softmax, logsigmoid


@dataclass(frozen=True)
class Dpo:
    """What one batch comes to: by response [2P], by pair [P], or one number."""

    logp: Tensor  # of responses: a sum over tokens, or a mean
    rewards: Tensor  # β times the log-ratio, or the log-prob where there is no reference, [2P]
    margin: Tensor  # of the log-ratios, without β
    losses: Tensor
    loss: Tensor
    accuracy: Tensor


def logprobs(logits: Tensor, ids: Tensor) -> Tensor:
    """Returns the log-prob of each token written, [N, T]. logits: before it was written, [N, T, V]."""
    return log_softmax(logits, -1).gather(-1, ids[..., None])[..., 0]


def dpo(
    logp: Tensor, logp_ref: Tensor, mask: Tensor, *, loss: str = "dpo", beta: float = 0.1, smoothing: float = 0.0,
    gamma: float = 0.0,
) -> Dpo:  # fmt: skip
    """Returns the loss of pairs and every step to it.

    logp, logp_ref: of the tokens written, by policy and reference; SimPO and ORPO have no reference, and read none.
    """
    of_responses = logp.where(mask, 0).sum(1)
    if loss in ("simpo", "orpo"):  # SimPO, eq. 3; ORPO, eq. 4: means, so that long responses weigh no more
        of_responses = of_responses / mask.sum(1)
        ratio = of_responses
    else:
        ratio = of_responses - logp_ref.where(mask, 0).sum(1)
    chosen, rejected = ratio.chunk(2)
    h = chosen - rejected
    match loss:
        case "dpo":  # DPO, eq. 7; cDPO, eq. 3
            losses = -(1 - smoothing) * logsigmoid(beta * h) - smoothing * logsigmoid(-beta * h)
        case "ipo":  # IPO, eq. 17
            losses = (h - 1 / (2 * beta)) ** 2
        case "simpo":  # SimPO, eq. 5
            losses = -logsigmoid(beta * h - gamma)
        case "orpo":  # ORPO, eq. 6 and 7: the likelihood of the chosen response, and the ratio of odds p/(1 − p)
            log_odds = ratio - (-ratio.expm1()).log()
            losses = -chosen - beta * logsigmoid(log_odds.chunk(2)[0] - log_odds.chunk(2)[1])
        case _:
            raise ValueError(loss)
    return Dpo(of_responses, beta * ratio, h, losses, losses.mean(), (h > 0).to(h.dtype).mean())
