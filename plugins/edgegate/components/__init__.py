"""What runs in the lab."""
