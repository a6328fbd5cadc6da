"""The control groups of pods: what each must hold (`core`, pure), and the files that say so (`cgroupfs`).

kubepods                 allocatable of the node
├── pod<uid>             Guaranteed pods
├── burstable
│   └── pod<uid>
└── besteffort
    └── pod<uid>
"""
