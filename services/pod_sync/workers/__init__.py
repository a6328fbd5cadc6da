"""workers: one machine per pod UID that says what is done next about it: sync, end, clean up.

Inputs    events about one pod: a source has it, it is to be killed, no source has it any more, the runtime was listed,
          a run ended, its timer fired. Time (CLOCK_MONOTONIC seconds) and chance are arguments.
Outputs   a new `Worker` and actions: start or cancel a run, ask for a listing, set the timer, record a decision.
State     `Pool`: the workers by UID and whose turn it is under each static full name.
If down   not a process: part of pod_sync.
Restart   rebuilt by feeding the pods that the sources have and the decisions that were recorded (`Decision`).
Never     does I/O, reads a clock, decides about single containers (room `containers` does).
Bounds    one step in under 50 µs.

Modules: `model` (states, events, actions), `core` (`first_sight`, `step`), `pool` (many workers and static name turns),
`housekeeping` (what to do about pods that only one side knows), `answers` (what other daemons ask of a worker).
"""
