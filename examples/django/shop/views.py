"""The shop's only page."""

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from fencepost.contrib.django import enqueue
from shop.jobs import send_receipt
from shop.models import Order


@csrf_exempt
def take(request: HttpRequest, customer: str) -> JsonResponse:
    with transaction.atomic():  # an order without its run, or a run without its order, cannot be
        order = Order.objects.create(customer=customer)
        key = enqueue(send_receipt, order_id=order.pk)
    return JsonResponse({"order": order.pk, "run": key}, status=202)
