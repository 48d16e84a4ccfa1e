"""Several databases, and calls in calls, for sync and async functions, through every door."""

from contextlib import suppress

from asgiref.sync import async_to_sync
from django.db import IntegrityError, transaction

from django_mcp.exceptions import NotSaved
from tests.running import doors
from tests.running.doors import ALONE, IN_TEST_CASE, Boom, add, boom, run_once, saved, through


class Nesting(doors.Door):
    def test_two_databases(self):
        def body():
            add("pen")
            add("ink", using="other")

        self.assert_undone(body)
        self.run_call(body)
        self.assertEqual((saved(), saved("other")), (["pen"], ["ink"]))

    def test_second_database_alone(self):
        def body():
            with transaction.atomic(using="other"):
                add("ink", using="other")
            transaction.on_commit(lambda: None, using="other")

        self.assert_all_or_nothing(body, ["ink"], using="other")

    def test_swallowed_error_on_one_database_undoes_both(self):
        add("ink", using="other")

        def body():
            add("pen")
            with suppress(IntegrityError):
                add("ink", using="other")

        with self.assertRaises(NotSaved):
            self.run_call(body)
        self.assertEqual((saved(), saved("other")), ([], ["ink"]))

    def test_call_inside_a_call_is_undone_with_the_outer_one(self):
        def inner():
            add("ink")

        def outer():
            add("pen")
            self.drive_below(run_once, inner)

        self.assert_all_or_nothing(outer, ["ink", "pen"])

    def test_call_inside_a_call_before_the_outer_one_writes(self):
        def outer():
            self.drive_below(run_once, lambda: add("ink"))
            add("pen")

        self.assert_all_or_nothing(outer, ["ink", "pen"])

    def test_failed_call_inside_a_call_is_undone_alone(self):
        def inner():
            add("ink")
            boom()

        def outer():
            try:
                self.drive_below(run_once, inner)
            except Boom:
                add("pen")

        self.assert_all_or_nothing(outer, ["pen"])

    def test_non_atomic_call_inside_a_call_belongs_to_the_outer_one(self):
        def outer():
            self.drive_below(run_once, lambda: add("ink"), atomic=False)
            add("pen")

        self.assert_all_or_nothing(outer, ["ink", "pen"])

    def drive_below(self, function, *args, **kwargs):
        return async_to_sync(function)(*args, **kwargs)


globals().update(through(ALONE + IN_TEST_CASE, Nesting))
