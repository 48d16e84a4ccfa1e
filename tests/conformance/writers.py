"""Proves the event log: many processes write, some are killed, and two readers hear of every event once.

    DATABASE_URL=postgres://postgres@127.0.0.1:5432/log python -m tests.conformance.writers --runs 1000

What was committed is what stands in the table at the end. Processes are forked, so a run costs little more
than its events.
"""

import argparse
import itertools
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict

import django

WRITERS = 8
EVENTS = 500
READERS = 2
KILLED = 0.005  # of the commits
LIMIT = 600  # seconds a run may take
KIND = "resources.updated"

fork = multiprocessing.get_context("fork")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--events", type=int, default=EVENTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prepare(os.environ.get("DATABASE_URL", f"sqlite:///{folder}/log.sqlite3"))
        bad = 0
        for number in range(1, options.runs + 1):
            began = time.monotonic()
            findings = run(options.events, seed=number)
            bad += bool(findings["lost"] or findings["doubled"] or findings["disordered"])
            print(f"run {number}: {time.monotonic() - began:.1f} s {findings}", flush=True)
    sys.exit(f"{bad} runs failed" if bad else 0)


def prepare(url):
    """Django with the fixture site's settings, and its tables on the database of this URL."""
    os.environ["DATABASE_URL"] = url
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.conformance.settings"
    django.setup()
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    connections.close_all()


def run(events=EVENTS, seed=0):
    """Counts of what went wrong in one run, and of what happened."""
    from django.db import connections

    from django_mcp.models import Event

    Event.objects.all().delete()
    connections.close_all()
    readers = [Listening() for _ in range(READERS)]
    kills = write(events, seed)
    committed = wait_for_numbers()
    heard = [reader.finish(committed) for reader in readers]
    uris = dict(Event.objects.values_list("seq", "uri"))
    connections.close_all()
    findings = {"committed": len(committed), "kills": kills, "lost": 0, "doubled": 0, "disordered": 0}
    for numbers in heard:
        counts = Counter(numbers)
        findings["lost"] += len(committed - set(counts))
        findings["doubled"] += sum(count > 1 for count in counts.values())
        findings["disordered"] += numbers != sorted(numbers) or not each_in_order(uris[one] for one in numbers)
    return findings


def write(events, seed):
    """Let the writers write, replacing those who are killed; how many were."""
    kills = 0
    running = {start(writer, 0, events, seed): writer for writer in range(WRITERS)}
    until = time.monotonic() + LIMIT
    while running:
        for process in list(running):
            process.join(0.02)
            if process.exitcode is None:
                assert time.monotonic() < until
                continue
            writer = running.pop(process)
            if process.exitcode == -signal.SIGKILL:
                kills += 1
                running[start(writer, next_number(writer), events, seed + kills)] = writer
            else:
                assert process.exitcode == 0, process.exitcode
    return kills


def start(writer, first, events, seed):
    process = fork.Process(target=work, args=(writer, first, events, seed))
    process.start()
    return process


def next_number(writer):
    """After the last one that this writer has committed."""
    from django.db import connections

    from django_mcp.models import Event

    uris = Event.objects.filter(uri__startswith=f"w{writer}:").values_list("uri", flat=True)
    number = 1 + max((int(uri.partition(":")[2]) for uri in uris), default=-1)
    connections.close_all()
    return number


def work(writer, first, last, seed):
    from django.db import connections

    from django_mcp.events import log, numbering

    chance = random.Random(f"{writer}-{first}-{seed}")
    number_waiting = numbering.number_waiting

    def number_or_die(alias):
        if chance.random() < KILLED:
            os.kill(os.getpid(), signal.SIGKILL)
        return number_waiting(alias)

    vars(log)["number_waiting"] = number_or_die
    numbers = iter(range(first, last))
    ways = (one_by_one, in_a_transaction, with_savepoints, rolled_back, many_at_once, held_open)
    for number in numbers:
        chance.choice(ways)(writer, [number, *itertools.islice(numbers, chance.randrange(4))], chance)
    connections.close_all()


class Undo(Exception):
    pass


def publish(writer, number):
    from django_mcp import events

    events.append(KIND, uri=f"w{writer}:{number}")


def one_by_one(writer, numbers, chance):
    for number in numbers:
        publish(writer, number)


def in_a_transaction(writer, numbers, chance):
    from django.db import transaction

    with transaction.atomic():
        one_by_one(writer, numbers, chance)


def with_savepoints(writer, numbers, chance):
    from django.db import transaction

    with transaction.atomic():
        for number in numbers:
            try:
                with transaction.atomic():
                    publish(writer, number)
                    if chance.random() < 0.3:
                        raise Undo
            except Undo:
                pass


def rolled_back(writer, numbers, chance):
    from django.db import transaction

    try:
        with transaction.atomic():
            one_by_one(writer, numbers, chance)
            raise Undo
    except Undo:
        pass


def many_at_once(writer, numbers, chance):
    from django_mcp import events

    events.append_all(
        [{"kind": KIND, "server": "", "uri": f"w{writer}:{number}", "audience": "", "data": {}} for number in numbers]
    )


def held_open(writer, numbers, chance):
    from django.db import connection, transaction

    with transaction.atomic():
        one_by_one(writer, numbers, chance)
        if connection.vendor != "sqlite":  # it has one writer, whom the others wait for
            time.sleep(chance.random() / 50)


def wait_for_numbers():
    """All numbers, once the readers have numbered what the dead have left."""
    from django_mcp.models import Event

    until = time.monotonic() + LIMIT
    while Event.objects.filter(seq=None).exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    return set(Event.objects.values_list("seq", flat=True))


class Listening:
    """A process that reads the log."""

    def __init__(self):
        self.pipe, other = fork.Pipe()
        self.process = fork.Process(target=listen, args=(other,))
        self.process.start()
        assert self.pipe.recv() == "ready"

    def finish(self, expected):
        self.pipe.send(max(expected, default=0))
        assert self.pipe.poll(LIMIT)
        numbers = self.pipe.recv()
        self.process.join(LIMIT)
        return numbers


def listen(pipe):
    from django_mcp.events import reader

    numbers = []
    reader.attach(lambda entries: numbers.extend(entry.seq for entry in entries))
    pipe.send("ready")
    last = pipe.recv()
    until = time.monotonic() + 10
    while (numbers[-1] if numbers else 0) < last and time.monotonic() < until:
        time.sleep(0.02)
    reader.close()
    pipe.send(numbers)


def each_in_order(uris):
    seen = defaultdict(lambda: -1)
    for uri in uris:
        writer, _, number = uri.partition(":")
        if int(number) <= seen[writer]:
            return False
        seen[writer] = int(number)
    return True


if __name__ == "__main__":
    main()
