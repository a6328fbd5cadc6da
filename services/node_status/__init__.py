"""node_status: what this node is and how it is, as the Kubernetes Node object; and the node's certificates.

Inputs    tables `node_resources`, `node_pressure`, `runtime_health`, `volumes_in_use`, `daemon` of all eight; CRI ListImages
          every `image_list_period_s`; /etc/os-release, uname, the node's addresses.
Outputs   tables `node` (the Node object, key `node`) and `credentials` (paths, serials, expiry; never keys).
State     none of its own: conditions keep their transition times through the checkpoint `RUN/state/node_status`.
If down   the last Node stays with its readers; nothing is posted. Certificates stay on disk.
Restart   safe at any instant: nothing is published before pressure and runtime health were heard or `settle_s` passed, so
          that no condition flips because a daemon restarts.
Never     changes a pod, a cgroup or a mount; never puts a private key on the bus.
Bounds    one computation per `node_status_update_frequency_s` and per change; well under 1 ms each.
"""
