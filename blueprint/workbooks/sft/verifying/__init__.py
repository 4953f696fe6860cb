"""Steps of fine-tuning: verified, and shown, some of their texts, as a workbook."""

from blueprint.dumps import together
from blueprint.verifying import Verifier, known_device
from blueprint.workbooks.sft.verifying.export import shown
from blueprint.workbooks.sft.verifying.verify import verify_steps

VERIFIER = Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)
