"""Steps of an optimiser: the demonstrations become likelier, step by step."""

from blueprint.workbooks.common.epochs import Beside, Drawn, repeated
from blueprint.workbooks.sft.backward import MOVED
from blueprint.workbooks.sft.policy import WEIGHTS

SHOWN = Beside(
    "the same texts, step by step: the demonstrations become likelier, the perplexity falls",
    {
        "What is made smaller": ("total_loss",),
        "How well the policy predicts the labels": ("nll", "perplexity", "token_accuracy"),
        "How undecided it is": ("entropy",),
    },
    {
        "Loss": Drawn({"loss": "total_loss"}, "loss", "Falls while the steps are short enough, on these texts alone."),
        "Perplexity": Drawn(
            {"perplexity": "perplexity"}, "exp(NLL)", "Among as many equally likely tokens the policy would be as unsure."
        ),
        "Token accuracy and entropy": Drawn(
            {"token accuracy": "token_accuracy", "entropy": "entropy"}, "share; nats",
            "Accuracy leaps, a token at a time; the entropy falls as the policy makes up its mind.",
        ),
    },
)  # fmt: skip

EPOCHS = repeated(WEIGHTS, ("Policy", "Loss", "Diagnostics"), MOVED.of, SHOWN)
