"""What Fencepost gives to those who test against it: conformance suites, a virtual clock, fakes."""
