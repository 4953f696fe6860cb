"""The arrays of a file by neutral name: their axes, whether they are masks, whole numbers or numbers, and what must hold inside
the mask; the sentence where something does not hold."""

from collections.abc import Collection

import numpy as np

from blueprint.dumps.batch import Minibatch
from blueprint.dumps.formats import Array, MinibatchError, Raw, require, said_shape
from blueprint.dumps.recognise import Recognised

TOKENWISE = (
    "logprobs_old", "logprobs_ref", "logprobs_new", "logprobs_rollout", "entropy", "values_old", "values_new", "rewards",
    "advantages", "returns", "ratio", "token_loss", "kl_new",
)  # fmt: skip


class Given:
    """Arrays that were recognised: [B] for one number of a response, [B, T] for one of each token.

    called: by neutral name, what the file calls them. lengths: [B], of those that were lists of different lengths.
    """

    def __init__(self, raw: Raw, found: Recognised) -> None:
        """Takes what was recognised, logprobs_old among it. Raises MinibatchError where shapes are odd or disagree."""
        self.called = found.called
        self._shapes = {row.name: row.shape for row in found.names.rows if row.shape}
        self.arrays = {name: self._with_axes(name, raw.tensors[called]) for name, called in found.called.items()}
        self.lengths = {
            name: raw.lengths[called]
            for name, called in found.called.items()
            if called in raw.lengths and self[name].ndim == 2
        }
        self.shape = rows, width = self["logprobs_old"].shape
        require(rows * width > 0, f"{self.called_by('logprobs_old')} is empty; there is no response in the file.")
        for name in self.arrays:
            require(len(self[name]) == rows, self._disagree(name))
        self._check_lengths()

    def __contains__(self, name: str) -> bool:
        """Tells whether the file has it."""
        return name in self.arrays

    def __getitem__(self, name: str) -> Array:
        """Returns the array of a name."""
        return self.arrays[name]

    def called_by(self, name: str) -> str:
        """Names an array, with the file's own name where that is another."""
        return said(name, self.called[name])

    def shaped(self, name: str) -> str:
        """Names an array and its shape."""
        return f"{self.called_by(name)} {said_shape(self[name].shape)}"

    def _disagree(self, name: str) -> str:
        return f"{self.shaped(name)} and {self.shaped('logprobs_old')} disagree; they need the same rows and columns."

    def mask(self, name: str) -> Array:
        """Returns a mask as true and false; behind a row's length nothing counts.

        Raises:
            MinibatchError: an entry that is neither 0 nor 1, with the first position.
        """
        array = self[name]
        inside = np.arange(array.shape[-1]) < self.lengths[name][:, None] if name in self.lengths else np.True_
        odd = (array != 0) & (array != 1) & inside
        if odd.any():
            at = tuple(np.argwhere(odd)[0].tolist())
            where = ", ".join(f"{axis} {each}" for axis, each in zip(("row", "column"), at, strict=False))
            raise MinibatchError(f"{self.called_by(name)}: found {array[at]} in {where}; a mask is 0 or 1.")
        return np.asarray((array == 1) & inside)

    def whole(self, name: str) -> Array:
        """Returns whole numbers, −1 for NaN, as behind the end of a row of tokens.

        Raises:
            MinibatchError: numbers with a fraction, infinity, or true and false.
        """
        array = self[name]
        if array.dtype.kind in "iu":
            return array
        fractions = array.dtype.kind == "b" or np.any((array != np.floor(array)) & ~np.isnan(array))
        require(
            not (fractions or np.any(np.isinf(array))), f"{name}: found {array.dtype.name}, expected whole numbers."
        )
        require(not np.any(np.abs(array) > 2.0**53), f"{name}: found a number beyond 2⁵³, expected whole numbers.")
        return np.nan_to_num(array, nan=-1).astype(np.int64)

    def numbers(self, name: str) -> Array:
        """Returns numbers, one of a response or one of each token as logprobs_old has them. Raises MinibatchError."""
        array = self[name]
        require(array.dtype.kind != "b", f"{self.called_by(name)}: found true and false, expected numbers.")
        require(array.ndim == 1 or array.shape == self.shape, self._disagree(name))
        return array if array.dtype.kind == "f" else array.astype(np.float64)

    def _with_axes(self, name: str, array: Array) -> Array:
        """Returns one number per row as [B] and one per token as [B, T]; a last axis of length 1 is dropped."""
        shape = self._shapes[name]
        expected = [each.count(",") + 1 for each in shape.split(" or ")]
        if array.ndim == 3 and array.shape[2] == 1:
            array = array[:, :, 0]
        if 1 in expected and array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        require(
            array.ndim in expected,
            f"{self.called_by(name)}: found the shape {said_shape(array.shape)}, expected {shape}.",
        )
        return array

    def _check_lengths(self) -> None:
        """Refuses lists of one row that have different lengths, where they are about the same tokens."""
        mine = self.lengths.get("logprobs_old")
        for name in (*TOKENWISE, "response_mask"):
            other = self.lengths.get(name)
            if mine is None or other is None or self[name].shape != self.shape or np.array_equal(other, mine):
                continue
            row = int(np.argmax(other != mine))
            raise MinibatchError(
                f"row {row}: {self.called_by(name)} has {other[row]} entries, "
                f"{self.called_by('logprobs_old')} {mine[row]}; they need the same."
            )


