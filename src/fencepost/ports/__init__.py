"""What we need from the outside: one Protocol a file, the contract in prose."""
