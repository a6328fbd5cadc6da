#!/bin/busybox sh
# First process of the emulated machine. It makes a root out of the host's files and a memory layer, and runs the command.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs devtmpfs /dev
for module in /modules/*; do $b insmod "$module"; done
$b mount -t virtiofs -o ro host /host
$b mount -t tmpfs -o size=75% tmpfs /layer
$b mkdir /layer/changes /layer/work
$b mount -t overlay -o lowerdir=/host,upperdir=/layer/changes,workdir=/layer/work overlay /root
for name in proc sys dev; do $b mount --move /$name /root/$name; done
$b mount -t cgroup2 cgroup2 /root/sys/fs/cgroup
# Not over /tmp: the checkout may lie there. What is written there is gone afterwards all the same.
for name in run dev/shm; do $b mkdir -p /root/$name; $b mount -t tmpfs tmpfs /root/$name; done
$b mkdir -p /root/dev/pts
$b mount -t devpts devpts /root/dev/pts
$b ln -s /proc/self/fd /root/dev/fd
$b sed 's/.* octolet_command=//; s/ .*//' /root/proc/cmdline | $b base64 -d > /root/run/command
echo
echo "@begin"
$b chroot /root /bin/sh -c '
    export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    mount --make-rshared / && ip link set lo up
    bash /run/command; status=$?
    echo
    echo "@end $status"' 2>&1
$b poweroff -f
