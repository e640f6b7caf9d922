"""The compact engine: arrays that remember where they came from. It depends on NumPy only."""
