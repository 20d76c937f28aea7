"""A small controller core: clients, caches, queues, workers, metrics. It knows nothing about edges."""
