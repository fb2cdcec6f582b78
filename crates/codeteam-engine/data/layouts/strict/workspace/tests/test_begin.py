"""A run of the tests that finds none counts as failed. Remove this once there are others."""


def test_tests_run():
    assert True
