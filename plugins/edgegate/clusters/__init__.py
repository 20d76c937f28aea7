"""One control plane seen as an API."""
