"""Every operation of the ledger, once: a transaction script over rows. See `ports.rows`."""
