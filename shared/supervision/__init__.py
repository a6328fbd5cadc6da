"""How the eight daemons are kept alive: a supervisord extension, and what it needs.

supervisord alone sleeps up to a second before it notices a death and up to another before it starts again, gives a
program up for good after a few quick exits, and pays for a whole interpreter per program. `plugin` changes just that;
everything else is supervisord's own. `restarts` and `hangs` are the pure rules, the rest is their I/O.

The layout of the run directory that supervisor, daemons and command line share is in `layout`.
"""
