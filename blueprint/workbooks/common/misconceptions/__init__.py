"""Misconceptions beside the definitions: in which row, how a teacher says it, and what the equation then is."""

from blueprint.workbooks.common.misconceptions.losses import CONVENTIONS, LOSSES, SIGNAL, WATCHED
from blueprint.workbooks.common.misconceptions.networks import BACKWARD, NETWORKS

MISCONCEPTIONS = (*NETWORKS, *SIGNAL, *LOSSES, *CONVENTIONS, *WATCHED, *BACKWARD)
