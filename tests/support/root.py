"""Where this repository is, for tests in rooms of any depth."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
