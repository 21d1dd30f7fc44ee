"""What a store promises about transactions: all or nothing, snapshots, one writer at a time."""

from __future__ import annotations

import os
import threading
import time

import pytest

from tests.support.tables import JOB, changed, created, deleted, entry, identity, job, job_key
from treadle.errors import Busy, Closed, ForkedHandle, InvariantBroken
from treadle.model.facts import Row
from treadle.ports.store import Head


@pytest.fixture
def jobs(store):
    """A database with the jobs' table."""
    with store.write() as tx:
        tx.create_table(JOB)
        tx.commit()
    return store


def add(store, *numbers: int) -> None:
    with store.write() as tx:
        tx.write_rows(JOB, [created(JOB, job(number)) for number in numbers], list(numbers))
        tx.commit()


def present(store, *numbers: int) -> list[bool]:
    with store.read() as tx:
        return [row is not None for row in tx.rows(JOB, [job_key(number) for number in numbers])]


def test_a_new_database_is_empty(store):
    with store.read() as tx:
        assert tx.head() == Head(0, 0, bytes(32))
        assert tx.setting("x") is None
        assert tx.settings("") == {}
        assert tx.receipts([identity(1)]) == [None]
        assert tx.holders([("E", "u", (1,))]) == [None]
        assert tx.events("E", None, (0, 0), 10) == []
        assert list(tx.log(0, 100)) == []
        assert list(tx.quads()) == []
        assert tx.graphs() == []


def test_leaving_without_commit_takes_everything_back(jobs):
    add(jobs, 1)
    with jobs.write() as tx:
        row = tx.rows(JOB, [job_key(1)])[0]
        tx.write_rows(JOB, [changed(JOB, row, job(1, title="new")), created(JOB, job(2))], [2, 2])
        tx.append_log([entry(1)])
        tx.write_receipts([(identity(1), 1)])
        tx.write_uniques([], [(("Job", "u", (1,)), job_key(1))])
        tx.put_setting("a", b"b")
        tx.write_quads([], [("<s>", "<p>", "<o>", "")])
        tx.write_graphs([], ["<g>"])
    test_a_new_database_is_empty(jobs)
    with jobs.read() as tx:
        assert tx.rows(JOB, [job_key(1), job_key(2)]) == [Row(1, job(1), 1), None]


def test_an_exception_takes_everything_back(jobs):
    with pytest.raises(ZeroDivisionError), jobs.write() as tx:
        tx.write_rows(JOB, [created(JOB, job(1))], [1])
        raise ZeroDivisionError
    assert present(jobs, 1) == [False]
    add(jobs, 1)
    assert present(jobs, 1) == [True]


def test_new_tables_are_taken_back_too(store):
    with store.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(1))], [1])
    with store.write() as tx:
        tx.create_table(JOB)
        assert tx.rows(JOB, [job_key(1)]) == [None]
        tx.commit()


def test_reads_in_a_write_transaction_see_its_writes(jobs):
    with jobs.write() as tx:
        tx.write_rows(JOB, [created(JOB, job(1))], [1])
        tx.append_log([entry(1), entry(2)])
        tx.append_log([entry(3)])
        assert tx.rows(JOB, [job_key(1)]) == [Row(1, job(1), 1)]
        assert tx.head().number == 3


def test_a_snapshot_never_changes(jobs):
    add(jobs, 1)
    with jobs.read() as before:
        assert before.head().number == 0
        with jobs.write() as tx:
            row = tx.rows(JOB, [job_key(1)])[0]
            tx.write_rows(JOB, [changed(JOB, row, job(1, title="new")), created(JOB, job(2))], [2, 2])
            tx.append_log([entry(1)])
            tx.put_setting("a", b"b")
            assert before.rows(JOB, [job_key(1), job_key(2)]) == [Row(1, job(1), 1), None]
            tx.commit()
        assert before.rows(JOB, [job_key(1), job_key(2)]) == [Row(1, job(1), 1), None]
        assert before.head().number == 0
        assert before.setting("a") is None
        with jobs.write() as tx:
            tx.write_rows(JOB, [deleted(JOB, tx.rows(JOB, [job_key(1)])[0])], [3])
            tx.commit()
        assert [row.cells for row in before.scan(JOB, None, 9)] == [job(1)]
        with jobs.read() as after:
            assert [row.cells for row in after.scan(JOB, None, 9)] == [job(2)]
            assert after.last_revisions(JOB, [job_key(1)]) == [2]


def test_a_snapshot_begins_at_the_block_not_at_the_first_question(jobs):
    with jobs.read() as tx:
        add(jobs, 1)
        assert tx.rows(JOB, [job_key(1)]) == [None]


