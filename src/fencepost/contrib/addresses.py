"""What of a framework's database the ledger's URL can take over."""

from __future__ import annotations

FOR_BOTH_DRIVERS = (
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl"),
    *("passfile", "target_session_attrs"),
)
"""What the framework's driver and the ledger's call by the same name."""
