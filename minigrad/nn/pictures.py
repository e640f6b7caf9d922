"""Pictures in other sizes and orders, windows as columns, neighbours and likeness: functions as layers."""

from .held import held

Upsample = held("Upsample", "interpolate", "x (N, C, *size) in another size: see functional.interpolate.")
UpsamplingNearest2d = held("UpsamplingNearest2d", "upsample_nearest", "Upsample by the nearest element.")
UpsamplingBilinear2d = held("UpsamplingBilinear2d", "upsample_bilinear", "Upsample with mode='bilinear', by corners.")
PixelShuffle = held("PixelShuffle", "pixel_shuffle", "(C r², H, W) → (C, H r, W r)", "upscale_factor")
PixelUnshuffle = held("PixelUnshuffle", "pixel_unshuffle", "The inverse of PixelShuffle.", "downscale_factor")
ChannelShuffle = held("ChannelShuffle", "channel_shuffle", "Channels, in groups, dealt out.", "groups")
Unfold = held("Unfold", "unfold", "Each window as a column: see functional.unfold.", "kernel_size")
Fold = held("Fold", "fold", "Columns added up where they were read: see functional.fold.", "output_size", "kernel_size")
LocalResponseNorm = held("LocalResponseNorm", "local_response_norm", "x / (k + α mean x²)^β", "size")
CosineSimilarity = held("CosineSimilarity", "cosine_similarity", "x₁ · x₂ / (‖x₁‖ ‖x₂‖) along an axis.")
PairwiseDistance = held("PairwiseDistance", "pairwise_distance", "‖x₁ − x₂ + ε‖ₚ over the last axis.")
