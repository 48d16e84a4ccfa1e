"""What the tests of this suite sell. There are no migrations: the tables come with the test database."""

from django.db import models


class Category(models.Model):
    name = models.CharField(max_length=50, unique=True)

    def __str__(self):
        return self.name


class Product(models.Model):
    name = models.CharField(max_length=50, unique=True)
    # PostgreSQL and SQLite check a foreign key at COMMIT, MariaDB at once.
    category = models.ForeignKey(Category, models.CASCADE, null=True)
    stock = models.IntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self):
        return self.name


class Book(Product):
    pages = models.IntegerField(default=0)

    def __str__(self):
        return f"{self.name} ({self.pages})"
