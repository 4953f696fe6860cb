"""Misconceptions of DPO and its relatives beside the definitions; those of soft-max and of the way back, common to all
kinds, stand behind these."""

from blueprint.workbooks.common.misconceptions import MISCONCEPTIONS as COMMON
from blueprint.workbooks.dpo.misconceptions.batch import BATCH
from blueprint.workbooks.dpo.misconceptions.forms import FORMS
from blueprint.workbooks.dpo.misconceptions.pairs import PAIRS

MISCONCEPTIONS = (*PAIRS, *FORMS, *BATCH, *COMMON)
