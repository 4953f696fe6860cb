"""Misconceptions from the log-probs of tokens to the margin of a pair."""

from blueprint.language import Expr, at_most, exp, size, where
from blueprint.misconceptions import Names, becomes, equation, of, operand, operation, row, turned, without, zero


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
