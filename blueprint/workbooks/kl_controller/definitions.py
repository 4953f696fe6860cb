"""The adaptive KL controller: it raises the price β of drifting where the KL is above its target, and lowers it below."""

from __future__ import annotations

from typing import NamedTuple

from blueprint.language import Axis, Block, Sum, block, maximum, minimum, size, typed
from blueprint.workbooks.common.settings import Settings

u = Axis("u", "update", start=1)
i = Axis("i", "response", start=1)

ZIEGLER = "Ziegler et al. 2019, arXiv:1909.08593"
CONTROLLER = f"{ZIEGLER}; openai/lm-human-preferences cbfd210, train_policy.py:115"
SEQ_SUM = "openai/lm-human-preferences cbfd210, train_policy.py:115; TRL 0.11.4 PPOTrainer"
TOKEN_MEAN = "OpenRLHF 0.11.2 experience_maker.py; verl 0.9.1 core_algos.py:153"


class Fed(NamedTuple):
    """What is given of every response (u, i), the two statistics, and the one that is fed, all (u)."""

    sums: Block
    lengths: Block
    responses: Block
    per_word: Block
    seq_sum: Block
    token_mean: Block
    used: Block


class Controlled(NamedTuple):
    """Error, clipped error, factor, and β before and after each update, all (u); β after all of them."""

    raw: Block
    error: Block
    factor: Block
    before: Block
    after: Block
    updates: Block
    last: Block
    final: Block


def fed(chosen: Settings) -> Fed:
    """Turns the KL of whole responses into the one number that is fed: per response, or per word."""
    sums = typed("responses.kl", (u, i), "KL_sum", "KL of the response, summed over its words", decimals=1)
    lengths = typed("responses.length", (u, i), "len", "words of the response", unit="≥ 1", decimals=0)
    responses = block("responses.count", (), "B", "responses shown of each batch", decimals=0)
    per_word = block("responses.kl_per_word", (u, i), "KL_word", "KL of the response per word")
    seq_sum = block("kl.seq_sum", (u,), "KL_seq", "seq_sum: mean over responses", source=SEQ_SUM)
    token_mean = block("kl.token_mean", (u,), "KL_tok", "token_mean: mean of the means per word", source=TOKEN_MEAN)
    used = block("kl.fed", (u,), "KL", "KL that is fed (chosen on Inputs)")
    responses[()] = size(i)
    per_word[u, i] = sums[u, i] / lengths[u, i]
    seq_sum[u] = Sum(i, sums[u, i]) / responses
    token_mean[u] = Sum(i, per_word[u, i]) / responses
    used[u] = chosen.switch["kl_stat"].choose(seq_sum=seq_sum[u], token_mean=token_mean[u])
    return Fed(sums, lengths, responses, per_word, seq_sum, token_mean, used)


def controlled(kl: Block, chosen: Settings) -> Controlled:
    """Adapts β: β ← β·(1 + e·n/K) with e = KL/goal − 1, clipped. kl: (u). β has a start column, its first value."""
    use = chosen.used
    raw = block("error.raw", (u,), "e_raw", "error: how far above target, as a share")
    error = block("error", (u,), "e", "error, clipped", source=CONTROLLER)
    factor = block("factor", (u,), "f", "factor by which β changes", decimals=6, source=CONTROLLER)
    before = block("kl_coef.before", (u,), "β_before", "β of this batch’s rewards", decimals=6, source=SEQ_SUM)
    after = block("kl_coef.after", (u,), "β", "β after the update", decimals=6, source=CONTROLLER)
    last = block("last_update", (), "u_last", "the last update, counted from 0", decimals=0)
    updates = block("updates", (), "U", "updates", decimals=0)
    final = block("final_kl_coef", (), "β_end", "β after the last update", decimals=6)
    raw[u] = kl[u] / use["target"] - 1
    error[u] = maximum(-use["error_clip"], minimum(use["error_clip"], raw[u]))
    factor[u] = 1 + error[u] * use["n_steps"] / use["horizon"]
    after[u.first - 1] = use["kl_coef"]
    before[u] = after[u - 1]
    after[u] = before[u] * factor[u]
    updates[()] = size(u)
    last[()] = updates - 1
    final[()] = after[last]
    return Controlled(raw, error, factor, before, after, updates, last, final)


def too_far(factor: Block, chosen: Settings) -> Block:
    """Measures how far a factor is from 1 beyond e_max·n/K, the largest change of one update."""
    use = chosen.used
    off = block("check.factor", (u,), "beyond", "no update changes β by more than e_max·n/K")
    largest = use["error_clip"] * use["n_steps"] / use["horizon"]
    off[u] = maximum(0, abs(factor[u] - 1) - largest)
    return off


def wrong_way(made: Controlled, kl: Block, chosen: Settings) -> Block:
    """Measures how far β moves down although the KL is above its target, or up although it is below."""
    off = block("check.way", (u,), "wrong way", "β rises above the target, falls below it")
    off[u] = maximum(0, -made.error[u] * (kl[u] - chosen.used["target"]))
    return off


def product(made: Controlled, chosen: Settings) -> tuple[Block, Block]:
    """Multiplies all factors, and measures how far β is from its first value times them; both (u)."""
    all_of_them = block("identity.product", (u,), "f_all", "product of the factors, up to here", decimals=6)
    off = block("check.product", (u,), "|β_0f−β|", "β is its first value times all factors")
    all_of_them[u.first - 1] = 1
    all_of_them[u] = all_of_them[u - 1] * made.factor[u]
    off[u] = abs(chosen.used["kl_coef"] * all_of_them[u] - made.after[u])
    return all_of_them, off


def too_short(lengths: Block) -> Block:
    """Measures how far a response is from having one word at least; lengths: (u, i)."""
    off = block("check.length", (u, i), "short", "every response has a word")
    off[u, i] = maximum(0, 1 - lengths[u, i])
    return off
