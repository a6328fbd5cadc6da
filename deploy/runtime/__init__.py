"""A container runtime of our own: containerd with its configuration, its pod network and images without a registry.

`config` renders the files, `images` builds image archives from this machine's busybox, `containerd` starts and stops.
For nodes that have none (`make run`) and for tests; a node in production brings its own, and needs nothing from here.
"""
