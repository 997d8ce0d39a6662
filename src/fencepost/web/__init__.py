"""The program over HTTP. A caller shows a token; only health answers without one.

`application.py` puts the parts together, `server.py` serves them; `api/` has one router a resource.
"""
