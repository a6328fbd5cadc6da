#!/bin/bash
# Installs the Debian packages that are missing for a purpose, and nothing when all are there.
#   install-packages.sh venv   what building the Python environment takes
#   install-packages.sh run    a container runtime and what a standalone node needs
#   install-packages.sh test   what the node tests need besides
#   install-packages.sh vm     what the emulated machine with cgroup v2 takes (tests/vm)
set -euo pipefail
venv=(python3-venv python3-dev)
run=(containerd runc containernetworking-plugins busybox-static iptables iproute2 curl gcc libc6-dev)
test=("${run[@]}" procps util-linux curl)
vm=(qemu-system-x86 qemu-system-common kmod cpio busybox-static)

case ${1:-} in
    venv) want=(); python3 -c 'import ensurepip, venv' 2> /dev/null || want=("${venv[@]}") ;;
    run) want=("${run[@]}") ;;
    test) want=("${test[@]}") ;;
    vm) want=("${vm[@]}") ;;
    *) sed -n '2,6s/^# \?//p' "$0"; exit 2 ;;
esac

missing=()
for package in "${want[@]}"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null | grep -q '^installed$' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ]; then
    echo "octolet: these Debian packages are missing and only root can install them: ${missing[*]}" >&2
    exit 1
fi
if ! command -v apt-get > /dev/null; then
    echo "octolet: install these packages first, this is no Debian machine: ${missing[*]}" >&2
    exit 1
fi
echo "octolet: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# Debian starts a freshly installed containerd where systemd runs; a node's own runtime is just what we want there.
{ apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } > /tmp/octolet-apt.log 2>&1 || {
    echo "octolet: apt-get failed: $(tail -n 3 /tmp/octolet-apt.log)" >&2
    exit 1
}
