"""Identities of the recursion with slots and holes: its result is known where λ is 0 or 1, or γ is 0."""

from __future__ import annotations

from blueprint.language import Block, block, maximum
from blueprint.workbooks.common.axes import n, t
from blueprint.workbooks.common.conventions.advantage import Estimate, faded
from blueprint.workbooks.common.conventions.choices import Choices
from blueprint.workbooks.common.definitions.checks import Identity, largest


def identities(made: Estimate, r: Block, S: Block, use: Choices) -> list[Identity]:
    """Runs the recursion of the advantage at the ends of λ and γ."""
    return [lambda_0(made, S, use), _lambda_1(made, r, S, use), gamma_0(made, r, S, use)]


def lambda_0(made: Estimate, S: Block, use: Choices) -> Identity:
    """With λ = 0 no later TD error counts: A is δ, but in a hole."""
    told = "advantage for λ = 0"
    A = faded("identity.lambda_0", "A_λ0", told, made.td_errors, made.over, S, use, use.used["gamma"] * 0)
    off = block("check.lambda_0", (n, t), "|A_λ0−δ|", "λ = 0: advantage is the TD error")
    off[n, t] = (1 - made.over[n, t]) * abs(A[n, t] - made.td_errors[n, t])
    return Identity((A,), off)


def _lambda_1(made: Estimate, r: Block, S: Block, use: Choices) -> Identity:
    """With λ = 1 the values in between cancel: A + V is the discounted reward to go."""
    gamma, over = use.used["gamma"], made.over
    A = faded("identity.lambda_1", "A_λ1", "advantage for λ = 1", made.td_errors, over, S, use, gamma * 1)
    G = block("identity.to_go", (n, t), "G", "discounted reward to go")
    off = block("check.lambda_1", (n, t), "|A_λ1+V−G|", "λ = 1: advantage + value is reward to go")
    G[n, t.last + 1] = 0
    G[n, t] = (S[n, t] - over[n, t]) * (r[n, t] + gamma * G[n, t + 1]) + over[n, t] * G[n, t + 1]
    size = largest(A, made.td_errors, made.ahead)
    off[n, t] = S[n, t] * abs(A[n, t] + made.ahead[n, t] - G[n, t]) / maximum(1, size.residual)
    return Identity((A, G, *size.listed), off)


def gamma_0(made: Estimate, r: Block, S: Block, use: Choices) -> Identity:
    """With γ = 0 nothing later counts, whatever λ is: A is r − V, but in a hole."""
    here = S[n, t] - made.over[n, t]
    delta = block("identity.gamma_0_td", (n, t), "δ_γ0", "TD error for γ = 0")
    delta[n, t] = here * (r[n, t] - made.V[n, t])
    told = "advantage for γ = 0"
    A = faded("identity.gamma_0", "A_γ0", told, delta, made.over, S, use, use.used["gae_lambda"] * 0)
    off = block("check.gamma_0", (n, t), "|A_γ0−r+V|", "γ = 0: advantage is reward − value")
    off[n, t] = here * abs(A[n, t] - r[n, t] + made.V[n, t])
    return Identity((delta, A), off)
