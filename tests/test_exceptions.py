import pytest

from django_mcp import exceptions


def test_faults_are_joined_to_one_text():
    error = exceptions.InvalidArguments("a: must be an integer", "b is required")

    assert error.faults == ("a: must be an integer", "b is required")
    assert str(error) == "a: must be an integer; b is required"


def test_a_missing_resource_is_named():
    assert str(exceptions.ResourceNotFound("note://a")) == "Resource not found: note://a"
    assert exceptions.ResourceNotFound("note://a").uri == "note://a"


def test_a_missing_resource_needs_no_name():
    assert str(exceptions.ResourceNotFound()) == "Resource not found"
    assert exceptions.ResourceNotFound().uri is None


def test_a_cancellation_is_not_swallowed_by_except_exception():
    assert not issubclass(exceptions.CallCancelled, Exception)


@pytest.mark.parametrize("name", ["AlreadyRegistered", "NotRegistered", "InvalidPrimitive"])
def test_registry_exceptions_are_registration_errors(name):
    assert issubclass(getattr(exceptions, name), exceptions.RegistrationError)


@pytest.mark.parametrize("name", ["NotSaved", "CallTimeout", "Busy"])
def test_what_the_runner_raises_is_readable_by_the_model(name):
    assert issubclass(getattr(exceptions, name), exceptions.ToolError)
