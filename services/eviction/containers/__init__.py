"""Dead containers, dead sandboxes and log folders of pods that are gone: `core` decides (pure), `collector` removes."""
