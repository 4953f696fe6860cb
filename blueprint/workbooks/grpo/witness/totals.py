"""The steps from the loss of each token to the total: DAPO, 2503.14476, eq. 12; Dr. GRPO, 2503.20783; TRL 1.16.0."""

import torch

from blueprint.witness import Asked, Held, Named, Nodes, with_weight
from blueprint.workbooks.grpo.witness.options import wide
from blueprint.workbooks.grpo.witness.places import Places
from blueprint.workbooks.grpo.witness.rewards import kl_rows, named

SETTINGS = {"policy": "loss.aggregation", "kl": "kl.aggregation", "entropy": "loss.entropy_aggregation"}


def keep_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns 0 on tokens of little entropy and on bad responses far off policy, else 1, and what counts, [B, T]."""
    m, H = rows["mask"], rows["policy.entropy"]
    length, change = m.sum(1).clamp(min=1), m * (rows["old.logprobs"] - rows["policy.logprobs"])
    far, bound, lowest = change.sum(1) / length, use.limit("loss.off_policy"), use.limit("loss.entropy_least")
    most = far if bound is None else torch.full_like(far, bound)
    near, least = (far <= most).to(m), H if lowest is None else torch.full_like(H, lowest)
    unsure, good = (least <= H).to(m), torch.where(rows["advantages"] < 0, wide(near, m), torch.ones_like(m))
    ended, stays = 1 - rows["truncated"], places.of_response(rows["group.left"])
    whole = ended if use.word("loss.mask") == "drop_truncated" else torch.ones_like(ended)
    found = {
        "length": length, "change": change, "distance": far, "most": most, "near": near, "least": least, "unsure": unsure,
        "good": good,
    }  # fmt: skip
    return named("keep", found) | {
        "keep": unsure * good, "loss.whole.drop_truncated": ended, "loss.whole": whole,
        "loss.left": stays, "loss.counted": rows["rollout.kept"] * (whole * stays)[:, None],
    }  # fmt: skip


def average_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the weights of tokens in every average, [] or [B], and of each part of the loss those in use, [B, T]."""
    M = rows["loss.counted"]
    length, some = M.sum(1), rows["group.left"].amax(1)
    prompts = some.sum().clamp(min=1)
    words = torch.where(length > 0, length + use.number("loss.length_eps"), torch.ones_like(length))
    count = rows["group.left"].sum().clamp(min=1) + use.number("loss.rows_eps")
    constant = M.new_tensor(use.number("loss.constant"))
    least = M.new_tensor(use.number("loss.at_least") if use.word("loss.aggregation") == "token_mean" else 1.0)
    grouped = places.grouped("average.group_length", length)
    of_prompt = prompts * grouped["average.group_length"].sum(1).clamp(min=1)
    of_place = (1 / of_prompt)[:, None].expand(-1, places.size)
    ways = {
        "token_mean": 1 / (length.sum().maximum(least) + use.number("loss.agg_eps")), "seq_mean": 1 / (count * words),
        "seq_sum": 1 / (count * constant), "token_sum": 1 / constant, "prompt_mean": places.of_response(of_place),
    }  # fmt: skip
    found = {
        "least": least,
        "prompt_left": some,
        "prompts": prompts,
        "length": length,
        "tokens": words,
        "rows": count,
        "of_prompt": of_prompt,
        "of_place": of_place,
        **ways,
    }
    short = {"seq_mean_token_mean": "seq_mean", "seq_mean_token_sum": "seq_sum"}
    weights: Named = {}
    for part, key in SETTINGS.items():
        word, of_policy = use.word(key), use.word("loss.aggregation")
        if part != "policy":
            place = "loss.aggregation.number" if word == "as_policy" else "loss.aggregation.token_mean"
            weights[f"weight.{part}.mode"] = M.new_tensor(use.number(place))
        used = of_policy if word == "as_policy" else word
        weights[f"weight.{part}"] = ways[short.get(used, used)].expand_as(length)
        weights[f"weight.{part}.row"] = M * weights[f"weight.{part}"][:, None]
    return grouped | named("average", found) | weights


