"""Misconceptions of DPO and its relatives beside the definitions; those of soft-max and of the way back, common to all
kinds, stand behind these.
"""

from blueprint.language import Expr, at_most, exp, less, log, maximum, size, where
from blueprint.misconceptions import (
    Names,
    becomes,
    equation,
    instead,
    of,
    operand,
    operation,
    row,
    swapped,
    turned,
    without,
    zero,
)
from blueprint.workbooks.common.misconceptions import MISCONCEPTIONS as COMMON


def columns(b: Names) -> Expr:
    """Returns how many columns a response has, pads and all."""
    return size(b["response.tokens"].axes[-1])


# fmt: off
RESPONSE = (
    *of("{model}.sum",
        ("prompt-counted", "The prompt's tokens are in the sum: only those of the response count.",
         becomes("{model}.weighed", lambda b: b("text.tokens"))),
        ("pads-counted", "All columns are in the sum, prompt and pads too: only the tokens of the response count.",
         without("{model}.weighed")),
        ("probability-for-log", "Probabilities are added up: log-probs are.",
         becomes("{model}.logprobs", lambda b: exp(b("{model}.logprobs"))))),
    *of("{model}.mean",
        ("pads-in-the-mean", "It is divided by all columns, pads and all: only the tokens that count are counted.",
         equation(lambda b: b("{model}.sum") / columns(b))),
        ("not-divided", "This is the sum: it is not divided by the number of tokens.", row("{model}.sum"))),
    *of("{model}.logp",
        ("mean-for-sum", "This is the mean of a token; what is compared, sum or mean, is said on Conventions.",
         row("{model}.mean")),
        ("sum-for-mean", "This is the sum; what is compared, sum or mean, is said on Conventions.", row("{model}.sum"))),
    *of("logp.shorter",
        ("longer-for-shorter", "This is the longer of the two: tokens that both responses have are as many as the shorter one has.",
         operation("minimum", "maximum"))),
    *of("logp.beyond",
        ("shared-tokens-weighed-less", "α stands on the tokens that both responses have: it is for those beyond.",
         equation(lambda b: where(at_most(b("logp.place"), b("logp.shared")), b("logp.ld_alpha"), 1)))),
    *of("policy.curved",
        ("not-divided-by-alpha", "It is not divided by α: AlphaPO's reward is (1 − e^(−α·S))/α.", operand("div"))),
)
MARGIN = (
    *of("{side}.against",
        ("reference-forgotten", "The reference is not subtracted: DPO asks how much likelier a response has become.",
         zero("{side}.logp_ref")),
        ("reference-added", "The reference's log-prob is added: it is subtracted.", turned("{side}.logp_ref")),
        ("ratio-upside-down", "The ratio is upside down: it is log π_θ − log π_ref.", turned())),
    *of("{side}.ratio",
        ("reference-forgotten", "This is the log-prob alone: here a reference is used.", row("{side}.logp")),
        ("reference-though-none", "A reference is subtracted: SimPO, CPO and ORPO have none.", row("{side}.against"))),
    *of("{side}.reward",
        ("beta-forgotten", "β is forgotten: the implicit reward is β times the log-ratio.", without("beta")),
        ("log-prob-for-ratio", "β times the log-prob stands there: the implicit reward is β times the log-ratio.",
         becomes("{side}.ratio", lambda b: b("{side}.logp"))),
        ("divided-by-beta", "It is divided by β: the implicit reward is β times the log-ratio.",
         equation(lambda b: b("{side}.ratio") / b("beta")))),
    *of("margin",
        ("sides-exchanged", "Chosen and rejected are exchanged: the margin is that of the chosen over the rejected response.",
         turned()),
        ("ratios-added", "Both are added: the margin is their difference.", turned("rejected.shaped")),
        ("chosen-alone", "The rejected response is left out: only the difference of both is known.", zero("rejected.shaped")),
        ("reference-forgotten", "The reference is left out of the margin.",
         equation(lambda b: b("chosen.logp") - b("rejected.logp")))),
    *of("margin.scaled",
        ("beta-forgotten", "β is forgotten: the rewards differ by β·h.", without("beta")),
        ("divided-by-beta", "h is divided by β: it is multiplied.", equation(lambda b: b("margin") / b("beta"))),
        ("beta-turned", "The sign of β is wrong: the loss would make the rejected response likelier.", turned())),
    *of("margin.argument",
        ("gamma-added", "γ is added: the chosen response is to be ahead by γ, and only what is beyond counts.",
         turned("loss.gamma")),
        ("gamma-inside-beta", "γ is multiplied by β, too: u = β·h − γ.",
         equation(lambda b: b("beta") * (b("margin") - b("loss.gamma")))),
        ("gamma-forgotten", "The target margin γ is left out.", zero("loss.gamma"))),
    *of("margin.right",
        ("probability-for-log", "This is σ(u): its logarithm is asked for.", row("loss.sure")),
        ("wrong-side", "This is log σ(−u), that the rejected response is preferred.", row("margin.wrong"))),
    *of("margin.wrong",
        ("one-minus-the-log", "This is 1 − log σ(u): log(1 − σ(u)) is asked for, which is log σ(−u).",
         equation(lambda b: 1 - b("margin.right")))),
)
PAIRS = (*RESPONSE, *MARGIN)
# fmt: on


