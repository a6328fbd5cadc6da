"""What node, pods and containers use: `reader` reads their groups, `core` makes rates of two samples (pure)."""
