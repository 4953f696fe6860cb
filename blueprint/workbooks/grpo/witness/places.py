"""Which response stands where: the responses to a prompt side by side, and the responses in the order of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from blueprint.witness import Named, WitnessError


@dataclass(frozen=True)
class Places:
    """order: by place of the groups, flat, the response that stands there, from 0; back: by response its place."""

    stands: Tensor
    numbers: Tensor
    order: Tensor
    back: Tensor

    @classmethod
    def of(cls, stands: Tensor, numbers: Tensor) -> Places:
        """Reads the places. Raises WitnessError where a response stands twice or nowhere, or has another number than its own."""
        own = torch.arange(1, len(numbers) + 1).to(numbers)
        if not torch.equal(numbers, own) or not torch.equal(stands.flatten().sort().values, own):
            raise WitnessError(
                f"the groups have the responses {stands.flatten().tolist()}: write each of 1 to {len(own)} once"
            )
        order = stands.flatten().long() - 1
        return cls(stands, numbers, order, order.argsort())

    @property
    def size(self) -> int:
        """How many responses each prompt has."""
        return self.stands.shape[1]

    def grouped(self, name: str, x: Tensor) -> Named:
        """Lays a number of each response [B] out by prompt and response; on the way it stands in a column."""
        return {f"{name}.column": x, name: x[self.order].view(-1, self.size)}

    def of_response(self, table: Tensor) -> Tensor:
        """Takes what stands at the place of each response, [B]."""
        return table.flatten()[self.back]

    def rows(self) -> Named:
        """Returns how far each place and each column is from every response, and whether it is that one."""
        down = torch.arange(len(self.numbers) + 1).to(self.numbers)
        left, apart = self.stands[..., None] - down, self.numbers - down[:, None]
        is_, same = ((each == 0).to(down) for each in (left[..., 1:], apart[1:]))
        return {"response.left": left, "response.is": is_, "response.apart": apart, "response.same": same}
