"""Every quantity of a step of a reward model that a file may have logged, in the order of derivation."""

from blueprint.verifying import Axes, Quantity

PAIRS = Axes("pair", "", "pair")
SCORES = ("chosen.score", "rejected.score")
AT_POSITIONS = ("chosen.position_scores", "rejected.position_scores")
MADE_OF = (*SCORES, *AT_POSITIONS)
MEANS = ("mean.score", "least.score", "largest.score", "mean.chosen", "mean.rejected")
LOSSES = ("loss.pair", "preference_loss", "total_loss")
ALL = {
    each.name: each
    for each in (
        *(Quantity(name, (), AT_POSITIONS) for name in SCORES),
        *(Quantity(name, SCORES, MADE_OF) for name in MEANS),
        Quantity("mean.margin", SCORES, MADE_OF),
        Quantity("accuracy", SCORES, MADE_OF),
        Quantity("loss.pair", SCORES, MADE_OF),
        Quantity("preference_loss", (*SCORES, "loss.pair"), MADE_OF),
        Quantity("total_loss", (*SCORES, "loss.pair", "preference_loss"), MADE_OF),
    )
}
