"""The charts of the optimum: three policies, what both losses see on the way, and implicit rewards beside the true ones."""

from blueprint.page.outline import Chart, Scale, Section, Series, Sheet
from blueprint.workbooks.common import Rows

LEAD = "the same numbers as pictures, which follow what you type"


def charts_sheet(of: Rows) -> Sheet:
    """Outlines the sheet."""
    return Sheet("Charts", LEAD, (Section("Pictures", (_way(of), _policies(of), _preferences(of))),))


def _way(of: Rows) -> Chart:
    x = of["way.step"]
    return Chart(
        "From the reference through the optimum, as PPO and as DPO see it", "scatter",
        (Series("J* − J: PPO", of["way.below"], x), Series("L − L*: DPO", of["way.above"], x)),
        Scale("step: 0 is π_ref, 1 is π*"), Scale("distance from the best", 0),
        "Both touch 0 at the same policy, though one counts responses as often as they are drawn, and the other pairs.",
    )  # fmt: skip


def _policies(of: Rows) -> Chart:
    words = of["response"]
    return Chart(
        "Every response under the reference, the policy and the optimum", "bars",
        (Series("π_ref", of["response.p"], words), Series("π", of["policy.p"], words), Series("π*", of["optimum.p"], words)),
        Scale("response"), Scale("probability"),
        "A good response gains as much as its reward is above the others; one the reference never gives stays at 0.",
        "0.00",
    )  # fmt: skip


def _preferences(of: Rows) -> Chart:
    return Chart(
        "How often the left response is preferred, over the difference of rewards", "scatter",
        (Series("Bradley–Terry: σ(Δr)", of["prefers.p"], of["pair.difference"], dots=True),
         Series("what the policy says: σ(h)", of["says.p"], of["pair.difference"], dots=True)),
        Scale("Δr = r_i − r_k"), Scale("preferred", 0),
        "An S, no straight line: the log-odds are proportional to Δr, the probability is not. At π* the dots coincide.",
    )  # fmt: skip
