"""The object by which llapdiff computes on NVIDIA GPUs; llapdiff finds it by itself. Needs the driver."""
