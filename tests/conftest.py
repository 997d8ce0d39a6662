"""What all tests share: the servers' fixtures, readable failures, and Hypothesis without surprises."""

import os
from dataclasses import fields

import pytest
from hypothesis import settings

from fencepost.config import PREFIX, Settings

pytest_plugins = ["tests.servers.fixtures"]

pytest.register_assert_rewrite("fencepost.testing.conformance", "tests.conformance.twins")

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# Settings of whoever runs the tests are not those of the tests.
for setting in fields(Settings):
    os.environ.pop(PREFIX + setting.name.upper(), None)
