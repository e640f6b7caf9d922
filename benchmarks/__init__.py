"""What an op costs here, and beside the engines people know. `python -m benchmarks`."""
