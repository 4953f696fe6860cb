"""Steps of KTO: verified, and shown, some of their responses, as a workbook."""

from blueprint.dumps import together
from blueprint.verifying import Verifier, known_device
from blueprint.workbooks.kto.verifying.export import shown
from blueprint.workbooks.kto.verifying.verify import verify_steps

VERIFIER = Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)
