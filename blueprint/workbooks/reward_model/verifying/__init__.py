"""Steps of a reward model: verified, and shown, some of their pairs, as a workbook."""

from blueprint.dumps import together
from blueprint.verifying import Verifier, known_device
from blueprint.workbooks.reward_model.verifying.export import shown
from blueprint.workbooks.reward_model.verifying.verify import verify_steps

VERIFIER = Verifier(known_device, verify_steps, shown, lambda verdict: verdict.replayed.batch, together)