def said(name: str, called: str) -> str:
    """Names a tensor, with the file's own name where that is another."""
    return name if name == called else f"{name} ({called})"


LARGEST_LOGIT = 32.0
_EPS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}


def rounding(dtype: str) -> float:
    """Returns how far above 0 a log-prob may come to lie by rounding alone.

    log p = z − logsumexp(z) rounds logsumexp, which is as large as the largest logit: by at most half a unit in the last
    place, eps/2 · 32 for logits up to 32 (bfloat16: 0.125, float32: 1.9e-6). float64 gets float32's room, since programs
    that compute in float32 save float64, as JSON does. TRL's 1.0 for pads lies outside in every dtype.
    """
    return _EPS.get(dtype, _EPS["float32"]) / 2 * LARGEST_LOGIT


def check_numbers(batch: Minibatch, empty: bool = False) -> None:
    """Checks every tensor of numbers inside the mask.

    One empty response among others is computed as the library computes it; empty: also where all of them are. Raises
    MinibatchError for no token at all, NaN or infinity, a log-prob above 0 by more than rounding, or an entropy below it.
    """
    require(
        empty or bool(batch.mask.any()),
        f"all {len(batch.mask)} responses are empty: the mask is 0 throughout; find out where it comes from first.",
    )
    for name, array in ((name, each) for name, each in batch.tensors.items() if each.dtype.kind == "f"):
        room = rounding(batch.dtypes[name])
        _refuse(batch, name, ~np.isfinite(array), "NaN or infinity", "find out where it comes from first")
        if name.startswith("logprobs"):
            _refuse(
                batch, name, array > room, "log-probs above 0", "these are no log-probs, or the mask is shifted by one"
            )
        elif name == "entropy":
            _refuse(batch, name, array < -room, "entropies below 0", "an entropy is at least 0")


def _refuse(batch: Minibatch, name: str, bad: Array, what: str, advice: str) -> None:
    """Refuses where anything is bad inside the mask: how many, and the first of them."""
    places = np.argwhere(bad & batch.mask if bad.ndim == 2 else bad)
    if len(places):
        at = tuple(places[0].tolist())
        row, first = batch.position(at[0])
        there = ", ".join([f"row {row}", *(f"column {slot + first}" for slot in at[1:])])
        raise MinibatchError(
            f"{said(name, batch.called.get(name, name))}: {what} in {len(places)} of its places inside the mask, "
            f"the first is {batch.tensors[name][at]:.6g} in {there}; {advice}."
        )


CRITIC = ("values_old", "values_new", "returns")

WITHOUT_CRITIC = (
    "no critic in it: GRPO, RLOO or REINFORCE? The advantages are taken as they stand; ratio, clip, KL and policy loss are "
    "computed from them, and how they arose is not"
)


def without_critic(tensors: Collection[str]) -> tuple[str, ...]:
    """Says that a file has advantages and nothing of a critic, if that is so."""
    return () if "advantages" not in tensors or set(CRITIC) & set(tensors) else (WITHOUT_CRITIC,)
