"""Where our transaction begins: each scenario for a sync and an async function, through every door."""

from unittest import mock

from django.db import OperationalError, connection, connections, transaction
from django.test import TransactionTestCase

from django_mcp.running import step
from django_mcp.running.transactions import CallTransaction
from tests.running import doors
from tests.running.doors import ALONE, IN_TEST_CASE, Boom, add, boom, run_once, saved, through
from tests.shop.models import Product


class Beginning(doors.Door):
    def test_a_read_begins_no_transaction(self):
        def body():
            list(Product.objects.all())
            Product.objects.filter(stock=0).exists()
            return connection.in_atomic_block

        self.assertEqual(self.run_call(body), not self.is_saved_at_once)

    def test_a_write_is_undone_by_a_later_failure(self):
        self.assert_all_or_nothing(lambda: add("pen"), ["pen"])

    def test_update_and_queryset_delete_are_undone(self):
        add("pen")
        add("ink")

        def body():
            Product.objects.filter(name="pen").update(stock=5)
            Product.objects.filter(name="ink").delete()

        self.assert_all_or_nothing(body, ["pen"])
        self.assertEqual(Product.objects.get().stock, 5)

    def test_own_atomic_is_undone_by_a_later_failure(self):
        def body():
            with transaction.atomic():
                add("pen")

        self.assert_all_or_nothing(body, ["pen"])

    def test_own_atomic_after_a_write(self):
        def body():
            add("pen")
            with transaction.atomic():
                add("ink")

        self.assert_all_or_nothing(body, ["pen", "ink"])

    def test_failed_own_atomic_is_undone_alone(self):
        def body():
            add("pen")
            try:
                with transaction.atomic():
                    add("ink")
                    boom()
            except Boom:
                add("paper")

        self.assert_all_or_nothing(body, ["pen", "paper"])

    def test_failed_outermost_atomic_is_undone_alone(self):
        def body():
            try:
                with transaction.atomic():
                    add("ink")
                    boom()
            except Boom:
                add("paper")

        self.assert_all_or_nothing(body, ["paper"])

    def test_nested_atomic(self):
        def body():
            with transaction.atomic():
                add("pen")
                try:
                    with transaction.atomic():
                        add("ink")
                        boom()
                except Boom:
                    add("paper")
                with transaction.atomic(savepoint=False):
                    add("glue")

        self.assert_all_or_nothing(body, ["pen", "paper", "glue"])

    def test_durable_atomic_first(self):
        def body():
            with transaction.atomic(durable=True):
                add("pen")

        self.assert_all_or_nothing(body, ["pen"])

    def test_durable_atomic_after_a_write(self):
        def body():
            add("pen")
            with transaction.atomic(durable=True):
                add("ink")

        self.assert_all_or_nothing(body, ["pen", "ink"])

    def test_durable_atomic_inside_an_atomic_is_refused_as_without_us(self):
        def body():
            with transaction.atomic():
                transaction.atomic(durable=True).__enter__()

        with self.assertRaisesMessage(RuntimeError, "durable"):
            self.run_call(body)

    def test_atomic_true_begins_at_the_start(self):
        def body():
            begun = connection.in_atomic_block
            list(Product.objects.using("other"))
            list(Product.objects.select_for_update())
            return begun, connections["other"].in_atomic_block

        self.assertEqual(self.run_call(body, atomic=True), (True, True))
        self.assert_undone(lambda: add("pen"), atomic=True)

    def test_atomic_false_never_begins(self):
        def body():
            add("pen")
            boom()

        with self.assertRaises(Boom):
            self.run_call(body, atomic=False)
        self.assertEqual(saved(), ["pen"])


class Nested(doors.Door):
    """What is different where the connection is in a transaction already."""

    def test_call_is_a_savepoint_from_the_start(self):
        self.assertTrue(self.run_call(lambda: connection.in_atomic_block))


class BrokenConnectionTests(TransactionTestCase):
    """What goes wrong on the way in and on the way out."""

    available_apps = ["tests.shop"]

    def test_begin_that_failed_is_tried_again(self):
        connection.close()
        call = CallTransaction(atomic=True)
        with (
            mock.patch.object(connections["default"], "connect", side_effect=OperationalError),
            self.assertRaises(OperationalError),
        ):
            call.begin()
        doors.assert_untouched()
        self.assertEqual(call.state, "new")
        call.begin()
        self.assertTrue(connection.in_atomic_block)
        call.roll_back()
        doors.assert_untouched()

    def test_rollback_on_a_lost_connection_is_logged(self):
        def body():
            add("pen")
            connection.connection.close()
            boom()

        connection.ensure_connection()
        with (
            mock.patch.object(connections["default"], "connect", side_effect=OperationalError),
            self.assertLogs("django_mcp.running", "WARNING"),
            self.assertRaises(Boom),
        ):
            step(run_once(body))
        doors.assert_untouched()
        self.assertEqual(saved(), [])

    def test_database_without_autocommit_is_left_to_the_site(self):
        def body():
            transaction.set_autocommit(False)
            add("pen")
            transaction.commit()

        with mock.patch.dict(connection.settings_dict, AUTOCOMMIT=False):
            step(run_once(body))
        connection.close()
        self.assertEqual(saved(), ["pen"])


globals().update(through(ALONE + IN_TEST_CASE, Beginning))
globals().update(through(IN_TEST_CASE, Nested))
