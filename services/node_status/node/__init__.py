"""The Node object: `core` computes it, `model` has its inputs, `machine` and `addresses` read this host."""
