"""Models of a few hundred weights, a tokenizer of 32 words and prompts of them; the runs import it, in a library's environment."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

WORDS = ("<pad>", "<eos>", *(f"w{number}" for number in range(30)))
PAD, EOS = 0, 1


def tokenizer() -> PreTrainedTokenizerFast:
    """Makes a tokenizer whose words are numbered 0 to 31, padding at the left."""
    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", padding_side="left", model_max_length=64
    )


def config(**more: Any) -> LlamaConfig:
    """Returns what a Llama of one layer, two heads and 16 units is."""
    return LlamaConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        pad_token_id=PAD, eos_token_id=EOS, bos_token_id=2, **more,
    )  # fmt: skip


def lively(model: Any, dtype: torch.dtype = torch.float32) -> Any:
    """Gives a model weights that tell words apart: those of a fresh one are so small that every word is as likely."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim == 2:
                weight.normal_(0, 0.3)
        if hasattr(model, "lm_head"):
            model.lm_head.weight[EOS] += 0.4  # some responses end early
    return model.to(dtype)


def near(model: Any, other: Any) -> Any:
    """Gives a model the weights of another, and a little noise: a reference from which the policy has moved."""
    model.load_state_dict({name: each + 0.05 * torch.randn_like(each) for name, each in other.state_dict().items()})
    return model.to(next(other.parameters()).dtype)


def prompts(count: int) -> list[list[int]]:
    """Returns prompts of three to five words."""
    return [[2 + (7 * row + word) % 30 for word in range(3 + row % 3)] for row in range(count)]
