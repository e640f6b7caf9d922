"""Many processes, one model: collectives, and parallel training built on them, under PyTorch's names.

group           operations of a group of processes on arrays; group has a single process, mpi many
watch           shows every process the state of all others, so that a deadlock raises an error
collectives     init_process_group, ranks, groups; all_reduce and the other collectives, in place
functional      collectives as ops, with gradients
algorithms      ring, tree, halving: the messages of one rank, round by round
data_parallel   DistributedDataParallel: averages gradients in buckets, while backward runs; DistributedSampler;
                SyncBatchNorm normalises over the batches of all processes
tensor_parallel gives each process a part of every weight
sharding        ZeRO: optimiser state, gradients and parameters in parts, gathered when needed
placement       a graph whose nodes are assigned to processes
schedules       the order of work in a pipeline
pipeline        cuts a network into stages, and runs a schedule on them
cost            the cost of a step on given hardware, by the papers' formulas, and the best plan
simulator       a step on up to 10,000 workers, with stragglers and failures
launcher        starts ranks (rank), sends them a function with its names, shows their output, and ends them
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
