"""Misconceptions in the adaptive KL controller."""

from blueprint.misconceptions import becomes, equation, instead, of, operand, operation, row, swapped, turned, without

# fmt: off
MISCONCEPTIONS = (
    *of("kl.seq_sum",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div"))),
    *of("responses.kl_per_word",
        ("not-per-token", "The KL of a response is not divided by its length.", operand("div"))),
    *of("kl.token_mean",
        ("sum-for-mean", "The sum is not divided by the number of responses.", operand("div")),
        ("sums-for-means", "The responses' sums are averaged, not their means per token.",
         instead("responses.kl_per_word", "responses.kl"))),
    *of("kl.fed",
        ("mean-per-token-fed", "The mean per token is fed; which statistic is in use is said on Inputs.", row("kl.token_mean")),
        ("sum-per-response-fed", "The sum per response is fed; which statistic is in use is said on Inputs.", row("kl.seq_sum"))),
    *of("error.raw",
        ("one-forgotten", "The − 1 is forgotten: the error is how far KL/KL_goal is from 1.", operand("sub")),
        ("error-turned", "The sign is turned: too much KL is an error above 0.", turned()),
        ("difference-for-proportion", "The difference is not divided by the goal: the error is a proportion, KL/KL_goal − 1.",
         equation(lambda b: b["kl.fed"][b["kl.fed"].axes] - b["target"])),
        ("upside-down", "The proportion is upside down: it is KL/KL_goal.", swapped("kl.fed", "target"))),
    *of("error",
        ("not-clipped", "The error is not clipped.", row("error.raw")),
        ("below-not-clipped", "The error is not clipped from below.", operand("maximum", 1)),
        ("above-not-clipped", "The error is not clipped from above.", operand("minimum", 1))),
    *of("factor",
        ("error-turned", "The error is subtracted: with too much KL, β grows.", turned("error")),
        ("one-forgotten", "The 1 is forgotten: β is multiplied by 1 + e·n/K.", operand("add", 1)),
        ("raw-for-clipped", "The raw error stands where the clipped one should.", instead("error", "error.raw")),
        ("upside-down", "n/K is upside down: the horizon divides.", swapped("n_steps", "horizon")),
        ("steps-forgotten", "n, the number of steps, is forgotten.", without("n_steps"))),
    *of("kl_coef.after",
        ("divided-for-multiplied", "β is divided by the factor: it is multiplied.", operation("mul", "div")),
        ("factor-added", "The factor is added: β is multiplied by it.", operation("mul", "add")),
        ("from-the-start", "It begins at β_0 again: each update goes on from the β before it.",
         becomes("kl_coef.before", lambda b: b["kl_coef"].expression()))),
)
# fmt: on
