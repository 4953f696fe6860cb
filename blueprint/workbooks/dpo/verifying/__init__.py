"""Steps of DPO computed again, held against what was logged, and some of their pairs as a workbook."""

from blueprint.workbooks.dpo.verifying.verify import VERIFIER

__all__ = ["VERIFIER"]
