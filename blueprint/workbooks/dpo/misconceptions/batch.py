"""Misconceptions of KTO, and of what is made of all pairs: weights, NLL, means, and what is watched."""

from blueprint.language import at_most
from blueprint.misconceptions import becomes, equation, instead, of, operand, row, swapped, turned, without, zero

# fmt: off
KTO = (
    *of("kto.ratio",
        ("prompt-counted", "Prompt and pads are in the sum: only the tokens of the response count.", without("response.tokens"))),
    *of("kto.z",
        ("below-0", "z may fall below 0 here: it is an estimate of a KL, and held at 0.", operand("maximum", 1)),
        ("divided-by-pairs", "It is divided by the number of pairs: each has two mismatched responses.",
         becomes("count.pairs", lambda b: b("count.pairs") / 2))),
    *of("kto.against.argument",
        ("z-forgotten", "z is left out: KTO asks by how much a response is above z.", zero("kto.held")),
        ("sign-forgotten", "A bad response has the same sign as a good one: it is to lie below z.", without("kto.sign")),
        ("beta-forgotten", "β is forgotten.", without("beta"))),
    *of("kto.weight",
        ("weights-exchanged", "λ_D and λ_U are exchanged: λ_D is for good responses.",
         swapped("loss.desirable", "loss.undesirable"))),
    *of("loss.kto",
        ("value-for-loss", "λ·σ is the value: the loss is λ·(1 − σ).",
         equation(lambda b: b("kto.weight") * b("kto.against.likely"))),
        ("weight-forgotten", "The weight λ is forgotten.", without("kto.weight"))),
    *of("loss.kto_mean|loss.apo_zero_unpaired_mean",
        ("divided-by-pairs", "It is divided by the number of pairs: here every response counts by itself.",
         instead("loss.responses", "loss.over"))),
)
WEIGHT = (
    *of("weight.right",
        ("sum-of-squares-forgotten", "log Σ π² is not subtracted: WPO measures by how decided the policy is.",
         zero("weight.away"))),
    *of("loss.weighed",
        ("weight-forgotten", "The weight of the pair is forgotten.", without("weight.used"))),
)
LIKELIHOOD = (
    *of("nll.counted",
        ("rejected-too", "Rejected responses are in it: only chosen ones are to become likelier.", without("response.chosen"))),
    *of("nll.of_token", ("sign-forgotten", "The minus is forgotten.", turned())),
    *of("nll.token",
        ("mean-of-means", "This is the mean of the responses' means: here every token counts alike.", row("nll.sequence_mean"))),
    *of("nll.sequence_mean",
        ("every-token-alike", "Every token counts alike here: every response is to.", row("nll.token"))),
    *of("nll",
        *((f"{word}-for-the-mean", f"It is averaged by {way}; how it is averaged is said on Conventions.", row(f"nll.{name}"))
          for word, name, way in (("token", "token", "token"), ("response", "sequence_mean", "response"),
                                  ("cell", "cells", "cell, pads and all")))),
)
WHOLE = (
    *of("loss.paired",
        ("sum-for-mean", "The sum is not divided by the number of pairs.", operand("div")),
        ("divided-by-responses", "It is divided by the number of responses: a pair counts once.",
         instead("loss.over", "loss.responses"))),
    *of("preference_loss",
        ("mix-not-averaged", "It is not divided by 1 + mix.", operand("div")),
        ("mix-forgotten", "The classifier's loss is left out.", row("loss.preference"))),
    *of("adds.nll",
        ("weight-forgotten", "The weight of the NLL is forgotten.", without("loss.nll_coef"))),
    *of("total_loss",
        ("nll-subtracted", "The NLL is subtracted: chosen responses would become less likely.", turned("adds.nll")),
        ("nll-forgotten", "The NLL is left out.", zero("adds.nll"))),
)
WATCHED = (
    *of("{side}.logged.sum",
        ("reference-forgotten", "The reference is not subtracted.", zero("{side}.sum_ref"))),
    *of("{side}.logged",
        ("beta-though-none", "β stands in it: this library logs the log-ratio.", row("{side}.reward")),
        ("beta-forgotten", "β is forgotten: a reward is logged with it.", row("{side}.ratio"))),
    *of("watch.right",
        ("tie-is-right", "A tie counts as right: only a reward that is larger does.",
         equation(lambda b: at_most(b("rejected.logged"), b("chosen.logged"))))),
    *of("rewards.accuracies",
        ("count-for-share", "The count is not divided by the number of pairs.", operand("div"))),
    *of("rewards.margins",
        ("chosen-for-margin", "This is the mean reward of chosen responses: the rejected ones are subtracted.",
         row("rewards.chosen"))),
)
BATCH = (*KTO, *WEIGHT, *LIKELIHOOD, *WHOLE, *WATCHED)
# fmt: on
