"""/metrics: every daemon's own page, merged into one."""
