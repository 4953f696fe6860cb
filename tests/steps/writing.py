"""Files as hooks write them: safetensors, whose metadata are texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor


@dataclass(frozen=True)
class Written:
    """A file of a step: its name, its tensors by the library's names, and what it says of them."""

    name: str
    tensors: Mapping[str, Tensor]
    said: Mapping[str, Any]

    def write(self, folder: Path) -> Path:
        """Writes it."""
        path = folder / f"{self.name}.safetensors"
        texts = {
            key: json.dumps(each) if isinstance(each, dict) else str(each)
            for key, each in self.said.items()
            if each is not None
        }
        save_file({name: each.clone().contiguous() for name, each in self.tensors.items()}, path, texts)
        return path
