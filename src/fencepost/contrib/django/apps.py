"""Django's handle on this app."""

from django.apps import AppConfig


class FencepostConfig(AppConfig):
    """`fencepost.contrib.django` in INSTALLED_APPS."""

    name = "fencepost.contrib.django"
    label = "fencepost"
    verbose_name = "Fencepost"
