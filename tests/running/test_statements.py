from django.test import SimpleTestCase

from django_mcp.running.statements import begins_transaction, ends_transaction, is_write, read_verb


class StatementTests(SimpleTestCase):
    def test_verb_is_the_first_word(self):
        self.assertEqual(read_verb("  ((select 1) union (select 2))"), "SELECT")
        self.assertEqual(read_verb("/* hint */ SELECT 1"), "")
        self.assertEqual(read_verb(b"SELECT 1"), "")
        self.assertEqual(read_verb(""), "")

    def assert_write(self, sql, expected):
        self.assertIs(is_write(read_verb(sql), sql), expected, sql)

    def test_reads(self):
        for sql in (
            "SELECT 1",
            "select 1;",
            "(SELECT 1) UNION (SELECT 2)",
            'SELECT "updated_at", "share_of_into" FROM "shop_product"',
            "EXPLAIN SELECT 1",
            "VALUES (1), (2)",
            "SHOW TABLES",
            "FETCH 10 FROM names",
        ):
            self.assert_write(sql, False)

    def test_everything_not_provably_a_read_is_a_write(self):
        for sql in (
            "INSERT INTO t VALUES (1)",
            "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
            "SELECT 1; DELETE FROM t",
            "SELECT * INTO copy FROM t",
            "SELECT * FROM t FOR UPDATE",
            "SELECT * FROM t\nfor\n  no key update SKIP LOCKED",
            "SELECT * FROM t FOR KEY SHARE",
            "SELECT * FROM t LOCK IN SHARE MODE",
            "EXPLAIN ANALYZE DELETE FROM t",
            "EXPLAIN (ANALYZE) DELETE FROM t",
            "-- comment\nSELECT 1",
            "CALL something()",
            object(),
            "",
        ):
            self.assert_write(sql, True)

    def test_control_passes_through(self):
        for sql in (
            "BEGIN",
            "BEGIN IMMEDIATE",
            'SAVEPOINT "x"',
            "RELEASE SAVEPOINT x",
            "ROLLBACK TO x",
            "COMMIT",
            "SET x = 1",
            "PRAGMA foreign_keys",
        ):
            self.assert_write(sql, False)

    def test_begin_and_end_of_a_transaction(self):
        self.assertTrue(begins_transaction(read_verb("START TRANSACTION")))
        self.assertTrue(begins_transaction(read_verb("begin")))
        self.assertFalse(begins_transaction(read_verb("SAVEPOINT x")))
        self.assertTrue(ends_transaction("ROLLBACK", "ROLLBACK"))
        self.assertFalse(ends_transaction("ROLLBACK", "ROLLBACK TO SAVEPOINT x"))
        self.assertFalse(ends_transaction("INSERT", "INSERT INTO t VALUES (1)"))
