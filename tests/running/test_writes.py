"""What the ORM and raw SQL write is all or nothing, for sync and async functions, through every door."""

from unittest import mock, skipUnless

from django.db import IntegrityError, connection, connections, transaction
from django.db.models.query import QuerySet

from django_mcp.exceptions import NotSaved
from tests.running import doors
from tests.running.doors import ALONE, IN_TEST_CASE, add, saved, through
from tests.shop.models import Book, Category, Product

INSERT = "INSERT INTO shop_category (name) VALUES (%s)"
is_postgres = connection.vendor == "postgresql"


class Writes(doors.Door):
    def test_get_or_create_lost_the_race(self):
        add("pen")
        get = QuerySet.get
        blind = mock.Mock(side_effect=[Product.DoesNotExist, None])

        def late_get(self, *args, **kwargs):
            blind()
            return get(self, *args, **kwargs)

        def body():
            blind.side_effect = [Product.DoesNotExist, None]
            with mock.patch.object(QuerySet, "get", late_get):
                found, created = Product.objects.get_or_create(name="pen")
            add("ink")
            return found.name, created

        self.assert_undone(body)
        self.assertEqual(self.run_call(body), ("pen", False))
        self.assertEqual(saved(), ["ink", "pen"])

    def test_get_or_create_and_update_or_create(self):
        def body():
            Product.objects.get_or_create(name="pen")
            Product.objects.update_or_create(name="pen", defaults={"stock": 2})
            Product.objects.update_or_create(name="ink", defaults={"stock": 3})

        self.assert_all_or_nothing(body, ["ink", "pen"])

    def test_bulk_create_conflict_with_a_fallback(self):
        add("pen")

        def body():
            try:
                with transaction.atomic():
                    Product.objects.bulk_create([Product(name="ink"), Product(name="pen")])
            except IntegrityError:
                Product.objects.bulk_create([Product(name="ink")])

        self.assert_all_or_nothing(body, ["ink", "pen"])

    def test_multi_table_save(self):
        def body():
            Book.objects.create(name="tome", pages=3)

        self.assert_all_or_nothing(body, ["tome"])
        self.assertEqual(str(Book.objects.get()), "tome (3)")
        self.assertEqual(str(Product.objects.get()), "tome")

    def test_delete_with_its_children(self):
        tools = Category.objects.create(name="tools")
        self.assertEqual(str(tools), "tools")
        add("pen", category=tools)
        Book.objects.create(name="tome", category=tools)
        add("loose")

        def body():
            Category.objects.get().delete()

        self.assert_all_or_nothing(body, ["loose"])
        self.assertFalse(Book.objects.exists())

    def test_iterator_with_writes_inside(self):
        Product.objects.bulk_create([Product(name=f"pen {number}") for number in range(30)])

        def body():
            for product in Product.objects.filter(name__startswith="pen").iterator(chunk_size=5):
                Product.objects.filter(pk=product.pk).update(stock=1)
                add(f"cap of {product.name}")
            return Product.objects.filter(stock=1).count()

        self.assert_undone(body)
        self.assertEqual(self.run_call(body), 30)
        self.assertEqual(len(saved()), 60)

    def test_raw_cursor(self):
        def body():
            with connection.cursor() as cursor:
                cursor.execute(INSERT, ["raw"])

        self.assert_undone(body)
        self.assertFalse(Category.objects.exists())
        self.run_call(body)
        self.assertTrue(Category.objects.exists())

    def test_executemany(self):
        def body():
            with connection.cursor() as cursor:
                cursor.executemany(INSERT, [["one"], ["two"]])

        self.assert_undone(body)
        self.assertFalse(Category.objects.exists())
        self.run_call(body)
        self.assertEqual(Category.objects.count(), 2)

    @skipUnless(is_postgres, "psycopg composes SQL")
    def test_composed_sql(self):
        from psycopg import sql

        def body():
            with connection.cursor() as cursor:
                cursor.execute(sql.SQL("INSERT INTO {} (name) VALUES ('raw')").format(sql.Identifier("shop_category")))

        self.assert_undone(body)
        self.assertFalse(Category.objects.exists())
        self.run_call(body)
        self.assertTrue(Category.objects.exists())

    @skipUnless(is_postgres, "COPY is PostgreSQL's")
    def test_copy_with_atomic(self):
        def body():
            with connection.cursor() as cursor, cursor.copy("COPY shop_category (name) FROM STDIN") as copy:
                copy.write_row(["raw"])

        self.assert_undone(body, atomic=True)
        self.assertFalse(Category.objects.exists())
        self.run_call(body, atomic=True)
        self.assertTrue(Category.objects.exists())

    @skipUnless(is_postgres, "COPY is PostgreSQL's")
    def test_copy_to_the_second_database_with_atomic(self):
        def body():
            with connections["other"].cursor() as cursor, cursor.copy("COPY shop_category (name) FROM STDIN") as copy:
                copy.write_row(["raw"])

        self.assert_undone(body, atomic=True)
        self.assertFalse(Category.objects.using("other").exists())
        self.run_call(body, atomic=True)
        self.assertTrue(Category.objects.using("other").exists())


class OwnBegin(doors.Door):
    def test_own_begin_and_commit_pass_through(self):
        def body():
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute(INSERT, ["raw"])
                cursor.execute("COMMIT")

        self.run_call(body)
        self.assertTrue(Category.objects.exists())

    def test_own_begin_without_an_end_is_not_saved(self):
        def body():
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute(INSERT, ["raw"])

        with self.assertRaisesMessage(NotSaved, "not ended"):
            self.run_call(body)
        self.assertFalse(Category.objects.exists())


globals().update(through(ALONE + IN_TEST_CASE, Writes))
globals().update(through(ALONE, OwnBegin))
