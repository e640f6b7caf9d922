"""The cost of minigrad's ops and steps, compared with other engines. `python -m benchmarks`.

workloads    the losses, each written once for all engines
engines      the engines that run them; engines.numpy by hand, without an engine
reference    the right answers, in float64
worker       one engine in its own process;  rounds: taking turns;  peak: memory
costs        memory, the first call, cores
growth       time and memory over batch, length, nodes and ranks
report       the tables, with targets
profile      where minigrad's own time goes
gpu          workloads on a GPU, and the tests that need one: python -m benchmarks gpu --tests
"""
