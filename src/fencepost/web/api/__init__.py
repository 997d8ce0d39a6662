"""`/api/v1`: one router a resource."""
