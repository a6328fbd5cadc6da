"""/stats/summary: `summary` builds the document, `filesystems` and `network` read this host."""
