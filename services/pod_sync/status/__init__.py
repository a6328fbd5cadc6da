"""The API status of a pod, computed from what is seen and what was last said. Pure.

    compute_status(StatusView(...)) -> PodStatus

`phase` decides the phase, `conditions` the pod conditions, `containers` the container statuses, `readiness` what is started
and ready; `core` puts them together. Source: upstream `kubelet_pods` (generateAPIPodStatus), `kuberuntime`, `status`, `prober`.
"""
