"""What the shop keeps."""

from django.db import models


class Order(models.Model):
    customer = models.TextField()
    receipt = models.TextField(default="")
