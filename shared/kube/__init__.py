"""What a node knows of the Kubernetes API: its types, quantities, and the rules by which a pod is read.

`types` are the objects, `quantity` their numbers, `pods` questions about a pod, `manifest` reads a static pod.
"""
