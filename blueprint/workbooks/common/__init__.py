"""What kinds share: definitions, conventions, labels, settings, the steps to signal, loss and metrics, and the sheets that every
workbook has. Kinds import it from here; rooms that need no more than the conventions read `conventions`.
"""

from blueprint.workbooks.common import checks
from blueprint.workbooks.common.backward import Backward, of_policy, of_written
from blueprint.workbooks.common.checks import (
    Identity,
    Witnessed,
    all_in_range,
    checks_sheet,
    gamma_0,
    identities,
    lambda_0,
    not_negative,
)
from blueprint.workbooks.common.conventions import LIVE, PRESET_DEFAULT, rlhf
from blueprint.workbooks.common.definitions.logprobs_and_kl import (
    NEW,
    OLD,
    chosen_logprobs,
    entropy,
    exact_kl,
    softmax,
)
from blueprint.workbooks.common.definitions.losses import Total, lowest_ratio, surrogate
from blueprint.workbooks.common.definitions.metrics import (
    EQUAL_RETURNS,
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
    Memory,
    head_weights,
    logits,
    memory_weights,
    rnn,
    scalar_head,
    tempered,
    word_weights,
)
from blueprint.workbooks.common.definitions.rewards_and_gae import (
    Counted,
    Counting,
    Gae,
    Places,
    Reach,
    Whitened,
    count,
    ends,
    ends_at,
    gae,
    kept_values,
    longest,
    mean,
    places,
    score_stays,
    spread,
    statistics,
    whitened_advantages,
    with_lambda,
)
from blueprint.workbooks.common.definitions.settings_presets_and_ranges import (
    PRESET,
    PresetTable,
    Settings,
    Switch,
    preset_table,
    settings,
    settings_sections,
)
from blueprint.workbooks.common.definitions.writing_rows import (
    EVERYWHERE,
    FIXED,
    ROWS,
    Choices,
    Given,
    Lined,
    Ordered,
    Used,
    Written,
    case,
    defined,
    fixed,
    j,
    k,
    limited,
    n,
    one,
    rows,
    t,
    v,
    with_weight,
)
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.libraries import (
    PREFIX,
    Apart,
    Preferred,
    folded,
    naming,
    preferred,
    turned,
    which_sheet,
    with_library_gradients,
)
from blueprint.workbooks.common.loss import (
    LOSS_LEAD,
    Loss,
    by_name,
    links_of_loss,
    loss,
    loss_on_walk,
    loss_sections,
    metrics_of,
)
from blueprint.workbooks.common.sheets import charts, walk
from blueprint.workbooks.common.sheets.backward import with_backward
from blueprint.workbooks.common.sheets.conventions import Chosen, chosen_of, conventions_sheet, presets_sheet
from blueprint.workbooks.common.sheets.start import (
    ABOUT,
    LEGEND,
    TOTAL,
    UP,
    Made,
    Says,
    conventions_in_use,
    facts_of,
    in_line,
    start_sheet,
    with_,
)
from blueprint.workbooks.common.sheets.walk import (
    InView,
    Rows,
    Titled,
    behind,
    named,
    repeated,
    rows_on,
    several,
    sheet_of,
    titled_sections,
)
from blueprint.workbooks.common.signal import SIGNAL_LEAD, SIGNAL_TITLE, Signal, signal, signal_sections, whitened

__all__ = [
    "ABOUT", "EQUAL_RETURNS", "EVERYWHERE", "FIXED", "LEGEND", "LIVE", "LOSS_LEAD", "NEW", "OLD", "PREFIX", "PRESET",
    "PRESET_DEFAULT", "ROWS", "SIGNAL_LEAD", "SIGNAL_TITLE", "TOTAL", "UP", "Apart", "Backward", "Choices", "Chosen",
    "Counted", "Counting", "Gae", "Given", "Identity", "InView", "Lined", "Loss", "Made", "Memory", "Ordered", "Places",
    "Preferred", "PresetTable", "Reach", "Rows", "Says", "Settings", "Signal", "Switch", "Titled", "Total", "Used",
    "Whitened", "Witnessed", "Written", "all_in_range", "any_of", "behind", "below", "by_name", "case", "charts",
    "checks", "checks_sheet", "chosen_logprobs", "chosen_of", "clip_flags", "conventions_in_use", "conventions_sheet",
    "count", "defined", "effective_sample_size", "ends", "ends_at", "entropy", "exact_kl", "explained_variance",
    "facts_of", "fixed", "folded", "gae", "gamma_0", "head_weights", "identities", "in_line", "j", "k", "kept_values",
    "labels", "lambda_0", "largest", "limited", "links_of_loss", "logits", "longest", "loss", "loss_on_walk",
    "loss_sections", "lowest_ratio", "mean", "means_of", "memory_weights", "metrics_of", "n", "named", "naming",
    "not_negative", "of_policy", "of_written", "one", "outside", "per_response", "places", "policy_kl", "preferred",
    "preset_table", "presets_sheet", "repeated", "residual", "rlhf", "rnn", "rows", "rows_on", "scalar_head",
    "score_stays", "settings", "settings_sections", "several", "sheet_of", "signal", "signal_sections", "size", "softmax",
    "spread", "start_sheet", "statistics", "surrogate", "t", "tempered", "titled_sections", "turned", "v",
    "variance_floor", "walk", "which_sheet", "whitened", "whitened_advantages", "with_", "with_backward", "with_lambda",
    "with_library_gradients", "with_weight", "word_weights",
]  # fmt: skip
