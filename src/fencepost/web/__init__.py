"""The program over HTTP. Whoever wants in shows a token; only health answers without one.

`application.py` puts the parts together, `server.py` serves them; `api/` has one router a resource.
"""
