"""What a reader sees besides the loss: the advantage of a response step by step, every token's part of the loss, the charts.

Charts: GRPO, 2402.03300, section 4.1, for rewards of 0 and 1; Dr. GRPO, 2503.20783, section 3.1 (no spread, no 1/length).
"""

import numpy as np
import torch
from torch import Tensor

from blueprint.witness import Asked, Batch, Held, Named, Rows, block, norm_bars, surrogates, with_weight
from blueprint.workbooks.grpo.witness.places import Places

SAYS = ("does not count", "counts")


def seen_rows(rows: Held, places: Places, use: Asked) -> Named:
    """Returns the way from the group to the response, [B], and what each token adds to the loss, [B, T]."""
    left = rows["reward"] - rows["advantage.baseline"]
    over, plain = (places.of_response(rows[f"group.{name}"]) for name in ("divided_by", "plain"))
    paid = use.number("kl.coef") * float(use.word("kl.place") == "loss")
    share = {
        "share.policy": rows["weight.policy.row"] * rows["policy.counts"],
        "share.kl": with_weight(paid, rows["weight.kl.row"] * rows["kl_new.counts"]),
        "share.entropy": -use.number("loss.ent_coef") * rows["weight.entropy.row"] * rows["policy.entropy"],
    }
    whole = sum(share.values(), torch.zeros_like(rows["mask"]))
    return share | {
        "share": whole, "seen.left": left, "seen.over": over, "seen.plain": plain,
        "seen.scaled": left / torch.where(plain > 0, torch.ones_like(over), over),
        "seen.mean": rows["group.reward"].mean(1, keepdim=True).expand(-1, places.size),
        "check.share_size": whole.abs(), "check.shares_size": whole.abs().sum(),
    }  # fmt: skip


def off_total(rows: Held) -> Tensor:
    """Returns how far the tokens' parts are from the total loss, in units of their sizes, if those are above 1."""
    return (rows["share"].sum() - rows["total_loss"]).abs() / rows["check.shares_size"].clamp(min=1)


def chart_rows(batch: Batch, rows: Held, use: Asked) -> Named:
    """Returns the curves of the charts, and where each token stands on that of the clip."""
    p, lengths = batch.typed("odds.p")[0], batch.typed("length.grid")[0]
    size, ones = rows["count.group"], torch.ones_like(lengths)
    spread = (p * (1 - p) * size / (size - use.number("group.ddof")).clamp(min=1)).sqrt()
    longest = rows["average.length"].amax().clamp(min=1)
    return {
        "odds.spread": spread, "odds.right": (1 - p) / spread, "odds.wrong": -p / spread, "odds.right_left": 1 - p,
        "odds.wrong_left": -p, "length.most": longest, "length.seq_mean": 1 / (rows["average.rows"] * lengths),
        "length.token_mean": rows["average.token_mean"] * ones, "length.constant": ones / (rows["average.rows"] * longest),
        **clip_curve(batch, use), **dots(batch, rows),
    }  # fmt: skip


def gradient_charts(batch: Batch, rows: Held) -> Named:
    """Returns the curves of the pull with a dot for each token, and the bars of the norms, where a file has them."""
    found: Named = {}
    for name in ("curve.grad.good", "curve.grad.bad"):
        if f"{name}.corner" in batch.files[0]:
            corner, times = (batch.typed(f"{name}.{each}")[0] for each in ("corner", "times"))
            ratio = rows["curve.ratio"][corner.long()]
            found |= {f"{name}.ratio": ratio, f"{name}.pull": ratio * times}
    if "dot.grad.pull" in batch.files[0]:
        A, tiny = rows["advantages"], batch.typed("loss.grad.tiny")[0]
        felt = (rows["ratio.grad"] != 0) & ((A * rows["surrogate.grad"]).abs() > tiny)
        found["dot.grad.pull"] = torch.where(felt, A.sign() * rows["ratio"], 0.0)
    return found | response_bars(batch, rows) | norm_bars(batch, rows)


def response_bars(batch: Batch, rows: Held) -> Named:
    """Returns what the bars of responses show, where there are such bars: the number, reward and advantage of each; [B]."""
    if "bar.number" not in batch.files[0]:
        return {}
    number = batch.typed("response.number")[0].flatten()
    return {"bar.number": number, "bar.reward": rows["reward"], "bar.advantage": rows["advantage.response"]}


def clip_curve(batch: Batch, use: Asked) -> Named:
    """Returns the corners of the surrogate for advantages 1 and −1; where a clip is off they are at the ends of the picture."""
    by, begin, end = (batch.typed(f"curve.{name}")[0] for name in ("by", "from", "end"))
    below, above = use.number("loss.clip_low"), use.number("loss.clip_high")
    reach = torch.where(by > 0, torch.full_like(by, above), torch.full_like(by, below))
    ratio = torch.where(reach.isinf(), end, begin + by * torch.where(reach.isinf(), 0, reach))
    lowest = ratio.new_tensor(0.0 if use.limit("loss.clip_low") is None else 1 - below)
    held = ratio.clamp(min=lowest.item())
    held = torch.maximum(lowest, ratio.clamp(max=1 + above)) if use.limit("loss.clip_high") is not None else held
    curves: Named = {}
    for name, sign in (("curve.good", 1.0), ("curve.bad", -1.0)):
        made = {"ratio.clipped": held} | surrogates(ratio, held, torch.full_like(ratio, sign))
        curves |= {name: torch.full_like(ratio, sign)} | {f"{name}.{row}": each for row, each in made.items()}
    return curves | {"curve.ratio": ratio, "curve.reach": reach, "curve.lowest": lowest}


def dots(batch: Batch, rows: Held) -> Named:
    """Returns where each token stands on that curve; one outside its response stands at −1, off the picture."""
    low, high = (batch.typed(f"dot.{end}")[0].item() for end in ("low", "high"))
    size = rows["advantages"].abs()
    return {
        "dot.ratio": torch.where(rows["mask"] > 0, rows["ratio"].clamp(low, high), -1.0), "dot.size": size,
        "dot.surrogate": torch.where(size > 0, rows["surrogate"] / torch.where(size > 0, size, 1.0), 0.0),
    }  # fmt: skip


def add_words(batch: Batch, rows: Rows, written: Tensor | None, mask: Tensor, counted: Tensor) -> None:
    """Adds the words below bars, and whether each token counts. written: ids of the tokens, where they are of a vocabulary;
    counted: 1 where one does; [B, T].
    """
    file = batch.files[0]
    if written is None:
        words = block(file, "word_written")
    else:
        words = np.asarray(block(file, "vocabulary"), dtype=object)[written.cpu().numpy()]
    rows.add_words("bar.word", [np.where(mask.cpu().numpy() > 0, words, "")])
    rows.add_words("seen.counts", [np.asarray(SAYS, dtype=object)[counted.long().cpu().numpy()]])
