"""`manage.py fencepost`."""
