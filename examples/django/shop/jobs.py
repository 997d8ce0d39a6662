"""The shop's work in the background."""

from django.db import connection, transaction

from fencepost import Fencepost, Run
from shop.models import Order

app = Fencepost()


@app.job()
def send_receipt(run: Run, order_id: int) -> None:
    with transaction.atomic():  # the order's change and the run's success are one commit
        run.complete_in(connection)
        Order.objects.filter(pk=order_id).update(receipt=run.key)
