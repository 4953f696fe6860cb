"""Steps of DPO: verified, and shown, some of their pairs, as a workbook."""

from blueprint.dumps import together
from blueprint.verifying import Verifier, known_device
from blueprint.workbooks.dpo.verifying.export import shown
from blueprint.workbooks.dpo.verifying.verify import verify_steps

VERIFIER = Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)
