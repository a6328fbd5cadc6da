"""Which group this process is in. Pure."""


def own_group(text: str, version: int) -> str:
    """The path in a `/proc/self/cgroup`; empty when CPU and memory are accounted in different groups, or in the root."""
    paths = {}
    for line in text.splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if version == 2 and number == "0" and not controllers:
            return "" if path == "/" else path
        for controller in controllers.split(","):
            paths[controller] = path
    cpu, memory = paths.get("cpuacct", ""), paths.get("memory", "")
    return cpu if version == 1 and cpu == memory and cpu != "/" else ""
