"""What a refusal by a guard tells people to do."""

REMEDY = (
    "write no more; where every attempt is refused, the ledger was restored from a backup: "
    "run fencepost migrate --restored"
)
