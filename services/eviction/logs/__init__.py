"""Container logs that grew too long: `core` decides (pure), `rotator` renames, compresses and tells the runtime."""
