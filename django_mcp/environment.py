"""Whether checks run inside a test run, whose settings are not the site's."""

from django.core import mail


def is_test_run() -> bool:
    """``setup_test_environment()`` gives ``django.core.mail`` its outbox and turns DEBUG off."""
    return hasattr(mail, "outbox")
