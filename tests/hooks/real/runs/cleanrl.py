"""CleanRL fe8d8a0, ppo.py on CartPole: two rollouts of 16 steps in two environments, two epochs of two minibatches.

Its one argument says whether values are clipped.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

ARGUMENTS = (
    "--no-cuda", "--total-timesteps", "64", "--num-envs", "2", "--num-steps", "16", "--num-minibatches", "2", "--update-epochs",
    "2", "--learning-rate", "0.01",
)  # fmt: skip


def main(values: str) -> None:
    """Runs the script that lies in the path, as one would from the command line."""
    script = next(path for path in (Path(each) / "cleanrl" / "ppo.py" for each in sys.path) if path.exists())
    sys.argv = [str(script), *ARGUMENTS, "--clip-vloss" if values == "clipped" else "--no-clip-vloss"]
    runpy.run_path(str(script), run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
