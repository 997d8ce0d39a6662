"""Where things are."""

from django.contrib import admin
from django.urls import path

from shop.views import take

urlpatterns = [path("admin/", admin.site.urls), path("orders/<str:customer>", take)]
