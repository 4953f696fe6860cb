"""Misconceptions of GRPO and its family beside the definitions; those of soft-max, ratio, clip and the way back are common to all
kinds, and stand behind these."""

from blueprint.workbooks.common.misconceptions import MISCONCEPTIONS as COMMON
from blueprint.workbooks.grpo.misconceptions.groups import GROUPS
from blueprint.workbooks.grpo.misconceptions.tokens import TOKENS

MISCONCEPTIONS = (*GROUPS, *TOKENS, *COMMON)
