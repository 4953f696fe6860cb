"""Mean, variance and what a centred number is divided by, in the forms of the libraries.

w(z) = (z − μ)/√(σ² + ε), or √max(σ², ε), √σ² + ε, max(√σ², ε); the sums of a mean are divided by N + mean_eps, and a
variance with ddof is multiplied by n/(n − ddof), n = N + ddof_eps.
"""

from __future__ import annotations

from torch import Tensor

from blueprint.witness.conventions.options import Options
from blueprint.witness.models import Named


def moment_rows(name: str, values: Tensor, counted: Tensor, options: Options) -> Named:
    """Returns count, mean, variance and divisors of values [F, N, T] where `counted` is 1, each [F]."""
    count = options.sums.total(f"{name}.count", counted)
    divided_by = count.clamp(min=1) + options.number("advantage.mean_eps", 1)
    mean = options.sums.total(f"{name}.sum", counted * values) / divided_by
    squares = options.sums.squares(f"{name}.squares", counted, values, mean)
    free = count + options.number("advantage.ddof_eps", 1)
    bessel = free.clamp(min=1) / (free - options.number("advantage.ddof", 1)).clamp(min=1)
    variance = bessel * squares / divided_by
    found = {"counted": counted, "count": count, "mean": mean, "bessel": bessel, "variance": variance}
    return {f"{name}.{row}": each for row, each in (found | divisors(variance, options)).items()}


def divisors(variance: Tensor, options: Options) -> Named:
    """Returns every form of what is divided by, and the one in use, of a variance [F]."""
    eps = options.number("whiten_eps", 1)
    root = variance.sqrt()
    found = {
        "rsqrt_var_plus": (variance + eps).sqrt(),
        "clamp": variance.maximum(eps).sqrt(),
        "std_plus": root + eps,
        "std_max": root.maximum(eps),
    }
    return found | {"divisor": options.pick("advantage.eps_form", found)}
