"""Run a corpus of attacks and of harmless requests against a firewall, and judge what it does with each."""
