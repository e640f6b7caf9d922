"""The compact engine: arrays that remember where they came from. NumPy is all that it imports."""
