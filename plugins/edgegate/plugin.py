"""The pytest hooks of edgegate; nothing else."""
