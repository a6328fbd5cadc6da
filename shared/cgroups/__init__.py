"""Control groups: names for both drivers, value formulas, where hierarchies are mounted, and what their files say.

`names`, `formulas` and `stats` are pure; `mounts` reads /proc once. Nothing here changes a group.
"""
