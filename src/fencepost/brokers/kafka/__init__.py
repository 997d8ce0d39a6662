"""Messages over Kafka. Needs the extra `kafka`.

**What is authoritative.** A topic is the destination. The cluster confirms a message when all replicas that
are in sync have it (`acks=all`). Its order key is the key of the record, so messages with one order key are
in one partition, in the order in which they were published.

**What a group has finished.** Kafka keeps an offset for each group and partition, not a mark for each
message. `offsets.py` keeps the marks, and commits them beside the offset. `acknowledge` returns when the
commit has been answered.

**Which consumer has a partition.** The group's members share the partitions, and share them anew whenever a
member comes or goes (a rebalance). Before that, the acknowledged offsets are committed. A partition that
stays with us keeps its marks and goes on where it was. The marks of a partition that was lost are dropped:
its held messages go to the new owner, and a late acknowledgement changes nothing.

**How long a message may be held.** As long as the process lives. The driver tells the group from a task of
its own that we live; nothing is read beyond `hold_max`, so nothing has to be paused.

**What happens on failure.** A publication without an answer is `Unconfirmed`, and its producer is replaced
(`connection.py`). A subscription that finds nothing asks now and then whether the cluster is there, since
the driver itself never says that it is not. A consumer that fails for good is replaced; what was held comes
again.
"""

from __future__ import annotations

from fencepost.errors import MissingExtra

try:
    from fencepost.brokers.kafka.broker import KafkaBroker, open_broker
except ModuleNotFoundError as error:
    if error.name != "aiokafka":
        raise
    raise MissingExtra("the broker kafka needs a driver; run: pip install 'fencepost[kafka]'") from error

__all__ = ["KafkaBroker", "open_broker"]