def test_a_long_iteration_goes_on_while_others_write(store):
    with store.write() as tx:
        tx.append_log([entry(number) for number in range(1, 1001)])
        tx.commit()
    with store.read() as tx:
        numbers = []
        for record in tx.log(1, 10_000):
            numbers.append(record.number)
            if record.number % 250 == 0:
                with store.write() as other:
                    other.append_log([entry(other.head().number + 1)])
                    other.commit()
        assert numbers == list(range(1, 1001))


def test_a_second_writer_waits(jobs):
    order = []

    def second() -> None:
        with jobs.write() as tx:
            order.append("second")
            tx.commit()

    with jobs.write() as tx:
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.05)
        order.append("first")
        tx.commit()
    thread.join()
    assert order == ["first", "second"]


@pytest.mark.parametrize("timeout", [0, 0.05])
def test_a_writer_with_a_timeout_gives_up(jobs, timeout):
    errors = []

    def second() -> None:
        try:
            with jobs.write(timeout=timeout):
                pass
        except Busy as error:
            errors.append(error)

    with jobs.write():
        thread = threading.Thread(target=second)
        started = time.monotonic()
        thread.start()
        thread.join()
        assert time.monotonic() - started < 5
    assert len(errors) == 1
    add(jobs, 1)


def test_many_threads_write_one_after_another(jobs):
    def work(first: int) -> None:
        for number in range(first, first + 10):
            with jobs.write() as tx:
                head = tx.head().number
                tx.append_log([entry(head + 1)])
                tx.write_rows(JOB, [created(JOB, job(number))], [head + 1])
                tx.commit()

    def look() -> None:
        while any(thread.is_alive() for thread in threads):
            with jobs.read() as tx:
                head = tx.head().number
                assert len(tx.scan(JOB, None, 1000)) == head == len(list(tx.log(1, 1000)))

    threads = [threading.Thread(target=work, args=(100 * worker,)) for worker in range(6)]
    failures: list[BaseException] = []

    def watch() -> None:
        try:
            look()
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=watch)
    for thread in threads:
        thread.start()
    reader.start()
    for thread in threads:
        thread.join()
    reader.join()
    assert failures == []
    with jobs.read() as tx:
        assert tx.head().number == 60
        assert sorted(row.commit for row in tx.scan(JOB, None, 100)) == list(range(1, 61))


def test_a_transaction_that_has_ended_refuses_everything(jobs):
    with jobs.read() as reader:
        iterator = reader.log(0, 1)
    with jobs.write() as writer:
        writer.append_log([entry(1)])
        writer.commit()
    for tx in (reader, writer):
        with pytest.raises(Closed):
            tx.head()
        with pytest.raises(Closed):
            tx.rows(JOB, [job_key(1)])
    with pytest.raises(Closed):
        next(iterator)
    with pytest.raises(Closed):
        writer.append_log([entry(2)])


def test_an_iterator_left_in_the_middle_holds_nothing_back(store):
    with store.write() as tx:
        tx.append_log([entry(number) for number in range(1, 101)])
        tx.commit()
    left = []
    with store.read() as reader:
        left.append(reader.log(1, 100))
        next(left[-1])
    for number in (101, 102):
        with store.write() as tx:
            left.append(tx.log(1, 100))
            next(left[-1])
            tx.append_log([entry(number)])
            if number == 101:
                tx.commit()
    add_more(store)
    with store.read() as reader:
        assert reader.head().number == 102
    for iterator in left:
        with pytest.raises(Closed):
            next(iterator)


def add_more(store) -> None:
    with store.write(timeout=5) as tx:
        tx.append_log([entry(tx.head().number + 1)])
        tx.commit()


def test_committing_twice_is_refused(jobs):
    with jobs.write() as tx:
        tx.commit()
        with pytest.raises(InvariantBroken):
            tx.commit()


def test_a_write_transaction_inside_another_is_refused(jobs):
    with jobs.write(), pytest.raises(InvariantBroken), jobs.write():
        pass
    add(jobs, 1)


def test_a_closed_handle_refuses_everything(store):
    store.close()
    store.close()
    with pytest.raises(Closed), store.read():
        pass
    with pytest.raises(Closed), store.write():
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_may_not_use_the_handle(jobs):
    add(jobs, 1)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        said = b""
        for block in (jobs.read, jobs.write):
            try:
                with block():
                    said += b"."
            except ForkedHandle:
                said += b"F"
        jobs.close()
        os.write(write_end, said)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read_end, 9) == b"FF"
    os.close(read_end)
    os.close(write_end)
    add(jobs, 2)
    assert present(jobs, 1, 2) == [True, True]


def test_what_is_committed_is_there_when_opened_again(open_store):
    first = open_store()
    second = open_store()
    with first.write() as tx:
        tx.create_table(JOB)
        tx.write_rows(JOB, [created(JOB, job(1))], [1])
        tx.commit()
    assert present(second, 1) == [True]
    add(second, 2)
    assert present(first, 1, 2) == [True, True]
    first.close()
    add(second, 3)
    second.close()
    assert present(open_store(), 1, 2, 3, 4) == [True, True, True, False]
