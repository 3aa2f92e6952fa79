"""Type hints: mypy --strict on the package, the tests, and programs that use it rightly and wrongly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent.parent


def test_type_hints() -> None:
    mypy = [sys.executable, "-m", "mypy", "--strict", "--no-strict-equality"]
    found = subprocess.run([*mypy, "mcds", "tests", "bench"], cwd=HERE, capture_output=True,
                           text=True)
    assert found.returncode == 0, found.stdout + found.stderr
