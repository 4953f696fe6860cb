"""The numbers of a run: a commented TOML file, of which every key may be left out or set, and what is refused of it.

The built-in file `reward-up.toml` holds a value for every key, and says in its comments what it is; what another file leaves
out is as there. A refusal names the key, what was found and what to write instead.
"""

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from blueprint.files import content_of
from blueprint.inputs import NumbersError, nearest, refusal, shown, suggestion

BUILT_IN = "reward-up"
LARGEST = 1_000_000
"""Bytes of a numbers file."""
MOST_RUNS = 16_384
"""Runs at once: four times what was tried on one GPU."""

MOST_RESPONSES = 1 << 19
"""Responses of an iteration, all runs together: about 4 GB."""

Count = Annotated[int, Field(ge=1, le=100_000)]
Above0 = Annotated[FiniteFloat, Field(gt=0)]
NotNegative = Annotated[FiniteFloat, Field(ge=0)]
Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
Tokens = dict[str, FiniteFloat]
Arrays = dict[str, NDArray[Any]]
"""What is kept of a run, by name."""


class Table(BaseModel):
    """A table of the file: what each key is stands in the comments of the built-in file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(Table):
    """The language: the vocabulary, the end token first, and the prompts."""

    vocabulary: Annotated[list[str], Field(min_length=2, max_length=64)]
    prompts: Annotated[list[str], Field(min_length=1, max_length=64)]
    max_new_tokens: Annotated[int, Field(ge=1, le=32)]


class Network(Table):
    """The size of every model, and how its weights begin."""

    embedding: Annotated[int, Field(ge=1, le=32)]
    hidden: Annotated[int, Field(ge=1, le=32)]
    embedding_scale: Above0
    head_scale: Above0


class Gold(Table):
    """What people want."""

    occurs: Tokens
    repeated: FiniteFloat
    unfinished: FiniteFloat


class Labelers(Table):
    """What labelers feel besides."""

    flaw: Tokens


class Demonstrations(Table):
    """What people wrote."""

    number: Count
    emphasis: str
    times: Annotated[list[NotNegative], Field(min_length=1)]
    last: Annotated[dict[str, NotNegative], Field(min_length=1)]


class Steps(Table):
    """Adam's steps on all data at once."""

    steps: Count
    lr: Above0


class Comparisons(Table):
    """What labelers compare."""

    pairs: Count
    held_out: Annotated[int, Field(ge=2, le=100_000)]
    temperature: Above0


class Update(Table):
    """How the policy learns in an iteration."""

    method: Literal["ppo", "grpo", "rejection"]
    iterations: Annotated[int, Field(ge=1, le=100_000)]
    responses: Annotated[int, Field(ge=2, le=4096)]
    epochs: Annotated[int, Field(ge=1, le=64)]
    minibatches: Annotated[int, Field(ge=1, le=64)]
    lr: Above0
    max_norm: Above0
    adam: Literal["anew", "kept"]


class Ppo(Table):
    """The loss of PPO."""

    kl_coef: Annotated[list[NotNegative], Field(min_length=1, max_length=1024)]
    gamma: Share
    gae_lambda: Share
    clip_range: Above0
    value_clip_range: Above0
    vf_coef: NotNegative
    ent_coef: NotNegative


class Grpo(Table):
    """The loss of GRPO."""

    scale: bool


class Controller(Table):
    """How β follows the KL."""

    target: NotNegative
    horizon: Above0


class Reward(Table):
    """What is taken from the reward model's score."""

    length_penalty: NotNegative
    free_tokens: Annotated[int, Field(ge=0, le=1000)]


