"""Container logs: `options` decodes the query, `selection` finds the container, `lines` filters, `reader` follows files."""
