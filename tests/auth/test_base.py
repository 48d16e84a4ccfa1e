"""Which authentication decides, and what a setting may name."""

from types import SimpleNamespace

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ImproperlyConfigured
from django.test import SimpleTestCase

from django_mcp.auth import AllowAny, Authentication, AuthenticationFailed, AuthRequest, BearerToken
from django_mcp.auth.base import identify, load_authentication, principal_for, recall
from django_mcp.protocol.headers import Headers
from django_mcp.server.call import Caller

REQUEST = AuthRequest(headers=Headers([]), path="/mcp")


class Fixed(Authentication):
    """Gives back, or raises, what it was made with."""

    uses_database = False

    def __init__(self, outcome=None):
        self.outcome = outcome

    def authenticate(self, request):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    recall = authenticate


def principal_of(caller):
    return None if caller is None else caller.principal


def caller(principal):
    return Caller(user=None, principal=principal)


class AllowAnyTests(SimpleTestCase):
    def test_everybody_is_anonymous_and_the_database_is_not_asked(self):
        found = AllowAny().authenticate(REQUEST)
        assert isinstance(found.user, AnonymousUser)
        assert (found.principal, found.token, found.scopes) == ("anonymous", None, None)
        assert AllowAny.uses_database is False
        assert AllowAny().recall(REQUEST) is None

    def test_nobody_is_challenged(self):
        assert AllowAny().challenge(REQUEST, failed=True) == ""


class AuthenticationTests(SimpleTestCase):
    def test_a_class_without_authenticate_is_told_so(self):
        with self.assertRaisesMessage(NotImplementedError, "Authentication must define authenticate(request)."):
            Authentication().authenticate(REQUEST)


class PrincipalTests(SimpleTestCase):
    def test_a_user_is_named_by_primary_key(self):
        user = get_user_model()(pk=7)
        assert principal_for(user) == Authentication.principal_for(user) == "user:7"

    def test_whoever_is_not_logged_in_is_anonymous(self):
        for user in (AnonymousUser(), None, SimpleNamespace(is_authenticated=False)):
            with self.subTest(user=user):
                assert principal_for(user) == "anonymous"

    def test_unsaved_users_have_no_name_they_could_share(self):
        with self.assertRaisesMessage(ValueError, "save the user first"):
            principal_for(get_user_model()())


class IdentifyTests(SimpleTestCase):
    def test_the_first_that_recognises_the_credentials_decides(self):
        found = identify([Fixed(), Fixed(caller("a")), Fixed(caller("b"))], REQUEST)
        assert principal_of(found) == "a"

    def test_no_credentials_are_no_caller(self):
        assert identify([Fixed(), Fixed()], REQUEST) is None

    def test_credentials_may_be_bad_for_one_and_good_for_the_next(self):
        failing = Fixed(AuthenticationFailed("no"))
        assert principal_of(identify([failing, Fixed(caller("a"))], REQUEST)) == "a"

    def test_the_first_failure_is_told(self):
        failing = [Fixed(AuthenticationFailed("one")), Fixed(), Fixed(AuthenticationFailed("two"))]
        with self.assertRaisesMessage(AuthenticationFailed, "one"):
            identify(failing, REQUEST)

    def test_bad_credentials_never_make_an_anonymous_caller(self):
        """BL-016"""
        with self.assertRaises(AuthenticationFailed):
            identify([Fixed(AuthenticationFailed("no")), AllowAny()], REQUEST)
        assert principal_of(identify([Fixed(), AllowAny()], REQUEST)) == "anonymous"

    def test_memory_is_asked_of_the_first_only(self):
        assert principal_of(recall([Fixed(caller("a")), Fixed(caller("b"))], REQUEST)) == "a"
        assert recall([Fixed(), Fixed(caller("b"))], REQUEST) is None
        assert recall([Fixed(AuthenticationFailed("no"))], REQUEST) is None


class LoadAuthenticationTests(SimpleTestCase):
    def test_paths_classes_and_objects_are_taken(self):
        given = Fixed()
        loaded = load_authentication(["django_mcp.auth.BearerToken", AllowAny, given])
        assert list(map(type, loaded)) == [BearerToken, AllowAny, Fixed]
        assert loaded[2] is given
        (alone,) = load_authentication("django_mcp.auth.AllowAny")
        assert isinstance(alone, AllowAny)

    def test_an_open_server_is_spelled_out(self):
        """AUTH-01."""
        with self.assertRaisesMessage(ImproperlyConfigured, "Write 'django_mcp.auth.AllowAny'"):
            load_authentication([])

    def test_a_path_that_leads_nowhere_is_named(self):
        for path in ("django_mcp.auth.Nobody", "no_such_module.Auth"):
            with (
                self.subTest(path=path),
                self.assertRaisesMessage(ImproperlyConfigured, f"names {path!r}, which cannot be imported"),
            ):
                load_authentication(path)

    def test_other_things_are_refused(self):
        for value in ("django.db.router", dict, None, Caller):
            with (
                self.subTest(value=value),
                self.assertRaisesMessage(ImproperlyConfigured, "which is no authentication"),
            ):
                load_authentication(value)
