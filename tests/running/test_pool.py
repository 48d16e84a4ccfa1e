"""What a process that serves requests meets rarely."""

import asyncio
import threading
from functools import partial
from unittest import mock

from django.db import connection
from django.test import SimpleTestCase

from django_mcp.running import threads as running_threads
from django_mcp.running.lanes import LanePool
from django_mcp.running.leases import Lease, Turn
from django_mcp.running.store import StorePool
from django_mcp.running.threads import Job
from tests.running.doors import LIMIT, Boom

is_sqlite = connection.vendor == "sqlite"


class PoolTests(SimpleTestCase):
    """What a process that serves requests meets rarely."""

    def test_step_between_two_jobs_may_fail(self):
        pool = LanePool()
        lease = Lease(pool)

        async def scenario():
            jobs = [Job(lambda: "done") for _ in range(2)]
            with (
                mock.patch.object(running_threads, "close_old_connections", side_effect=Boom),
                self.assertLogs("django_mcp.running", "ERROR"),
            ):
                for job in jobs:
                    lease.put(job)
                async with asyncio.timeout(LIMIT):
                    results = [await asyncio.wrap_future(job.future) for job in jobs]
                lease.close()
                pool.close(LIMIT)
            return results

        self.assertEqual(asyncio.run(scenario()), ["done", "done"])
        self.assertEqual((pool.in_use, pool.idle), (0, 0))

    def test_closed_lease_takes_no_job(self):
        async def scenario():
            lease = Lease(LanePool())
            lease.close()
            with self.assertRaisesMessage(RuntimeError, "outlived"):
                lease.put(Job(lambda: None))

        asyncio.run(scenario())

    def test_forked_child_starts_its_own_threads(self):
        lanes, store = LanePool(), StorePool("mcp-test", lambda: 2)

        async def use(pool):
            lease, job = Lease(pool), Job(threading.get_ident)
            lease.put(job)
            async with asyncio.timeout(LIMIT):
                found = await asyncio.wrap_future(job.future)
            lease.close()
            return found

        first = asyncio.run(use(lanes)), store.submit(threading.get_ident).result(LIMIT)
        lanes.close(LIMIT)
        store.close(LIMIT)
        lanes.forget()
        store.forget()
        self.assertEqual((lanes.in_use, lanes.idle), (0, 0))
        second = asyncio.run(use(lanes)), store.submit(threading.get_ident).result(LIMIT)
        self.assertEqual(len(first) + len(second), 4)
        lanes.close(LIMIT)
        store.close(LIMIT)

    def test_turn_goes_to_the_next_that_still_waits(self):
        ran: list[str] = []
        turn = Turn(lambda job: job.run())

        async def scenario():
            holder, hasty, gone, patient = (Lease(turn) for _ in range(4))
            jobs = {lease: Job(partial(ran.append, name)) for lease, name in ((hasty, "hasty"), (patient, "patient"))}
            holder.put(Job(partial(ran.append, "holder")))
            hasty.put(jobs[hasty])
            gone.put(Job(partial(ran.append, "gone")))
            patient.put(jobs[patient])
            jobs[hasty].future.cancel()
            gone.close()
            holder.close()
            patient.close()
            hasty.close()

        asyncio.run(scenario())
        self.assertEqual(ran, ["holder", "patient"])

    def test_timer_of_a_job_whose_loop_has_ended_is_no_error(self):
        async def start():
            job = Job(lambda: "late")
            job.fail_after(LIMIT, Boom())
            return job

        job = asyncio.run(start())
        job.run()
        self.assertEqual(job.future.result(0), "late")

    def test_job_that_was_given_up_does_not_run(self):
        job = Job(lambda: "late")
        job.fail(Boom())
        job.run()
        job.fail(Boom())
        self.assertIsInstance(job.future.exception(0), Boom)
