"""Start: what this is, the loss and its parts, the map, and every piece with its number."""

from __future__ import annotations

from dataclasses import replace

from blueprint.language import Block
from blueprint.page.outline import Box, Flow, Judged, Note, Piece, Sample, Section, Sheet, Tour, Unchanged
from blueprint.workbooks.classic_ppo.loss import Loss
from blueprint.workbooks.classic_ppo.metrics import Metrics
from blueprint.workbooks.classic_ppo.rollout import Rollout
from blueprint.workbooks.classic_ppo.signal import Signal
from blueprint.workbooks.common.sheets.averaged import TOTAL, with_origins
from blueprint.workbooks.common.sheets.start import CHECKING, COLUMNS, LEGEND, WIDTHS, Made, made_by

HEADING = "Classic PPO by hand"
READING = (
    "PPO as in games and control: several environments run side by side, rewards are given, and an episode may end anywhere.",
    "A column is one step of one environment, on every sheet. A row is a quantity with one formula from end to end.",
    "Type into cream cells; everything else follows. On Inputs one picks a library: CleanRL, Stable-Baselines3, TorchRL, rlax.",
)
MEANS = "Beside each value stands what it is a mean or a sum of, over all steps of all environments; its link leads to the row."
SIGNS = (
    "end: after the last step · Σ: one number for the environment · batch: one number for all environments",
    "n: environment · t: step · a: action, by its id from 0 · [t + 1]: the next column · Σ_n,t: sum over all steps",
)
ACTIONS = Sample("0.4321", "formula", "probability", "lilac: probabilities of the actions")
ON, UP, DOWN, LINE, DASH = "→", "↗", "↘", "───────────", "──"
LOGGED = {
    "approximate KL, k1": ("approx_kl.k1", "approx_kl.k1"),
    "approximate KL, k3": ("approx_kl.k3", "approx_kl.k3"),
    "clip fraction": ("clip_fraction", "clip_fraction.outside"),
    "effective sample size": ("ratio.effective", "ratio.effective"),
    "explained variance, old critic": ("explained_variance.old", "explained_variance.old"),
    "explained variance, new critic": ("explained_variance.new", "explained_variance.new"),
}
"""Metrics that the first sheet shows: number, and the row to which its link leads."""
FOR_WORDS = ("weights", "memory", "probability")
"""Looks that this workbook has not, or for something else than words."""


def start_sheet(told: Made, run: Rollout, made: Signal, loss: Loss, watch: Metrics, verdict: Block) -> Sheet:
    """Outlines the first sheet."""
    looks = (*(look for look in LEGEND if look.role not in FOR_WORDS and not look.faded), ACTIONS)
    ways = (text for text in CHECKING if "blueprint explain" not in text)
    sections = (
        Section("What this is", tuple(map(Note, READING))),
        Section(
            "Does everything add up?",
            (Judged("all checks", verdict), Unchanged("inputs, against those delivered")),
        ),
        Section("The loss", tuple(with_origins(_parts(loss))), COLUMNS),
        Section("The map: each box leads to its row, and each sheet leads back here", (_flow(run, made, loss),)),
        Section(
            "The pieces, in the order of computation",
            (*with_origins(_pieces(run, made, loss, watch)), Note(MEANS)),
            COLUMNS,
        ),
        Section("The sheets", (Tour(),)),
        Section("Colours", looks),
        Section("Signs", tuple(map(Note, SIGNS))),
        Section("How to check this file", (*map(Note, ways), Note(made_by(told.facts)))),
    )
    return Sheet("Start", f"{told.title}: {told.about}", sections, widths=WIDTHS, heading=HEADING, first=None)


def shown_on_start(run: Rollout, made: Signal, loss: Loss, watch: Metrics) -> list[Block]:
    """Returns the numbers that the first sheet shows, each once."""
    return list(dict.fromkeys(piece.shown for piece in (*_parts(loss), *_pieces(run, made, loss, watch))))


def _parts(loss: Loss) -> list[Piece]:
    """Lists the total loss and the three numbers that add up to it."""
    titles = ("total loss", "policy loss", "value loss, weighted", "entropy bonus, weighted")
    total, *parts = (
        Piece(title, b, b) for title, b in zip(titles, (loss.made.total.total, *loss.made.total.parts), strict=True)
    )
    return [replace(total, of=TOTAL), *parts]


def _pieces(run: Rollout, made: Signal, loss: Loss, watch: Metrics) -> list[Piece]:
    """Lists the pieces of PPO under their usual names."""
    found, means = watch.named, loss.made.total.means
    return [
        Piece("rewards", found[f"mean.{run.rewards.name}"], run.rewards),
        Piece("TD errors", found[f"mean.{made.gae.td_errors.name}"], made.gae.td_errors),
        Piece("GAE advantage estimation", made.white.of.mean, made.gae.advantages),
        Piece("value targets (from the old critic)", found["returns.mean"], made.gae.returns),
        Piece("advantage whitening", made.white.of.divisors[-1], made.white.used, of="what is divided by"),
        Piece("importance-sampling ratios", found["ratio.mean"], loss.made.clip.ratio),
        Piece("clipped surrogate (PPO clip)", means["policy_loss"], loss.made.clip.smaller),
        Piece("value loss", means["value_loss"], loss.made.critic.loss),
        Piece("entropy bonus", means["entropy"], loss.entropy),
        *(Piece(title, found[name], found[row]) for title, (name, row) in LOGGED.items()),
    ]


def _flow(run: Rollout, made: Signal, loss: Loss) -> Flow:
    """Draws the way from what is given to the total loss; what enters from elsewhere is named below its box."""
    total, clip, value = loss.made.total, loss.made.clip, loss.made.critic
    assert value.larger.row is not None

    def with_(title: str, block: Block) -> Box:
        return Box(f"with {title}", block, small=True)

    return Flow((
        (Box("reward r (given)", run.rewards), ON, Box("TD error δ", made.gae.td_errors), ON,
         Box("advantage A", made.gae.advantages), ON, Box("whitened Â", made.white.used)),
        (Box("value V_old, V(next) (given)", run.V_old), UP, with_("stop", made.stop), "",
         with_("done", run.head.done), DOWN, Box("return R", made.gae.returns)),
        (Box("scores of π_old (given)", run.old.over.logits), ON, Box("log π_old", run.old.logprobs), DOWN),
        (Box("scores of π_θ (given)", run.new.over.logits), ON, Box("log π_θ", run.new.logprobs), ON, Box("ratio ρ", clip.ratio),
         ON, Box("clipped surrogate", clip.smaller), ON, Box("policy loss", total.means["policy_loss"]), DOWN),
        ("", DOWN, "", "", "", "", with_("Â", made.white.used)),
        ("", "", Box("entropy H", loss.entropy), DASH, LINE, DASH, LINE, ON, Box("mean entropy", total.means["entropy"]), ON,
         Box("TOTAL LOSS", total.total)),
        (Box("value V (given)", run.V_new), ON, Box("value clipped", value.held), ON,
         Box("larger distance", value.larger.row), ON, Box("loss of the step", value.loss), ON,
         Box("value loss", total.means["value_loss"]), UP),
        ("", "", with_("V_old", run.V_old), "", with_("return R", made.gae.returns)),
    ))  # fmt: skip
