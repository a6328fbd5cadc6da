"""server: the node's HTTPS port 10250, the health port 10248 and the read-only port.

Inputs    tables `pods`, `pod_status`, `runtime_pods`, `node`, `node_resources`, `volume_usage`, `credentials`, `daemon` of all
          eight; requests `usage` and `metrics`; container log files; the client CA file.
Outputs   HTTP answers only.
State     none: open streams end with the process.
If down   kubectl logs, top and scrapes fail until it is back; pods and every other daemon do not notice.
Restart   stateless: ready as soon as its ports are bound.
Never     writes a table, changes a pod, holds a whole log file in memory, answers without asking who asks.
Bounds    memory flat in the size of a log; idle it does nothing but follow tables.
"""
