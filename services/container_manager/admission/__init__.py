"""Whether a pod fits on this node beside the others: `core` decides (pure), `ledger` remembers what was granted."""
