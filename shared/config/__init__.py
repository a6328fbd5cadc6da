"""KubeletConfiguration files and the kubelet's flags, turned into one checked `Config` and each daemon's settings.

`fields`, `flags` and `gates` are the tables; `document` reads text, `decode` checks types, `defaults` fills in,
`validation` judges, `resolve` does it all in upstream's order, `settings` hands each daemon what it declares.
"""

from shared.config.model import Config, Origin

__all__ = ["Config", "Origin"]
