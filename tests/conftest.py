"""What all tests share: the servers' fixtures, readable failures, and Hypothesis without surprises."""

import os

import pytest
from hypothesis import settings

pytest_plugins = ["tests.servers.fixtures"]

pytest.register_assert_rewrite("fencepost.testing.conformance", "tests.conformance.twins")

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
