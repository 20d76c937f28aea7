"""Whether a file that a user names is a kubeconfig that can be used, told from the file alone."""

from pathlib import Path
from typing import Any

import yaml


def trouble_with(file: Path) -> str:
    """Return why a file is no kubeconfig that can be used, as a sentence without its subject; empty when it is one."""
    if file.exists() and not file.is_file():  # <(a command) can be read once, and it is read at every look
        return "is a folder" if file.is_dir() else "is no file that can be read twice: write it to one"
    try:
        said = yaml.safe_load(file.read_text())
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (yaml.YAMLError, UnicodeDecodeError):
        return "is no YAML"
    try:
        return _incomplete(said)
    except (KeyError, TypeError, AttributeError):
        return "is no kubeconfig: it has no lists of contexts, clusters and users"


def _incomplete(said: Any) -> str:
    contexts = {one["name"]: one["context"] for one in said["contexts"]}
    clusters = {one["name"]: one["cluster"]["server"] for one in said["clusters"]}
    users = {one["name"] for one in said["users"]}
    current = said.get("current-context") or ""
    if current not in contexts:
        known = ", ".join(contexts) or "none"
        return f"has the current context '{current}', which is not among its contexts ({known})"
    context = contexts[current]
    if context["cluster"] not in clusters:
        return f"has no cluster '{context['cluster']}', which its current context names"
    return "" if context["user"] in users else f"has no user '{context['user']}', whom its current context names"
