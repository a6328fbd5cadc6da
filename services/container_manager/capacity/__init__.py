"""What the machine has and how much of it pods may have: `machine` reads it, `core` computes (pure)."""
