"""What every computation here is made of: tensors by the names of their blocks, and the options in which libraries differ."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from types import MappingProxyType
from typing import Self, TypeAlias

import torch

Named = dict[str, torch.Tensor]
Held = Mapping[str, torch.Tensor]
"""Whatever gives a quantity by the name of its block."""
Number: TypeAlias = torch.Tensor | float


def with_weight(weight: Number, part: torch.Tensor) -> torch.Tensor:
    """Returns what a part adds; with a weight of 0 that is 0, also of infinity, since a library leaves it out."""
    if isinstance(weight, torch.Tensor):
        return torch.where(weight == 0, 0.0, weight * part)
    return weight * part if weight else torch.zeros_like(part)


def with_end(values: torch.Tensor) -> torch.Tensor:
    """Returns the tensor with a zero behind the last position."""
    return torch.cat([values, torch.zeros_like(values[..., :1])], dim=-1)


def with_start(values: torch.Tensor) -> torch.Tensor:
    """Returns the tensor with a zero in front."""
    return torch.cat([torch.zeros_like(values[..., :1]), values], dim=-1)


def wide(number: torch.Tensor) -> torch.Tensor:
    """Returns numbers of files [F] so that they can be used with tensors [F, N, T]."""
    return number[:, None, None]


def total(values: torch.Tensor) -> torch.Tensor:
    """Returns the sum over all episodes and positions of a file, [F]."""
    return values.sum(dim=(-2, -1))


def masked_sums(values: torch.Tensor, decay: Number, mask: torch.Tensor) -> torch.Tensor:
    """Returns S_t = x_t + m_t·decay·S_{t+1} of values for any mask, and a decay for each file [F, 1, 1].

    Each round doubles how far the sums reach (Hillis and Steele, Data Parallel Algorithms, 1986): log2 T rounds.
    """
    sums, fade, reach = values, mask * decay, 1
    fade = torch.cat([fade[..., :-1], torch.zeros_like(fade[..., :1])], dim=-1)
    while reach < values.shape[-1] and bool(fade.any()):
        near = torch.addcmul(sums[..., :-reach], fade[..., :-reach], sums[..., reach:])
        sums = torch.cat([near, sums[..., -reach:]], dim=-1)
        fade = torch.cat([fade[..., :-reach] * fade[..., reach:], torch.zeros_like(fade[..., -reach:])], dim=-1)
        reach *= 2
    return sums


def sums_from(values: torch.Tensor, decay: torch.Tensor, behind: torch.Tensor | None = None) -> torch.Tensor:
    """Returns S_t = x_t + decay_t·S_{t+1} with the position behind the last, [F, N, T + 1]: what stands there, [F, N], or 0.

    `decay` [F, N, T] is 0 where nothing later counts.
    """
    if behind is None:
        return with_end(masked_sums(values, 1.0, decay))
    return masked_sums(torch.cat([values, behind[..., None]], dim=-1), 1.0, with_end(decay))


class Whole:
    """How numbers of files, [F], are made of those of their responses [F, N] or tokens [F, N, T]: all are there at once."""

    def total(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Returns Σ z of each file."""
        return values.sum(dim=tuple(range(1, values.dim())))

    def largest(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Returns max z of each file."""
        return values.amax(dim=-1)

    def squares(self, name: str, counted: torch.Tensor, values: torch.Tensor, about: torch.Tensor) -> torch.Tensor:
        """Returns Σ c·(z − about)² of each file."""
        return total(counted * (values - wide(about)).square())


WHOLE = Whole()


@dataclass(frozen=True)
class Spread:
    """How many numbers there are, their mean, and Σ (z − mean)², each [F]."""

    count: torch.Tensor
    mean: torch.Tensor
    squares: torch.Tensor

    @classmethod
    def of(cls, counted: torch.Tensor, values: torch.Tensor) -> Self:
        """Returns the spread of the tokens of one tile that count."""
        count = total(counted)
        mean = total(counted * values) / count.clamp(min=1)
        return cls(count, mean, WHOLE.squares("", counted, values, mean))

    def joined(self, other: Self) -> Self:
        """Returns the spread of both together.

        Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (Stanford
        STAN-CS-79-773, 1979), eq. 2.1: S = S_a + S_b + (m_b − m_a)²·n_a·n_b/(n_a + n_b).
        """
        count = self.count + other.count
        some, apart = count.clamp(min=1), other.mean - self.mean
        mean = self.mean + apart * other.count / some
        return type(self)(count, mean, self.squares + other.squares + apart.square() * self.count * other.count / some)

    def about(self, point: torch.Tensor) -> torch.Tensor:
        """Returns Σ (z − point)²: the mean of libraries is not always the plain one."""
        return self.squares + self.count * (self.mean - point).square()


@dataclass
class Tiled:
    """Sums of a batch that is seen tile by tile.

    `settle` is called when every tile of a pass was seen; it makes what was gathered known, as far as it is to be kept.
    """

    known: Named = field(default_factory=dict)
    spreads: dict[str, Spread] = field(default_factory=dict)
    _sums: Named = field(default_factory=dict)
    _spreads: dict[str, Spread] = field(default_factory=dict)

    def total(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Returns Σ z of the whole batch where it is known, else that of the tile, which is gathered."""
        return self._gathered(name, lambda: WHOLE.total(name, values), torch.add)

    def largest(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Returns max z of the whole batch where it is known, else that of the tile, which is gathered."""
        return self._gathered(name, lambda: WHOLE.largest(name, values), torch.maximum)

    def squares(self, name: str, counted: torch.Tensor, values: torch.Tensor, about: torch.Tensor) -> torch.Tensor:
        """Returns Σ c·(z − about)² of the whole batch where it is known, else that of the tile, which is gathered."""
        if name not in self.spreads:
            found = Spread.of(counted, values)
            self._spreads[name] = self._spreads[name].joined(found) if name in self._spreads else found
            return found.about(about)
        return self.spreads[name].about(about)

    def settle(self, keep: Callable[[str], bool]) -> None:
        """Makes known what was gathered under names that are to be kept, and forgets the rest."""
        self.known |= {name: each for name, each in self._sums.items() if keep(name)}
        self.spreads |= {name: each for name, each in self._spreads.items() if keep(name)}
        self._sums, self._spreads = {}, {}

    def _gathered(
        self, name: str, found: Callable[[], torch.Tensor], join: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        if name in self.known:
            return self.known[name]
        here = found()
        self._sums[name] = join(self._sums[name], here) if name in self._sums else here
        return here


Sums = Whole | Tiled


ON_OFF = ("off", "on")
AGGREGATIONS = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean")
ESTIMATORS = ("k1", "k2", "k3", "full", "abs")
WORDS = MappingProxyType(
    {
        "kl_estimator": ESTIMATORS,
        "whiten_advantages": ("on", "off", "keep_mean"),
        "batch.response_mask": ("non_pad", "all"),
        "reward.kl_clamp_of": ("all", "k3"),
        "reward.kl_in": ("reward", "loss", "none", "both"),
        "reward.kl_at_first_pad": ON_OFF,
        "reward.score_slot": ("last", "end", "one_past", "two_past"),
        "reward.missing_eos": ("off", "subtract", "set"),
        "reward.missing_eos_test": ("token", "has_padding"),
        "reward.whiten": ON_OFF,
        "reward.whiten_rezero": ON_OFF,
        "advantage.gae_holes": ("zero", "carry"),
        "advantage.stats": ("mask", "all"),
        "advantage.eps_form": ("rsqrt_var_plus", "clamp", "std_max", "std_plus"),
        "loss.sample_filter": ("none", "ended"),
        "loss.aggregation": AGGREGATIONS,
        "loss.joint": ("on", "off"),
        "loss.entropy_aggregation": ("as-policy", "token-mean"),
        "loss.kl_estimator": ESTIMATORS,
        "loss.kl_clamp_of": ("all", "k3"),
        "value.combine": ("max", "clipped_only"),
        "value.aggregation": ("as-policy", "token-mean"),
        "metrics.kl": ("k1", "k2", "k3"),
        "metrics.log_ratio": ("clamped", "raw"),
        "metrics.over": ("mask", "all"),
        "metrics.clip_fraction": ("loss", "ratio"),
        "metrics.explained": ("var_old", "var_new", "mse_new"),
        "metrics.kl_stat": ("seq_sum", "token_mean"),
    }
)
"""The options of every switch, the default first; one is computed with as its place here, from 0, whatever a file's is."""

DEFAULTS = MappingProxyType(
    dict.fromkeys(("gamma", "gae_lambda", "batch.temperature", "advantage.ddof"), 1.0)
    | dict.fromkeys(("kl_coef", "vf_coef", "ent_coef", "policy_kl_coef", "loss.kl_coef"), 0.0)
    | dict.fromkeys(("whiten_eps", "batch.temperature_eps", "advantage.mean_eps", "advantage.ddof_eps"), 0.0)
    | dict.fromkeys(("loss.agg_eps", "loss.seq_eps", "metrics.ev_eps"), 0.0)
    | dict.fromkeys(("reward.length_penalty", "reward.free_tokens"), 0.0)
    | dict.fromkeys(("reward.missing_eos_value", "advantage.tail_slots", "value.tail"), 0.0)
    | dict.fromkeys(("clip_range", "loss.clip_range_high", "loss.dual_clip", "loss.ratio_threshold"), inf)
    | dict.fromkeys(("value_clip_range", "reward.score_clip", "loss.log_ratio_clamp"), inf)
    | dict.fromkeys(("reward.kl_clamp_in", "reward.kl_clamp_out", "loss.kl_clamp_in", "loss.kl_clamp_out"), inf)
    | {"value.factor": 0.5}
)
"""The options that are numbers; a limit that is off is infinite."""
NUMBERS = tuple(DEFAULTS)


@dataclass(frozen=True)
class Options:
    """The options in force for each of F files: every name of NUMBERS and WORDS, [F, 1, 1].

    `sums` are how numbers of a batch are added up: over all responses that are given, or over tiles of more of them.
    """

    values: Mapping[str, torch.Tensor]
    sums: Sums = WHOLE

    def number(self, name: str, axes: int = 3) -> torch.Tensor:
        """Returns an option to be used with tensors of so many axes: [F, 1, 1], [F, 1] or [F]."""
        return self.values[name].view(-1, *[1] * (axes - 1))

    def says(self, name: str, word: str, axes: int = 3) -> torch.Tensor:
        """Returns true for the files whose switch stands at that option."""
        return self.number(name, axes) == WORDS[name].index(word)

    def pick(self, name: str, alternatives: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Returns for each file what goes with the option of its switch; all have the same axes."""
        return picked(self.values[name], [alternatives[word] for word in WORDS[name]])


def picked(number: torch.Tensor, alternatives: list[torch.Tensor]) -> torch.Tensor:
    """Returns for each file the alternative of its number, from 0; all have the same axes."""
    found, *others = alternatives
    for place, each in enumerate(others, start=1):
        found = torch.where(number.view(-1, *[1] * (each.dim() - 1)) == place, each, found)
    return found


@dataclass(frozen=True)
class Texts:
    """The inputs; files, responses and columns are the axes [F, N, T], scores have [F, N].

    `slots` is 1 where a response may have a token, `mask` where it has one, up to and including the end token; a mask may
    have holes. The others stand at every response position, pads included: nats of the token written there, of the whole
    distribution, and values that are not masked. What stands elsewhere must be finite. `ended` is 1 if the end token was
    written.
    """

    slots: torch.Tensor
    mask: torch.Tensor
    old_logprobs: torch.Tensor
    reference_logprobs: torch.Tensor
    logprobs: torch.Tensor
    kl_old_reference: torch.Tensor
    kl_new_reference: torch.Tensor
    kl_old_new: torch.Tensor
    entropy: torch.Tensor
    old_values: torch.Tensor
    values: torch.Tensor
    score: torch.Tensor
    ended: torch.Tensor
