"""How a call ends: hooks, caught errors, conversion and COMMIT, for sync and async functions, through every door."""

from contextlib import suppress
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError

from django_mcp.exceptions import InvalidOutput, NotSaved
from tests.running import doors
from tests.running.doors import ALONE, IN_TEST_CASE, Boom, add, boom, saved, through
from tests.shop.models import Product

is_postgres = connection.vendor == "postgresql"


class Outcomes(doors.Door):
    def run_with_hooks(self, body, **options):
        """What the hooks of ``body`` did, be they run by us or by the test's transaction."""
        if self.is_saved_at_once:
            return self.run_call(body, **options)
        with self.captureOnCommitCallbacks(execute=True):
            return self.run_call(body, **options)

    def test_on_commit_before_the_first_write_runs_after_the_commit(self):
        seen: list = []

        def body():
            transaction.on_commit(lambda: seen.append((connection.in_atomic_block, saved())))
            add("pen")
            seen.append("written")

        self.assert_undone(body)
        self.assertEqual(seen, ["written"])
        seen.clear()
        self.run_with_hooks(body)
        self.assertEqual(seen, ["written", (not self.is_saved_at_once, ["pen"])])

    def test_on_commit_without_a_write(self):
        seen = []

        def body():
            transaction.on_commit(lambda: seen.append("hook"))
            seen.append("end")

        self.assert_undone(body)
        self.assertEqual(seen, ["end"])
        self.run_with_hooks(body)
        self.assertEqual(seen, ["end", "end", "hook"])

    def test_hook_of_an_undone_block_does_not_run(self):
        seen = []

        def body():
            try:
                with transaction.atomic():
                    transaction.on_commit(lambda: seen.append("undone"))
                    boom()
            except Boom:
                transaction.on_commit(lambda: seen.append("kept"))

        self.run_with_hooks(body)
        self.assertEqual(seen, ["kept"])

    def test_hook_may_write(self):
        def body():
            transaction.on_commit(lambda: add("ink"))
            add("pen")

        self.run_with_hooks(body)
        self.assertEqual(saved(), ["ink", "pen"])

    def test_swallowed_integrity_error_is_not_saved(self):
        add("pen")

        def body():
            add("ink")
            with suppress(IntegrityError):
                add("pen")
            return "fine"

        with self.assertRaisesMessage(NotSaved, "atomic()") as caught:
            self.run_call(body)
        self.assertIsInstance(caught.exception.__cause__, IntegrityError)
        self.assertEqual(saved(), ["pen"])

    def test_integrity_error_caught_around_its_own_atomic_is_fine(self):
        add("pen")

        def body():
            add("ink")
            try:
                with transaction.atomic():
                    add("pen")
            except IntegrityError:
                return "fine"

        self.assertEqual(self.run_call(body), "fine")
        self.assertEqual(saved(), ["ink", "pen"])

    def test_swallowed_error_of_raw_sql_saves_all_or_nothing(self):
        def body():
            add("pen")
            try:
                with connection.cursor() as cursor:
                    cursor.execute("INSERT INTO no_such_table VALUES (1)")
            except Exception:  # noqa: BLE001, S110 - which one depends on the database
                pass

        if is_postgres:
            with self.assertRaises(NotSaved):
                self.run_call(body)
            self.assertEqual(saved(), [])
        else:
            self.run_call(body)
            self.assertEqual(saved(), ["pen"])

    def test_error_of_raw_sql_undone_by_a_manual_savepoint_is_fine(self):
        def body():
            add("pen")
            savepoint: Any = connection.savepoint()  # transaction.savepoint() has another name in Django 6.1
            try:
                with connection.cursor() as cursor:
                    cursor.execute("INSERT INTO no_such_table VALUES (1)")
            except Exception:  # noqa: BLE001 - which one depends on the database
                connection.savepoint_rollback(savepoint)

        self.run_call(body)
        self.assertEqual(saved(), ["pen"])

    def test_set_rollback_is_not_saved(self):
        def body():
            add("pen")
            transaction.set_rollback(True)

        with self.assertRaises(NotSaved):
            self.run_call(body)
        self.assertEqual(saved(), [])

    def test_block_left_open_is_not_saved(self):
        def body():
            add("pen")
            transaction.atomic().__enter__()
            add("ink")

        with self.assertRaisesMessage(NotSaved, "not ended"):
            self.run_call(body)
        self.assertEqual(saved(), [])

    def test_manual_autocommit_is_refused(self):
        with self.assertRaises(TransactionManagementError):
            self.run_call(lambda: transaction.set_autocommit(False))

    def test_output_that_fails_validation_is_not_saved(self):
        def refuse(value):
            raise InvalidOutput("not a number")

        with self.assertRaises(InvalidOutput):
            self.run_call(lambda: add("pen"), finish=refuse)
        self.assertEqual(saved(), [])

    def test_queryset_and_generator_are_consumed_inside(self):
        def names():
            yield add("pen").name
            yield from Product.objects.values_list("name", flat=True)

        self.assertEqual(self.run_call(names, finish=list), ["pen", "pen"])
        self.assertEqual(self.run_call(lambda: Product.objects.values_list("name", flat=True), finish=list), ["pen"])

    def test_generator_that_fails_is_undone(self):
        def names():
            yield add("pen").name
            boom()

        with self.assertRaises(Boom):
            self.run_call(names, finish=list)
        self.assertEqual(saved(), [])

    def test_writes_of_the_conversion_belong_to_the_call(self):
        def fail(value):
            add("ink")
            boom()

        with self.assertRaises(Boom):
            self.run_call(lambda: add("pen"), finish=fail)
        self.assertEqual(saved(), [])


class Commits(doors.Door):
    def test_deferred_constraint_at_commit_is_not_saved(self):
        def body():
            add("pen", category_id=12345)
            add("ink", using="other")

        if connection.vendor == "mysql":
            with self.assertRaises(IntegrityError):
                self.run_call(body)
        else:
            with self.assertLogs("django_mcp.running", "WARNING"), self.assertRaises(NotSaved) as caught:
                self.run_call(body)
            self.assertIsInstance(caught.exception.__cause__, IntegrityError)
        self.assertEqual((saved(), saved("other")), ([], []))

    def test_failing_on_commit_hook_is_logged_and_the_result_stays_good(self):
        seen = []

        def body():
            transaction.on_commit(boom)
            transaction.on_commit(lambda: seen.append("next"))
            add("pen")
            return "fine"

        with self.assertLogs("django_mcp.running", "ERROR") as logs:
            self.assertEqual(self.run_call(body), "fine")
        self.assertIn("Boom", logs.output[0])
        self.assertEqual((saved(), seen), (["pen"], ["next"]))

    def test_connection_closed_inside_is_not_saved(self):
        def body():
            add("pen")
            connection.close()

        with self.assertRaises(NotSaved):
            self.run_call(body)
        self.assertEqual(saved(), [])

    def test_non_atomic_call_that_leaves_a_transaction_open_is_undone(self):
        def body():
            transaction.atomic().__enter__()
            add("pen")

        self.run_call(body, atomic=False)
        self.assertEqual(saved(), [])


globals().update(through(ALONE + IN_TEST_CASE, Outcomes))
globals().update(through(ALONE, Commits))
