"""Message brokers, one package for each kind of server."""
