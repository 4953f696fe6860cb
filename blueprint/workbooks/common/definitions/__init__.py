"""The definitions, a function of blocks for each step of the paper; other rooms import them from here."""

from blueprint.workbooks.common.definitions.aggregation import (
    Average,
    Filter,
    Guard,
    Part,
    Total,
    Totals,
    Weights,
    filtered,
    guard,
    total,
    weights,
)
from blueprint.workbooks.common.definitions.checks import Master, all_in_range, not_negative
from blueprint.workbooks.common.definitions.choices import (
    EVERYWHERE,
    ROWS,
    Choices,
    Row,
    Step,
    Used,
    fixed,
    limited,
    rows,
)
from blueprint.workbooks.common.definitions.distribution import (
    NEW,
    OLD,
    Distribution,
    Estimates,
    chosen_logprobs,
    entropy,
    exact_kl,
    kl_estimates,
    softmax,
)
from blueprint.workbooks.common.definitions.gae import After, Gae, Reach, gae, holes, kept_values, with_lambda
from blueprint.workbooks.common.definitions.identities import Identity, gamma_0, identities, lambda_0
from blueprint.workbooks.common.definitions.losses import (
    L2,
    Clip,
    ValueLoss,
    clip,
    counted_values,
    lowest_ratio,
    surrogate,
    value_loss,
)
from blueprint.workbooks.common.definitions.metrics import (
    EQUAL_RETURNS,
    Flags,
    PolicyKL,
    any_of,
    below,
    clip_flags,
    effective_sample_size,
    explained_variance,
    largest,
    means_of,
    outside,
    per_response,
    policy_kl,
    residual,
    size,
    variance_floor,
)
from blueprint.workbooks.common.definitions.networks import (
    Head,
    Memory,
    Network,
    Temperature,
    at_start,
    change_of,
    head_weights,
    logits,
    memory_weights,
    rnn,
    scalar_head,
    tempered,
    updated,
    word_weights,
)
from blueprint.workbooks.common.definitions.places import Counted, Places, counted, end_words, ends_at, places
from blueprint.workbooks.common.definitions.reward import (
    Paid,
    Rewards,
    Score,
    ends,
    penalised,
    price,
    rewards,
    score,
    score_of,
    score_stays,
    where_paid,
)
from blueprint.workbooks.common.definitions.whitening import (
    Counting,
    Moments,
    Statistics,
    Whitened,
    count,
    counting,
    mean,
    spread,
    statistics,
    whitened_advantages,
)

__all__ = [
    "EQUAL_RETURNS", "EVERYWHERE", "L2", "NEW", "OLD", "ROWS", "After", "Average", "Choices", "Clip", "Counted",
    "Counting", "Distribution", "Estimates", "Filter", "Flags", "Gae", "Guard", "Head", "Identity", "Master",
    "Memory", "Moments", "Network", "Paid", "Part", "Places", "PolicyKL", "Reach", "Rewards", "Row", "Score",
    "Statistics", "Step", "Temperature", "Total", "Totals", "Used", "ValueLoss", "Weights", "Whitened",
    "all_in_range", "any_of", "at_start", "below", "change_of", "chosen_logprobs", "clip", "clip_flags", "count", "counted",
    "counted_values", "counting", "effective_sample_size", "end_words", "ends", "ends_at", "entropy", "exact_kl",
    "explained_variance", "filtered", "fixed", "gae", "gamma_0", "guard", "head_weights", "holes", "identities",
    "kept_values", "kl_estimates", "lambda_0", "largest", "limited", "logits", "lowest_ratio", "mean", "means_of",
    "memory_weights", "not_negative", "outside", "penalised", "per_response", "places", "policy_kl", "price",
    "residual", "rewards", "rnn", "rows", "scalar_head", "score", "score_of", "score_stays", "size", "softmax",
    "spread", "statistics", "surrogate", "tempered", "total", "updated", "value_loss", "variance_floor", "weights",
    "where_paid", "whitened_advantages", "with_lambda", "word_weights",
]  # fmt: skip
