"""The tests; the whole suite runs some of their modules in a process beside the others, as it is long.

    $ python3 -m unittest
"""

import os
import pickle
import tempfile
import unittest

# Those that wait for processes, or compute for long: about half of the time.
BESIDE = ("tests.test_bench", "tests.test_collector", "tests.test_files", "tests.test_harness", "tests.test_intervals")
OUTCOMES = ("failures", "errors", "skipped", "expectedFailures")


class Beside(unittest.TestSuite):
    """Tests that a forked process begins at once; to run them is to wait for it, and to take over how they ended."""

    def __init__(self, tests):
        super().__init__(tests)
        self.file = tempfile.TemporaryFile()
        self.process = os.fork()
        if not self.process:
            try:
                result = unittest.TestResult()
                super().run(result)
                ends = {name: [(str(test), text) for test, text in getattr(result, name)] for name in OUTCOMES}
                self.file.write(pickle.dumps((result.testsRun, ends)))
                self.file.flush()
            finally:
                os._exit(0)  # the end of an interpreter is for the first process alone

    def run(self, result, debug=False):
        os.waitpid(self.process, 0)
        self.file.seek(0)
        count, ends = pickle.loads(self.file.read())  # empty, and an error, where that process broke off
        self.file.close()
        result.testsRun += count
        for name in OUTCOMES:
            getattr(result, name).extend((Ended(test), text) for test, text in ends[name])
        return result


class Ended:
    """A test that has ended in another process, by its name, as far as a report asks for it."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name

    def shortDescription(self):
        return None


def module_of(suite):
    """Return the name of the module that a suite's first test is from."""
    for test in suite:
        if name := module_of(test) if isinstance(test, unittest.TestSuite) else type(test).__module__:
            return name
    return ""


def load_tests(loader, tests, pattern):
    modules = list(loader.discover(os.path.dirname(os.path.abspath(__file__)), pattern or "test*.py"))
    beside = [suite for suite in modules if module_of(suite) in BESIDE] if hasattr(os, "fork") else []
    tests.addTests(suite for suite in modules if suite not in beside)
    if beside:
        tests.addTest(Beside(beside))
    return tests
