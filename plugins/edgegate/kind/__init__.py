"""Two kind clusters as an edge's control planes and node: images from the store, clusters, a Docker engine of our own.

A sibling of `lab`: nothing here knows what runs in the clusters.
"""
