"""Devices made here, for where there is none: see simulated.py."""
