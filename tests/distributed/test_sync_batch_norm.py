"""SyncBatchNorm on two and on three ranks."""

from ranks import on_ranks

test_on_ranks = on_ranks("sync_batch_norm.py", 2, 3)
