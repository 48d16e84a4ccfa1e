"""A plain script that publishes: python -m tests.conformance.publisher lists|resource|many COUNT

With many it is a hundred large ones at once. Says the time of each event, so that a reader can tell how long it took.
"""

import os
import sys
import time

import django

URI = "test://watched-resource"
LONG = f"test://template/{'x' * 2000}/data"


def main(what, count, pause=0.0):
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.conformance.settings")
    django.setup()
    from django.db import Error, connection

    from django_mcp import events, notify_prompts_changed, notify_resource_updated, notify_tools_changed

    if what == "many":
        for start in range(0, count, 100):
            # Equal ones of one transaction would be one.
            batch = [{"n": start + number} for number in range(100)]
            fields = {"kind": "resources.updated", "server": "", "uri": LONG, "audience": ""}
            events.append_all([{**fields, "data": data} for data in batch])
        return
    for number in range(count):
        print(time.time(), flush=True)
        while True:
            try:
                if what == "resource":
                    notify_resource_updated(URI)
                else:
                    (notify_prompts_changed if number % 2 else notify_tools_changed)()
            except Error:  # the database is away for a moment
                connection.close()
                time.sleep(0.1)
            else:
                break
        time.sleep(pause)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
