"""A router that lets no table of ours be made."""


class Nowhere:
    def allow_migrate(self, db, app_label, **hints):
        return False
