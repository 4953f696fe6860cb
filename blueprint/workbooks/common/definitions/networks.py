"""The models: one recurrent network with a number or logits at its end, and what an update does to its weights."""

from typing import NamedTuple

from blueprint.language import Block, Operand, Sum, block, tanh, typed
from blueprint.workbooks.common.definitions.writing_rows import (
    defined,
    i,
    j,
    k,
    n,
    one,
    t,
    v,
)
from blueprint.workbooks.common.labels import source_of


class Memory(NamedTuple):
    """The weights of a recurrent network.

    E: (v, k) what each word looks like. W: (i, j) from [x; h; 1] to the new memory.
    """

    E: Block
    W: Block


class Network(NamedTuple):
    """What a recurrent network computes: x (n, t, i) its inputs [x; h(t−1); 1] and h (n, t, j) its memory, within ±1."""

    x: Block
    h: Block


def memory_weights(name: str) -> Memory:
    """Makes the typed weights of a model's memory."""
    return Memory(
        typed(f"{name}.E", (v, k), "E", "embedding: a column for every token", decimals=1),
        typed(f"{name}.W", (i, j), "W", "from [x; h; 1] to the new memory", decimals=1),
    )


def word_weights(name: str) -> Block:
    """Makes the typed weights from a policy's memory to the logits."""
    return typed(f"{name}.Y", (j, v), "Y", "from the hidden state to the logits", decimals=1)


class Head(NamedTuple):
    """The weights of a scalar head: w (j) and the bias b."""

    w: Block
    b: Block


def head_weights(name: str) -> Head:
    """Makes the typed weights from a critic's or reward model's memory to its number."""
    return Head(
        typed(f"{name}.head.w", (j,), "w", "from the hidden state to one number", decimals=1),
        typed(f"{name}.head.b", (), "b", "bias of the head", decimals=1),
    )


def rnn(name: str, reads: Block, weights: Memory) -> Network:
    """Runs a tanh network over the words read; h before the first word is 0. Source: Elman 1990."""
    x = block(f"{name}.inputs", (n, t, i), "x", "what enters the memory", decimals=3)
    h = block(
        f"{name}.memory",
        (n, t, j),
        "h",
        "hidden state after reading the token",
        unit="−1 … 1",
        source=source_of("RNN"),
        decimals=3,
    )
    h[n, t.first - 1, j] = 0
    x[n, t, k] = weights.E[reads[n, t], k]
    x[n, t, j] = h[n, t - 1, j]
    x[n, t, one] = 1
    h[n, t, j] = tanh(Sum(i, weights.W[i, j] * x[n, t, i]))
    return Network(x, h)


def logits(name: str, h: Block, Y: Block) -> Block:
    """Scores every next word by the memory."""
    z = block(f"{name}.logits", (n, t, v), "z", "logit of every next token", decimals=3)
    return defined(z, Sum(j, Y[j, v] * h[n, t, j]))


def tempered(name: str, z: Block, temperature: Operand | None) -> tuple[Block, ...]:
    """Divides logits by the temperature, if there is one: above 1 it makes the policy less decided, below 1 more.

    Returns the logits, and what became of them; the last one is the one to go on with.
    """
    if temperature is None:
        return (z,)
    told, source = "logit divided by the temperature", source_of("TEMPERATURE")
    cool = block(f"{name}.tempered", (n, t, v), "z_τ", told, source=source, decimals=3)
    return z, defined(cool, z[n, t, v] / temperature)


def scalar_head(name: str, symbol: str, meaning: str, h: Block, head: Head) -> Block:
    """Reads one number off the memory in every column; 0 in the end column, where nothing is read."""
    out = block(f"{name}.out", (n, t), symbol, meaning)
    out[n, t.last + 1] = 0
    return defined(out, Sum(j, head.w[j] * h[n, t, j]) + head.b)


def updated(name: str, old: Block, delta: Block, update_step: Block) -> Block:
    """Moves a weight by the simulated update: θ = θ_old + update_step · Δ, cell by cell."""
    symbol, source = old.about.symbol, source_of("UPDATE")
    told = f"{symbol} after the update"
    new = block(f"{name}.{_part(old)}", old.axes, f"{symbol}_new", told, source=source, decimals=2)
    return defined(new, old[old.axes] + update_step * delta[old.axes])


def at_start(name: str, old: Block) -> Block:
    """Takes an old weight as it is, from which an optimiser sets out."""
    symbol = old.about.symbol
    new = block(f"{name}.{_part(old)}", old.axes, symbol, f"{symbol} before the first step: the old one", decimals=4)
    return defined(new, old[old.axes])


def change_of(name: str, old: Block) -> Block:
    """Makes the typed Δ of a weight."""
    symbol = old.about.symbol
    return typed(f"{name}.delta.{_part(old)}", old.axes, f"Δ{symbol}", f"how the update moves {symbol}", decimals=1)


def _part(weight: Block) -> str:
    """Returns a weight's name within its model."""
    return weight.name.partition(".")[2]
