"""What nobody can be shown again, and how it is freed."""
