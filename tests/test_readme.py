"""Is the manual true? Every console block of the README runs in a copy of the project, and gives what it shows.

So does the command that each file opens with. A line of `...` stands for any lines. `python3 test_readme.py --update`
writes what the commands print now into the README.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
README = os.path.join(HERE, "README.md")
BLOCK = re.compile(r"^```(console|python|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEED_A_SERVER = ("collector.py", "measure.py", "model_triage.py")  # or show figures that vary
NEW_FILES = {"json": "shout-cases.json"}  # a JSON block has no comment to name its file in


def commands(block):
    """Return the [command, shown output] pairs of a console block."""
    pairs = []
    for line in block.splitlines():
        if line.startswith("$ "):
            pairs.append([line[2:], ""])
        elif pairs[-1][0].endswith("\\"):
            pairs[-1][0] += "\n" + line
        else:
            pairs[-1][1] += line + "\n"
    return pairs


def run(command, folder):
    """Return what a command prints, stdout and stderr as a terminal mixes them."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=50).stdout


def copy(folder):
    """Copy the project, without what is hidden and what a run leaves, into folder/project and return its path."""
    ignore = shutil.ignore_patterns(".*", "__pycache__", "*.tmp")
    return shutil.copytree(HERE, os.path.join(folder, "project"), ignore=ignore)


def sources():
    """Return the project's own Python files, tests aside, as paths from its top."""
    return [name for folder in ("", "core", "views", "importers") for name in
            (os.path.join(folder, file) for file in sorted(os.listdir(os.path.join(HERE, folder))))
            if name.endswith(".py") and not name.endswith("__init__.py") and not name.startswith("test_")]


def walk(text, folder):
    """Yield (block, [(command, shown, printed), ...]) of every console block, making the files of the others."""
    for kind, block in BLOCK.findall(text):
        if kind == "console":
            yield block, [(command, shown, run(command, folder)) for command, shown in commands(block)]
        else:
            name = re.match(r"# (\w+\.py)\n", block)
            with open(os.path.join(folder, name[1] if name else NEW_FILES[kind]), "w", encoding="utf-8") as file:
                file.write(block)


class ReadmeTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        with open(README, encoding="utf-8") as file:
            self.text = file.read()

    def assert_shown(self, printed, shown):
        if "...\n" not in shown:
            return self.assertEqual(printed, shown)
        parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
        self.assertRegex(printed, re.compile(rf"\A{'.*'.join(map(re.escape, parts))}\Z", re.DOTALL))

    def test_commands_give_what_is_printed_below_them(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = 0
            for _, results in walk(self.text, copy(folder)):
                for command, shown, printed in results:
                    with self.subTest(command):
                        self.assert_shown(printed, shown)
                    ran += 1
            self.assertGreater(ran, 8)

    def test_the_command_that_each_file_opens_with_gives_what_it_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            project, ran = copy(folder), 0
            for name in sources():
                if name not in NEED_A_SERVER:
                    with open(os.path.join(HERE, name), encoding="utf-8") as file:
                        opening = ast.get_docstring(ast.parse(file.read()))
                    for block in re.findall(r"^    (\$ .*(?:\n    .*)*)", opening, re.MULTILINE):
                        for command, shown in commands(re.sub(r"^    ", "", block, flags=re.MULTILINE)):
                            with self.subTest(f"{name}: {command}"):
                                self.assert_shown(run(command, project), shown)
                                ran += 1
            self.assertGreater(ran, 7)

    def test_links_and_files_are_there(self):
        headings = {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-")
                    for line in re.findall(r"^#+ (.*)$", self.text, re.MULTILINE)}
        for target in re.findall(r"\]\(([^)\s]+)\)", self.text):
            if target.startswith("#"):
                self.assertIn(target[1:], headings)
            elif "://" not in target:
                self.assertTrue(os.path.exists(os.path.join(HERE, target)), target)
        table = self.text.split("## Files")[1]
        for name in sources():
            self.assertIn(f"`{name}`", table)

    def test_every_key_of_the_bundled_comparison_is_explained(self):
        import harness

        def keys(value):
            if isinstance(value, dict):
                for key, item in value.items():
                    yield key
                    if key not in ("slices", "reasons", "measures"):
                        yield from keys(item)
            elif isinstance(value, list):
                for item in value:
                    yield from keys(item)

        comparison = harness.read_json(os.path.join(HERE, "runs", "comparison.json"))
        slices = [figures for values in comparison["slices"].values() for figures in values.values()]
        for key in set(keys(comparison)) | set(keys(slices)) | set(comparison["measures"]):
            self.assertTrue(f"`{key}`" in self.text, key)


def update():
    """Put what each command prints now below it, `...` blocks left as they are."""
    with open(README, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for block, results in list(walk(text, copy(folder))):
            new = "".join(f"$ {command}\n{shown if '...' in shown else printed}" for command, shown, printed in results)
            text = text.replace(block, new)
    with open(README, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    update() if "--update" in sys.argv else unittest.main()
