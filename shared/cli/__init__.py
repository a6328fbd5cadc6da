"""The `octolet` command, one module per verb. Each is imported only when it is used: `ready` has to be quick."""
