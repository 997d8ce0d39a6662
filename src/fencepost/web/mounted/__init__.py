"""The web inside another application, under a path of that application, behind its sign-in.

The parts inside see paths of their own: `/runs`, never `/ops/fencepost/runs`. `paths.py` takes the path of
the host away from each request and puts it before each link, redirect and cookie of the answer. `people.py`
takes what the host says of its user for who is there. `application.py` starts and stops what runs beside the
answers.
"""
