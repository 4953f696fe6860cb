"""The definitions, a function of blocks for each step of the paper; other rooms import them from here."""

from blueprint.workbooks.common.definitions.aggregation import (
    Average,
    Part,
    Total,
    Totals,
    filtered,
    guard,
    total,
    weights,
)
from blueprint.workbooks.common.definitions.checks import all_in_range, not_negative
from blueprint.workbooks.common.definitions.choices import (
    EVERYWHERE,
    ROWS,
    Choices,
    Row,
    Step,
    Used,
    case,
    clamped,
    defined,
    fixed,
    i,
    j,
    k,
    limited,
    n,
    one,
    rows,
    t,
    v,
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
from blueprint.workbooks.common.definitions.ordered import FIXED, Given, Lined, Ordered
from blueprint.workbooks.common.definitions.places import Counted, Places, counted, ends_at, places
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
    "EQUAL_RETURNS", "EVERYWHERE", "FIXED", "L2", "NEW", "OLD", "ROWS", "After", "Average", "Choices", "Clip", "Counted",
    "Counting", "Distribution", "Estimates", "Gae", "Given", "Head", "Identity", "Lined", "Memory", "Moments", "Network",
    "Ordered", "Paid", "Part", "Places", "PolicyKL", "Reach", "Rewards", "Row", "Score", "Statistics", "Step", "Total",
    "Totals", "Used", "ValueLoss", "Whitened", "all_in_range", "any_of", "at_start", "below", "case", "change_of",
    "chosen_logprobs", "clamped", "clip", "clip_flags", "count", "counted", "counted_values", "counting", "defined",
    "effective_sample_size", "ends", "ends_at", "entropy", "exact_kl", "explained_variance", "filtered", "fixed", "gae",
    "gamma_0", "guard", "head_weights", "holes", "i", "identities", "j", "k", "kept_values", "kl_estimates", "lambda_0",
    "largest", "limited", "logits", "lowest_ratio", "mean", "means_of", "memory_weights", "n", "not_negative", "one",
    "outside", "penalised", "per_response", "places", "policy_kl", "price", "residual", "rewards", "rnn", "rows",
    "scalar_head", "score", "score_of", "score_stays", "size", "softmax", "spread", "statistics", "surrogate", "t",
    "tempered", "total", "updated", "v", "value_loss", "variance_floor", "weights", "where_paid", "whitened_advantages",
    "with_lambda", "word_weights",
]  # fmt: skip
