"""DP-SGD by its own parameters: at many settings at once, planned, and on shuffled batches."""