class RunNumbers(Table):
    """All numbers of a run, as its file has them."""

    title: str
    seed: Annotated[int, Field(ge=0, le=2**31)]
    seeds: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    text: Text
    network: Network
    gold: Gold
    labelers: Labelers
    demonstrations: Demonstrations
    sft: Steps
    comparisons: Comparisons
    reward_model: Steps
    update: Update
    ppo: Ppo
    grpo: Grpo
    controller: Controller
    reward: Reward

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seed of each group of runs."""
        return tuple(range(self.seed, self.seed + self.seeds))

    @property
    def runs(self) -> list[tuple[int, float]]:
        """Seed and KL coefficient of each run, in the order of all tensors: those of a seed stand together."""
        return [(seed, beta) for seed in self.all_seeds for beta in self.ppo.kl_coef]

    def ids(self, text: str) -> list[int]:
        """Returns the tokens of a text by their place in the vocabulary."""
        return [self.text.vocabulary.index(token) for token in text.split()]


def built_in_text() -> str:
    """Returns the built-in file, with its comments."""
    return files("blueprint.training").joinpath(f"{BUILT_IN}.toml").read_text(encoding="utf-8")


def run_numbers(
    source: str | Path | Mapping[str, Any] = BUILT_IN,
    overrides: Iterable[str] = (),
    changed: Mapping[str, Any] | None = None,
) -> RunNumbers:
    """Returns the numbers of a run: the built-in ones, with those of a file or of tables in their place, and then overrides.

    overrides: such as `update.iterations=80`, the value as in TOML; changed: the same by dotted key. Raises NumbersError in a
    sentence.
    """
    complete = tomllib.loads(built_in_text())
    name = "the tables" if isinstance(source, Mapping) else str(source)
    given = source if isinstance(source, Mapping) else {} if name == BUILT_IN else _tables_in(Path(source))
    for key, value in given.items():
        _put(complete, (key,), value, name)
    for each in overrides:
        key, sign, value = each.partition("=")
        if not sign or not key:
            raise NumbersError(
                f"--set {each}: found no key and value, expected KEY=VALUE, such as update.iterations=80."
            )
        _put(complete, tuple(key.strip().split(".")), _value_of(value.strip()), f"--set {key.strip()}")
    for key, value in (changed or {}).items():
        _put(complete, tuple(key.split(".")), value, key)
    return _checked(complete, name)


def _tables_in(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(content_of(path, LARGEST).decode("utf-8-sig"))
    except OSError as error:
        raise NumbersError(
            f"{path} cannot be read as the numbers of a run ({(error.strerror or str(error)).lower()}): name a TOML file, a"
            f" folder of a run, or {BUILT_IN}."
        ) from None
    except UnicodeDecodeError:
        raise NumbersError(f"{path} is no TOML: found bytes that are not UTF-8; save it again as UTF-8.") from None
    except ValueError as error:
        raise NumbersError(f"{path} is no TOML: {error}.") from None
    if not found:
        raise NumbersError(
            f"{path} says nothing: write a key of a run, as in `blueprint run -o run.toml`, which has them all."
        )
    return found


OF_TOKENS = ("gold.occurs", "labelers.flaw", "demonstrations.last")
"""Tables that have a number for each of some tokens: they are replaced as a whole, or get one more token."""


def _put(tables: dict[str, Any], keys: tuple[str, ...], value: object, where: str, above: str = "") -> None:
    """Puts a value in its place; a table is put key by key, and one of tokens as a whole."""
    key, rest = keys[0], keys[1:]
    place = f"{above}.{key}" if above else key
    if key not in tables and above not in OF_TOKENS:
        raise NumbersError(f"{where}: there is no key {place}; {suggestion(nearest(key, [*tables]), [*tables])}")
    if rest:
        if not isinstance(tables[key], dict):
            raise NumbersError(f"{where}: {place} is one value, and has no key {'.'.join(rest)}; write {place}=VALUE.")
        _put(tables[key], rest, value, where, place)
    elif isinstance(value, Mapping) and isinstance(tables.get(key), dict) and place not in OF_TOKENS:
        for each, inside in value.items():
            _put(tables[key], (str(each),), inside, where, place)
    else:
        tables[key] = dict(value) if isinstance(value, Mapping) else value


def _value_of(text: str) -> object:
    """Reads a value as TOML has it; a list may stand without brackets, and a word without quotes."""
    for spelled in (text, f"[{text}]", f'"{text}"'):
        try:
            return tomllib.loads(f"x = {spelled}")["x"]
        except tomllib.TOMLDecodeError:
            continue
    raise NumbersError(f"--set: found {shown(text)}, expected a value as in TOML: a number, a word, or [0, 0.1, 1].")


def _checked(tables: dict[str, Any], name: str) -> RunNumbers:
    if isinstance(tables["ppo"], dict) and isinstance(tables["ppo"].get("kl_coef"), int | float):
        tables["ppo"] = {**tables["ppo"], "kl_coef": [tables["ppo"]["kl_coef"]]}
    try:
        found = RunNumbers.model_validate(tables)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(each) for each in first["loc"])
        expected = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        raise refusal(f"{name}, {key}", shown(first["input"]), expected) from None
    _check_text(found)
    _check_sizes(found)
    return found


def _check_text(numbers: RunNumbers) -> None:
    """Refuses tokens that the vocabulary lacks, and prompts of different lengths."""
    vocabulary = numbers.text.vocabulary
    if len(set(vocabulary)) < len(vocabulary) or any(not token or token.split() != [token] for token in vocabulary):
        raise refusal("text.vocabulary", "a token twice, or one with a space", "each token once, without spaces")
    named = {
        "text.prompts": [token for prompt in numbers.text.prompts for token in prompt.split()],
        "gold.occurs": numbers.gold.occurs,
        "labelers.flaw": numbers.labelers.flaw,
        "demonstrations.emphasis": [numbers.demonstrations.emphasis],
        "demonstrations.last": numbers.demonstrations.last,
    }
    for key, tokens in named.items():
        for token in tokens:
            if token not in vocabulary:
                raise refusal(
                    key, shown(token), f"tokens of the vocabulary; {suggestion(nearest(token, vocabulary), vocabulary)}"
                )
    lengths = sorted({len(prompt.split()) for prompt in numbers.text.prompts})
    if len(lengths) > 1 or lengths == [0]:
        raise refusal(
            "text.prompts", f"prompts of {lengths} tokens", "prompts of as many tokens each, and at least one"
        )
    for key, shares in (("times", numbers.demonstrations.times), ("last", [*numbers.demonstrations.last.values()])):
        if not abs(sum(shares) - 1) < 1e-9:
            raise refusal(f"demonstrations.{key}", f"a sum of {sum(shares):g}", "probabilities with the sum 1")
    if len(numbers.demonstrations.times) + 1 > numbers.text.max_new_tokens:
        raise refusal("text.max_new_tokens", str(numbers.text.max_new_tokens), "room for the longest demonstration")


def _check_sizes(numbers: RunNumbers) -> None:
    """Refuses numbers of responses that prompts and minibatches cannot share."""
    prompts, update = len(numbers.text.prompts), numbers.update
    at_once = len(numbers.runs) * update.responses
    shared = {
        "update.responses": update.responses,
        "demonstrations.number": numbers.demonstrations.number,
        "comparisons.pairs": numbers.comparisons.pairs,
        "comparisons.held_out": numbers.comparisons.held_out,
    }
    refused = (
        *(
            (number % prompts > 0, key, number, f"a multiple of {prompts}, the number of prompts")
            for key, number in shared.items()
        ),
        (
            update.method == "grpo" and update.responses < 2 * prompts,
            "update.responses", update.responses, f"at least {2 * prompts}: GRPO compares responses to a prompt",
        ),
        (
            update.responses % update.minibatches > 0,
            "update.minibatches", update.minibatches, f"a divisor of {update.responses}, the responses",
        ),
        (
            update.method != "ppo" and update.minibatches > 1,
            "update.minibatches", update.minibatches, f"1: {update.method} takes all responses in a step",
        ),
        (
            update.method == "rejection" and numbers.controller.target > 0,
            "controller.target", numbers.controller.target, "0: rejection sampling has no β",
        ),
        (
            at_once > MOST_RESPONSES,
            "update.responses", f"{at_once:,} of all runs", f"at most {MOST_RESPONSES:,} in an iteration",
        ),
        (
            len(numbers.runs) > MOST_RUNS,
            "seeds", numbers.seeds, f"at most {MOST_RUNS:,} runs, seeds times KL coefficients",
        ),
    )  # fmt: skip
    for wrong, key, found, expected in refused:
        if wrong:
            raise refusal(key, str(found), expected)


def toml_of(numbers: RunNumbers) -> str:
    """Returns the built-in file with other values in it, its comments in their place."""
    lines, table = [], ""
    tables = numbers.model_dump()
    for line in built_in_text().splitlines():
        if line.startswith("["):
            table = line[1 : line.index("]")]
        key, sign, _ = line.partition(" = ")
        if sign and not line.startswith(("#", "[")):
            value = (tables[table] if table else tables)[key]
            comment = line[line.index("#") :] if "#" in line else ""
            line = f"{key} = {_spelled(value)}".ljust(31) + f" {comment}" if comment else f"{key} = {_spelled(value)}"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _spelled(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list():
            return f"[{', '.join(map(_spelled, value))}]"
        case dict():
            return "{ " + ", ".join(f"{_spelled(key)} = {_spelled(each)}" for key, each in value.items()) + " }"
        case _:
            return repr(value)
