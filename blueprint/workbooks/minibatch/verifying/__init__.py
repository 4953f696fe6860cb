"""Minibatches of RLHF: verified in `blueprint.verifying`, and shown, a few words of them, as a workbook."""

from blueprint.verifying import Verifier, known_device
from blueprint.verifying.step import verify_minibatches
from blueprint.workbooks.minibatch.verifying.export import shown
from blueprint.workbooks.minibatch.verifying.larger import as_part

VERIFIER = Verifier(known_device, verify_minibatches, shown, as_part)