def kl_loss_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the KL to the reference in the loss, weighed, then clamped, and the steps to it, [B, T]."""
    m, new = rows["mask"], rows["policy.logprobs"]
    r = Nodes(rows)
    r.take(kl_rows("kl_new", new, rows, use))
    within = r["kl_new.free"] == r["kl_new.k1"]
    r["kl_new.logp"] = torch.where(within, new, new.detach())
    others = {"own": new.detach(), "rollout": rows["engine.logprobs"]}
    for name, other in others.items():
        r[f"kl_new.log_weight.{name}"] = r["kl_new.logp"] - other
    still = torch.zeros_like(m, requires_grad=new.requires_grad)
    ways = {"none": still, "ratio": rows["ratio.level_of"], **{name: r[f"kl_new.log_weight.{name}"] for name in others}}
    r["kl_new.log_weight"] = ways[use.word("kl.weight")]
    r["kl_new.weight"] = (m * r["kl_new.log_weight"]).exp()
    r["kl_new.weighed"] = r["kl_new.weight"] * r["kl_new.chosen"]
    value = r["kl_new.used"] = use.around(r["kl_new.weighed"], "kl.clamp_out")
    r["kl_new.moving"] = r["kl_new.weight"] * r["kl_new.free"].square() / 2
    r["kl_new.reaching"] = rows["log_ratio.free"].detach().exp().clamp(max=use.number("kl.reach"))
    r["kl_new.moves.k2_is"] = r["kl_new.reaching"] * r["kl_new.moving"]
    moves = {"own": r["kl_new.used"], "k2": r["kl_new.moving"], "k2_is": r["kl_new.moves.k2_is"]}
    r["kl_new.moves"] = moving = moves[use.word("kl.gradient")]
    r["kl_new.counts"] = value.detach() + moving - moving.detach()
    return r.written


def total_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the parts of the loss and the total, []."""
    r, factor = Nodes(rows), use.number("loss.factor")
    r["policy.counts"] = factor * rows["keep"] * rows["rollout.counts"] * rows["policy.token_loss"]
    r["kl_loss.counts"] = r["policy.counts"].new_tensor(float(use.word("kl.place") == "loss"))
    parts = {
        "policy_loss": ("policy", "policy.counts"),
        "kl_loss": ("kl", "kl_new.counts"),
        "entropy": ("entropy", "policy.entropy"),
    }
    for row, (part, of) in parts.items():
        r[row] = (rows[f"weight.{part}.row"] * r[of]).sum()
    r["adds.kl_loss"] = with_weight(use.number("kl.coef") * float(r["kl_loss.counts"]), r["kl_loss"])
    r["adds.entropy"] = -use.number("loss.ent_coef") * r["entropy"]
    r["total_loss"] = r["policy_loss"] + r["adds.kl_loss"] + r["adds.entropy"]
    return r.written


def watched_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns what one watches while training: means, clip fractions, and groups of equal rewards."""
    m, A, ratio, near = (rows[name] for name in ("mask", "advantages", "ratio", "ratio.clipped"))
    count, rewards = m.sum().clamp(min=1), rows["group.reward"]
    low, high = m * ((ratio < near) & (A < 0)), m * ((near < ratio) & (A > 0))
    dual = m * (rows["surrogate"] > rows["surrogate.pessimistic"])
    shares = (low + high).sum(1) / rows["response.length"].clamp(min=1)
    tokens = {
        "mean.advantage": A, "mean.ratio": ratio, "mean.ratio_clipped": near, "approx_kl.k1": -rows["log_ratio"],
        "kl.mean_new": rows["kl_new.counts"], "rollout.mean_token": rows["rollout.token"],
        "rollout.mean_kl": -rows["rollout.log_free"], "rollout.share_inside": rows["rollout.inside"],
        "clip.fraction_low": low, "clip.fraction_high": high, "clip.fraction": low + high, "clip.fraction_dual": dual,
    }  # fmt: skip
    return {name: (m * each).sum() / count for name, each in tokens.items()} | {
        "response.tokens_in_all": count, "mean.score": rows["score"].mean(), "mean.reward": rewards.mean(),
        "response.mean_length": rows["response.length"].mean(), "clip.low": low, "clip.high": high, "clip.dual": dual,
        "clip.of_response": shares, "clip.mean_of_responses": shares.mean(),
    }  # fmt: skip
