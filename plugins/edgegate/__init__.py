"""A production-fidelity Kubernetes edge on one machine, and gates that decide by real traffic."""

__all__: list[str] = []
