"""Misconceptions beside the definitions: in which row, how a teacher says it, and what the equation then is."""

from blueprint.workbooks.common.misconceptions.conventions import CONVENTIONS
from blueprint.workbooks.common.misconceptions.losses import LOSSES
from blueprint.workbooks.common.misconceptions.networks import NETWORKS
from blueprint.workbooks.common.misconceptions.optimiser import BACKWARD
from blueprint.workbooks.common.misconceptions.signal import SIGNAL
from blueprint.workbooks.common.misconceptions.watched import WATCHED

MISCONCEPTIONS = (*NETWORKS, *SIGNAL, *LOSSES, *CONVENTIONS, *WATCHED, *BACKWARD)
