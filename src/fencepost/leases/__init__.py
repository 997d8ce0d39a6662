"""Leases that live elsewhere than in the ledger's own store, one package for each kind of server."""
