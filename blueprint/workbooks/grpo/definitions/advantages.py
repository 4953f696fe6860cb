"""From the advantage of a response to that of each of its tokens.

Sources: GRPO, 2402.03300 (the same on every token); REINFORCE++, 2501.03262 (reward-to-go, whitened over tokens); ReMax,
2310.10505.
"""

from blueprint.language import Sum, equal, maximum, sqrt, where
from blueprint.workbooks.common import with_weight
from blueprint.workbooks.grpo.definitions.axes import n, t
from blueprint.workbooks.grpo.definitions.groups import Group
from blueprint.workbooks.grpo.definitions.rewards import Rewards, paid_where
from blueprint.workbooks.grpo.definitions.steps import Given, Row, Steps


def advantages(of: Group, given: Rewards, m: Given, s: Steps) -> Row:
    """Gives each token its part. m: (n, t), with an end cell."""
    s.under("The advantage of each token")
    gamma = s.use.used["gamma"]
    A = s.of_response("advantage.response", of.advantages)
    b = s.of_response("advantage.baseline", of.baseline)
    last = s.row("advantage.last", m[n, t] * (1 - m[n, t + 1]))
    own = s.pick(
        "advantage.own",
        (n,),
        "advantage.credit",
        outcome=A[n],
        to_go=A[n],
        reward_to_go=given.shaped[n],
        discounted=A[n],
    )
    per_token = s.pick("advantage.kl_per_token", (), "kl.place", **paid_where(reward_token=1, after=1))
    placed = s.row("advantage.placed", last[n, t] * own[n] - with_weight(per_token, given.paid[n, t]))
    ahead = s.row("advantage.to_go")
    ahead[n, t.last + 1] = 0
    ahead[n, t] = m[n, t] * (placed[n, t] + gamma * ahead[n, t + 1])
    fading = s.row("advantage.fading")
    fading[n, t.last + 1] = 1
    fading[n, t] = where(equal(m[n, t], 1), gamma * fading[n, t + 1], 1)
    credit = s.pick(
        "advantage.credited", (n, t), "advantage.credit", outcome=A[n], to_go=ahead[n, t],
        reward_to_go=ahead[n, t] - b[n], discounted=A[n] * fading[n, t],
    )  # fmt: skip
    less_kl = s.pick("advantage.less_kl", (), "kl.place", **paid_where(advantage=1))
    return _whitened(s.row("advantage.token", m[n, t] * (credit[n, t] - with_weight(less_kl, given.paid[n, t]))), m, s)


def _whitened(A: Given, m: Given, s: Steps) -> Row:
    """Whitens the advantages over all tokens, where that is asked for; ε stands inside or outside of the root."""
    number, eps = s.use.used, s.use.used["advantage.whiten_eps"]
    N = s.one("advantage.count", Sum((n, t), m[n, t]))
    divided_by = s.one("advantage.divided_by", N + number["advantage.mean_eps"])
    mean = s.one("advantage.mean", Sum((n, t), m[n, t] * A[n, t]) / divided_by)
    centred = s.row("advantage.centred", m[n, t] * (A[n, t] - mean))
    bessel = s.one("advantage.bessel", N / maximum(N - number["advantage.whiten_ddof"], 1))
    variance = s.one("advantage.variance", Sum((n, t), centred[n, t] * centred[n, t]) / divided_by * bessel)
    divisor = s.pick(
        "advantage.divisor", (), "advantage.whiten_form", inside=sqrt(variance + eps), at_least=sqrt(maximum(variance, eps)),
        outside=sqrt(variance) + eps, centre=1,
    )  # fmt: skip
    white = s.row("advantage.whitened", centred[n, t] / divisor)
    return s.pick("advantages", (n, t), "advantage.whiten", none=A[n, t], responses=A[n, t], tokens=white[n, t])
