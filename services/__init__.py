"""The eight daemons, one package each. No service imports another: they meet on the bus (`shared.bus`)."""
