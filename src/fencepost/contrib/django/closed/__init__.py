"""A database backend that only says why it cannot be used; see `fencepost.contrib.django.shutting`."""
