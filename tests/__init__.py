"""Tests, by the rooms of minigrad/: README.md says which, and where a new one goes."""
