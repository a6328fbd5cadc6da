"""An emulated machine with cgroup v2, for what this machine's own hierarchy cannot show.

    python -m deploy.test_machine.vm 'COMMAND'      runs it there, in this folder; ends with its exit status

It boots Debian's cloud kernel in about ten seconds. Its files are this machine's, read-only below a layer in memory:
what a command writes is gone afterwards, `/run` is empty, and only what it prints comes back. The processor
is emulated, so Python runs some ten times slower than here: keep such tests few.

What it takes: `deploy/install-packages.sh vm`; the kernel is downloaded once with apt, not installed.
"""
