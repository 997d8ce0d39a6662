"""The behaviour that every store must have, as pytest classes to subclass.

A store passes when each contract passes against it, on its real server. There is one file per port, one class
per file, and one behaviour per test; most names say what must not happen. To test a store of your own:

    import pytest
    from fencepost.testing.conformance.harness import StoreHarness
    from fencepost.testing.conformance.whole import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[StoreHarness]: ...

The harness owns the time: nothing here sleeps, and the store's clock moves only by `advance`. Each test
wants an empty store. The tests are coroutines: run them with pytest-asyncio in its `auto` mode, and call
`pytest.register_assert_rewrite("fencepost.testing.conformance")` in your conftest to see both sides of a
failed comparison.
"""
