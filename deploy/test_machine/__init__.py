"""A node's surroundings for tests: a network namespace with a network card and a container runtime in it.

    python -m deploy.test_machine up NAME [--runtime installed|peer]     then: ... exec NAME COMMAND..., ... down NAME

Everything is named after NAME, so that several live side by side, and `down` removes all of it: pods, runtime, shims,
mounts, cgroups, namespace, folders. Nothing outside is touched.
"""