# fmt: off
OF_MARGIN = (
    *of("loss.sigmoid",
        ("smoothing-on-the-wrong-side", "ε stands on the side of the chosen response: 1 − ε does, and ε on the other.",
         swapped("margin.right", "margin.wrong")),
        ("smoothing-forgotten", "Label smoothing is forgotten.", zero("loss.label_smoothing")),
        ("sign-forgotten", "The minus is forgotten: a loss falls where the probability rises.", turned()),
        ("probability-for-loss", "This is 1 − σ(u), which weighs the gradient: the loss is −log σ(u).", row("loss.unsure"))),
    *of("loss.robust",
        ("not-divided", "It is not divided by 1 − 2ε: without that the estimate is not free of bias.", operand("div")),
        ("divided-by-one-minus-eps", "It is divided by 1 − ε: by 1 − 2ε it is.",
         equation(lambda b: b("loss.turned") / (1 - b("loss.label_smoothing"))))),
    *of("loss.turned",
        ("smoothing-as-in-cdpo", "ε·log σ(−u) is subtracted, as in cDPO: the robust loss adds it.", turned("margin.wrong"))),
    *of("loss.hinge",
        ("not-cut-at-0", "It falls below 0: beyond a margin of 1 nothing is gained.", operand("maximum", 1)),
        ("without-the-one", "The hinge begins at 0: it begins at a margin of 1.",
         equation(lambda b: maximum(0, -b("margin.argument"))))),
    *of("loss.slic",
        ("one-for-beta", "1 stands where the margin δ, here β, should.", equation(lambda b: maximum(0, 1 - b("margin")))),
        ("scaled-margin", "β·h stands where h should: SLiC's β is the margin itself.", instead("margin", "margin.scaled"))),
    *of("loss.ipo_target|loss.sppo_target",
        ("one-over-beta", "This is 1/β: half of it is asked for.", equation(lambda b: 1 / b("beta"))),
        ("half-of-beta", "This is β/2: 1/(2β) is asked for.", equation(lambda b: b("beta") / 2))),
    *of("loss.ipo_off",
        ("scaled-margin", "β·h stands where h should: IPO's β is in the target alone.", instead("margin", "margin.scaled")),
        ("target-forgotten", "The target 1/(2β) is not subtracted.", zero("loss.ipo_target"))),
    *of("loss.ipo",
        ("not-squared", "It is not squared.", row("loss.ipo_off"))),
    *of("loss.exo",
        ("eps-exchanged", "ε and 1 − ε are exchanged.", becomes("loss.exo_eps", lambda b: 1 - b("loss.exo_eps"))),
        ("wrong-half-forgotten", "The half in which the rejected response is preferred is left out.", zero("loss.unsure"))),
    *of("loss.discopop_at",
        ("temperature-multiplies", "It is multiplied by τ: it is divided.",
         equation(lambda b: b("margin.argument") * b("loss.discopop_tau")))),
)
OF_REWARDS = (
    *of("loss.sppo_rejected",
        ("target-subtracted", "1/(2β) is subtracted, as for the chosen response: the rejected one is to lie at −1/(2β).",
         turned("loss.sppo_target"))),
    *of("loss.nca",
        ("rejected-forgotten", "The rejected response is left out.", zero("rejected.not_good")),
        ("halves-forgotten", "Each half is taken whole.", equation(
            lambda b: -b("chosen.good") - b("chosen.not_good") - b("rejected.not_good")))),
    *of("loss.apo_zero",
        ("sides-exchanged", "Chosen and rejected are exchanged.", swapped("chosen.likely", "rejected.likely"))),
    *of("loss.apo_down",
        ("chosen-pushed-up", "The chosen reward is pushed up: APO-down pushes both down, the rejected one more.",
         turned("chosen.likely"))),
    *of("loss.bco_mean",
        ("divided-by-pairs", "It is divided by the number of pairs: each has two rewards.",
         becomes("count.pairs", lambda b: b("count.pairs") / 2))),
    *of("loss.bco_above|loss.bco_below",
        ("threshold-forgotten", "The threshold δ is left out.", zero("loss.bco_held")),
        ("difference-turned", "The difference is the wrong way round.", turned())),
    *of("loss.bco", ("rejected-forgotten", "The rejected response is left out.", zero("loss.bco_rejected"))),
    *of("true.margin", ("sides-exchanged", "Chosen and rejected are exchanged.", turned())),
    *of("loss.rpo_off",
        ("beta-forgotten", "h stands where β·h should: true rewards are compared with implicit ones.",
         instead("margin.scaled", "margin"))),
    *of("loss.rpo_backward|loss.rpo_forward",
        ("one-half-of-the-kl", "Only the half in which the chosen response is preferred is taken: a KL is a sum over both.",
         zero("loss.rpo_wrong"))),
    *of("loss.rpo_backward",
        ("other-kl", "It is weighed by the policy's preference: here the true one weighs.", instead("true.likely", "own.likely"))),
)
ODDS = (
    *of("{side}.log_odds",
        ("log-prob-for-odds", "This is log p: the log-odds are log p − log(1 − p).", row("{side}.logp")),
        ("log-for-probability", "1 − log p stands where 1 − p should.",
         equation(lambda b: where(less(b("{side}.logp"), 0), b("{side}.logp") - log(1 - b("{side}.logp")), 0)))),
    *of("odds.difference", ("sides-exchanged", "Chosen and rejected are exchanged.", turned())),
    *of("loss.orpo",
        ("beta-forgotten", "β is forgotten: it weighs the odds beside the NLL.", without("beta"))),
    *of("odds.batch", ("sides-exchanged", "Chosen and rejected are exchanged.", turned())),
)
FORMS = (*OF_MARGIN, *OF_REWARDS, *ODDS)
# fmt: on


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


MISCONCEPTIONS = (*PAIRS, *FORMS, *BATCH, *COMMON)
