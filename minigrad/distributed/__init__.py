"""Many processes, one model: collectives, and what is built of them, by PyTorch's names.

group           what a group of processes can do with arrays; alone, or by MPI (mpi)
agreement       before they move anything, all say what they are about to move
watch           what every process is doing, so that a wait that nobody will end is an error
world           who takes part: init_process_group, ranks, groups
collectives     all_reduce and its kin, in place
functional      the same as ops, with gradients
algorithms      ring, tree, halving: what one rank does, round by round
data_parallel   DistributedDataParallel: the mean of all gradients, in buckets, while backward goes on
sampler         to each process its share of the data; sync_batch_norm, one batch of all their batches
tensor_parallel to each process a part of every weight
sharding        ZeRO: parts of optimiser state, gradients and parameters, gathered where they are needed
placement       a graph whose nodes say in which process they are computed
schedules       who does what in a pipeline, and in which order
stages          a network, cut
pipeline        its stages, which run a schedule with one another
cost            what a step costs on given hardware, by the papers' formulas, and the best plan
simulator       the same on 10,000 workers, with stragglers and failures
launcher        starts ranks, shows what they print, and ends them; rank is what it starts, carried what goes to them
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
