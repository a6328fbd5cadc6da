"""The demo node behind `make run`, `make stop` and `make clean`: real containerd, real octolet, one static pod.

Everything it makes lies below two folders of its own, in a cgroup of its own, and is undone by `stop` and `clean`.
"""
