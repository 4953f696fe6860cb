"""From log-probs to the loss, with what each token weighs, and what one watches."""

import torch
from torch import Tensor

from blueprint.witness import Asked, Named, Nodes
from blueprint.workbooks.sft.witness.texts import Texts


def loss_rows(of: Texts, label: Named, logp: Tensor, use: Asked) -> Named:
    """Returns every row from the log-probs of labels, [B, T], to the loss."""
    rows = Nodes({"policy.logprobs": logp})
    for name, each in (shares(of, label, logp.detach(), use) | weights(logp.detach(), use)).items():
        rows[name] = each
    rows["label.weight"] = label["label.counts"] * rows["share.used"][:, None] * rows["dft.used"]
    rows["loss.of_token"] = -rows["label.weight"] * logp
    rows["loss.of_text"] = rows["loss.of_token"].sum(1)
    rows["total_loss"] = rows["loss.of_text"].sum()
    rows["microbatch.loss"] = rows["microbatch.inside"] @ rows["loss.of_text"].detach()
    return rows.written


def weights(logp: Tensor, use: Asked) -> Named:
    """Returns how likely each label is, and the weight that DFT makes of it; without DFT it is 1."""
    p = logp.exp()
    used = p if use.word("loss.dft") == "on" else torch.ones_like(p)
    return {"dft.probability": p, "dft.weight": used, "dft.used": used}


def shares(of: Texts, label: Named, logp: Tensor, use: Asked) -> Named:
    """Returns what each way to divide gives to a token of a text, [B] or one number, and which of them is asked for."""
    counts, eps, parts = label["label.counts"], use.number("loss.mean_eps"), use.number("microbatches")
    number = torch.arange(of.size + 1).to(logp)[:, None]
    dealt = (of.place * parts / of.size).ceil()
    inside = (dealt == number[1:]).to(logp)
    tokens = inside @ label["label.length"]
    of_part = _inverse(tokens, eps)
    own, of_row = of_part @ inside, _inverse(label["label.length"], eps)
    before = label["label.total"] + label["label.unpredicted"]
    uncertain = counts * (logp != 0)
    found = {
        "microbatch.rest": of.place * parts - number * of.size, "microbatch.reached": (dealt <= number[1:]).to(logp),
        "microbatch.begun": (dealt >= number[1:]).to(logp), "microbatch.inside": inside, "microbatch.tokens": tokens,
        "microbatch.share": of_part, "share.part": own, "label.before_shift": before, "label.uncertain": uncertain,
        "label.nonzero": uncertain.sum(), "share.row": of_row, "text.texts": label["count.texts"],
        "share.sums": _inverse(label["count.texts"], eps), "share.step": _inverse(label["label.total"], eps),
        "share.labels": _inverse(before, eps), "share.uncertain": _inverse(uncertain.sum(), eps),
        "loss.share.microbatches": own / parts,
    }  # fmt: skip
    found["loss.share.row_means"] = of_row * found["share.sums"]
    asked = {
        "tokens": "share.step", "labels": "share.labels", "microbatches": "loss.share.microbatches",
        "row_means": "loss.share.row_means", "row_sums": "share.sums", "nonzero": "share.uncertain",
    }  # fmt: skip
    word = use.word("loss.normaliser")
    counted = {
        "tokens": label["label.total"], "labels": before, "microbatches": tokens @ inside, "row_means": label["label.length"],
        "row_sums": label["count.texts"], "nonzero": uncertain.sum(),
    }[word].expand(of.size)  # fmt: skip
    every = {"microbatches": parts, "row_means": float(label["count.texts"]) + eps}.get(word, 1.0)
    more = torch.where(counted > 0, torch.ones_like(counted) / every, 1)
    return found | {
        "loss.share": found[asked[word]].expand(of.size), "share.part_tokens": tokens @ inside, "loss.counted": counted,
        "loss.over": counted + eps, "share.used": more / (counted + eps),
    }  # fmt: skip


def _inverse(count: Tensor, eps: float) -> Tensor:
    """Returns 1 over a count and what is added to it; 0 where nothing is counted."""
    return torch.where(count > 0, 1 / (count + eps), 0.0)


def watched_rows(of: Texts, label: Named, policy: Named) -> Named:
    """Returns what one watches: means over the labels that count."""
    counts, total = label["label.counts"], label["label.total"]
    rows = {
        "nll": -counts * policy["policy.logprobs"],
        "token_accuracy": counts * (policy["policy.label_logit"] >= policy["policy.top"]),
        "entropy": counts * policy["policy.entropy"],
    }
    means = {name: torch.where(total > 0, each.sum() / total.clamp(min=1), 0.0) for name, each in rows.items()}
    called = {"nll": "watch.nll_of_token", "token_accuracy": "watch.hit", "entropy": "watch.entropy_of_token"}
    return {called[name]: each for name, each in rows.items()} | means | {
        "watch.logp": -rows["nll"].sum(1), "perplexity": means["nll"].exp(), "watch.tokens_read": of.there.sum() + of.size,
    }  # fmt: skip
