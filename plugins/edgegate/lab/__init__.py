"""The sandbox: kernel namespaces, supervisor, control socket, node agent."""
