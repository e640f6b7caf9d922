"""What an op costs here, and beside the engines people know. `python -m benchmarks`.

workloads    the losses, each written once for all engines
engines      what runs them; engines.numpy by hand, without any engine
reference    what the answers are, in float64
worker       one engine in its own process;  rounds: their turns;  peak: their memory
costs        memory, the first call, threads, compiling (compiling.py), a session (session.py)
report       the tables, beside what was aimed at
profile      where minigrad's own time goes
pipeline     the bubble of a pipeline on four processes: python -m benchmarks.pipeline
gpu          the same on a GPU, with the tests that need one: python -m benchmarks gpu --tests
"""
