"""The node agent: scheduler and kubelet for the one node of the lab's downstream control plane.

It runs any pod whose images are mapped to pinned binaries, and gives load-balancer Services an address. What a
kubelet does and this does not is written in `docs/node-agent.md`.
"""
