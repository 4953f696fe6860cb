"""Steps of GRPO: verified, and shown, a few whole groups of them, as a workbook."""

from blueprint.verifying import Verifier, known_device
from blueprint.workbooks.grpo.verifying.export import shown
from blueprint.workbooks.grpo.verifying.feeding import together
from blueprint.workbooks.grpo.verifying.verify import verify_steps

VERIFIER = Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)
