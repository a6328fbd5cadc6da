"""Images that nothing uses: `core` remembers and decides (pure), `collector` lists and removes."""
