"""Is the manual true? Runs every console block of README.md and docs/*.md, and the command that each file opens with.

    $ python3 -m tests.test_readme --update

A page (README.md, a file of docs/, the opening docstrings together) runs in a copy of the project of its own, from its
top to its end, and each command must print what stands below it. The first line of a block says what is done with it:

    ```console          run; a line of `...` stands for any lines
    ```console quoted   not run: needs a model, a cluster or minutes; only the options in it are checked
    ```python shout.py  written into the file shout.py (any language, any file name); without a name it is only shown
    ```sh               not run; only the options in it are checked

`--update` writes what the commands print now into the pages; blocks with a line of `...` are left as they are.
"""

import argparse
import ast
import atexit
import collections
import concurrent.futures
import functools
import importlib
import inspect
import json
import operator
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from views.words import KEYS

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELLIPSIS = "...\n"  # a line that stands for any number of lines
NEED_A_SERVER = ("chat.py", "collector.py", "measure.py", "model_triage.py")  # or show figures that vary
HALVES = ("gpt-4o.trials01", "gpt-4o.trials23", "--trials", "recorded/taubench-airline-aa.jsonl")
AT_ONCE = 2  # pages run at the same time
COMMANDS = ("bench", "collector", "compare", "convert", "harness", "measure", "plan", "report")
SCREEN_LINES = 46  # of 80 columns


def read(name):
    """Return the text of a file of the project."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def pages():
    """Return the pages of the manual, as paths from the project's top."""
    names = sorted(os.listdir(os.path.join(HERE, "docs")))
    return ["README.md", "CONTRIBUTING.md", *(f"docs/{name}" for name in names if name.endswith(".md"))]


def sources():
    """Return the project's own Python files, tests aside, as paths from its top."""
    return [name for folder in ("", "core", "views", "importers") for name in
            (os.path.join(folder, file) for file in sorted(os.listdir(os.path.join(HERE, folder))))
            if name.endswith(".py") and not name.endswith("__init__.py") and not name.startswith("test_")]


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


def openings():
    """Return the commands that the project's files open with, as the text of one page."""
    blocks = []
    for name in sources():
        if name not in NEED_A_SERVER:
            found = re.findall(r"^    (\$ .*(?:\n    .*)*)", ast.get_docstring(ast.parse(read(name))), re.MULTILINE)
            blocks += ["```console\n" + re.sub(r"^    ", "", block, flags=re.MULTILINE) + "\n```\n" for block in found]
    return "".join(blocks)


def run(command, folder):
    """Return what a command prints, stdout and stderr as a terminal mixes them."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "COLUMNS": "80", "LC_ALL": "C.UTF-8", "TERM": "dumb"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", timeout=50).stdout


def run_block(block, folder):
    """Return [(command, shown, printed), ...] of a console block, and the folder that its last `cd FOLDER` leads to."""
    done = []
    for command, shown in commands(block):
        done.append((command, shown, run(command, folder)))
        if re.fullmatch("cd [^&;]+", command):
            folder = os.path.join(folder, command[3:])
    return done, folder


def run_page(text):
    """Run one page in a fresh copy of the project; return [(block, [(command, shown, printed), ...]), ...]."""
    done = []
    if not any(kind == "console" and not name for kind, name, _ in BLOCK.findall(text)):
        return done  # nothing to run, so nothing to copy
    with tempfile.TemporaryDirectory() as folder:
        ignore = shutil.ignore_patterns(".*", "*.tmp", "test_*.py", "*.png")
        project = current = shutil.copytree(HERE, os.path.join(folder, "project"), ignore=ignore)
        for kind, name, block in BLOCK.findall(text):
            if kind == "console" and not name:
                ran, current = run_block(block, current)
                done.append((block, ran))
            elif kind != "console" and name:
                path = os.path.join(project, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(block)
    return done


def run_pages(texts, at_once=AT_ONCE):
    """Yield what run_page returns for each text, a few at the same time."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        yield from pool.map(run_page, texts)


def texts():
    """Return the pages that hold commands, by name, the files' openings as one of them."""
    return {**{name: read(name) for name in pages()}, "the files' openings": openings()}


def parsers(name):
    """Return the parser of a command of the project and those of its verbs, as (how it is called, parser) pairs."""
    top = importlib.import_module(name).build_parser()
    verbs = [action.choices for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    return [(name, top), *((f"{name} {verb}", parser) for choices in verbs for verb, parser in choices.items())]


@functools.cache
def options(name):
    """Return the options of a command of the project, those of its verbs among them."""
    return {option for _, parser in parsers(name) for action in parser._actions for option in action.option_strings}


# Below these both sides are alike.
HAVE_SIDES = ((), ("logs",), ("incomplete",), ("consistency",), ("shared_luck",), ("uneven_trials[]",))
NAMED_BY_DATA = (("measures",), ("slices",), ("slices", "TAG"), ("incomplete", "SIDE", "reasons"))  # keys from data


def key_paths(value, path=()):
    """Yield the path of every key below value, as docs/figures.md names them.

    >>> [".".join(path) for path in key_paths({"baseline": {"name": "v1"}, "cases": [{"case_id": "a"}]})]
    ['SIDE', 'SIDE.name', 'cases', 'cases[].case_id']
    >>> [".".join(path) for path in key_paths({"slices": {"language": {"es": {"cases": 7}}}})]
    ['slices', 'slices.TAG', 'slices.TAG.VALUE', 'slices.TAG.VALUE.cases']
    """
    if isinstance(value, list):
        for item in value:
            yield from key_paths(item, (*path[:-1], path[-1] + "[]"))
    elif isinstance(value, dict):
        for key, item in value.items():
            if path in HAVE_SIDES and key in ("baseline", "candidate"):
                key = "SIDE"
            elif path in NAMED_BY_DATA:
                key = {"measures": "NAME", "slices": "TAG", "TAG": "VALUE", "reasons": "REASON"}[path[-1]]
            yield (*path, key)
            yield from key_paths(item, (*path, key))


def keys_to_explain(comparisons):
    """Return the keys that docs/figures.md must explain: what a slice has as `overall` has it is explained there."""
    found = {".".join(path) for comparison in comparisons for path in key_paths(comparison)}
    repeated = {path for path in found if path.startswith("slices.TAG.VALUE.")
                and path.replace("slices.TAG.VALUE", "overall") in found}
    return found - repeated


def explained_keys():
    """Return the keys in the first column of the tables of docs/figures.md, one for each time it stands there."""
    rows = re.findall(r"^\| (`.*?) \|", read("docs/figures.md"), re.MULTILINE)
    return [key for row in rows for key in re.findall(r"`([^`]+)`", row)]


class ManualTest(unittest.TestCase):
    maxDiff = None

    def assert_shown(self, printed, shown):
        if ELLIPSIS not in shown:
            return self.assertEqual(printed, shown)
        parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
        self.assertRegex(printed, re.compile(rf"\A{'.*'.join(map(re.escape, parts))}\Z", re.DOTALL))

    def test_commands_give_what_is_printed_below_them(self):
        for name, blocks in AHEAD.results() if AHEAD else zip(texts(), run_pages(texts().values()), strict=True):
            for command, shown, printed in (result for _, results in blocks for result in results):
                with self.subTest(f"{name}: {command}"):
                    self.assert_shown(printed, shown)

    def test_options_named_in_the_manual_exist(self):
        for page in pages():
            code = "".join(block for _, _, block in BLOCK.findall(read(page)))
            for name, words in re.findall(r"(\w+)\.py((?: [^|;&#\n]*)?)", code.replace("\\\n", " ")):
                named = re.findall(r" (--[a-z-]+)", words)
                if named:
                    with self.subTest(f"{page}: {name}.py{words}"):
                        self.assertEqual([option for option in named if option not in options(name)], [])

    def test_links_lead_somewhere(self):
        for page in pages():
            for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
                if "://" not in target:
                    name, _, heading = target.partition("#")
                    path = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
                    with self.subTest(f"{page}: {target}"):
                        self.assertTrue(os.path.exists(os.path.join(HERE, path)))
                        if heading:
                            self.assertIn(heading, {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-")
                                                    for line in re.findall(r"^#+ (.*)$", read(path), re.MULTILINE)})

    def test_each_source_file_has_one_row_in_the_map_and_imports_none_below_it(self):
        rows = re.findall(r"^\| (`.*?) \|", read("docs/house.md"), re.MULTILINE)
        mapped = [name for row in rows for name in re.findall(r"`([^`]+\.py)`", row) if not name.startswith("test_")]
        self.assertEqual(sorted(mapped), sorted(sources()))
        modules = [name.removesuffix(".py").replace("/", ".") for name in mapped]
        for place, name in enumerate(mapped):
            imported = set()
            for node in ast.walk(ast.parse(read(name))):
                if isinstance(node, ast.Import):
                    imported.update(alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    imported.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
            self.assertEqual(imported.intersection(modules[place + 1:]), set(), name)

    def test_the_way_of_a_score_names_what_is_there(self):
        folders = dict.fromkeys(("trials", "trial_logs", "figures", "decide", "caution"), "core.") | {"words": "views."}
        named = re.findall(r"`(\w+)\.(\w+)`", read("docs/house.md").split("## The way of a score")[1])
        for module, name in named:
            if name not in ("json", "md"):
                found = importlib.import_module(folders.get(module, "") + module)
                self.assertTrue(hasattr(found, name), (module, name))

    def test_each_key_of_a_comparison_is_explained_once(self):
        comparisons = []
        for name in sorted(os.listdir(os.path.join(HERE, "runs"))):
            if name.endswith(".json"):
                comparisons.append(json.loads(read(f"runs/{name}")))
        with tempfile.TemporaryDirectory() as folder:  # one with other keys filled in
            out = os.path.join(folder, "out.json")
            subprocess.run([sys.executable, os.path.join(HERE, "compare.py"), *HALVES, "--plan", "0.05", "--out", out],
                           check=True, capture_output=True, cwd=HERE)
            with open(out, encoding="utf-8") as file:
                comparisons.append(json.load(file))
        wanted = keys_to_explain([comparison for comparison in comparisons if "comparison_version" in comparison])
        explained = collections.Counter(explained_keys())
        self.assertEqual({key: explained[key] for key in wanted if explained[key] != 1}, {})
        self.assertEqual([key for key, times in explained.items() if times > 1], [])

    def test_each_figure_is_computed_where_the_manual_says(self):
        for keys, places in re.findall(r"^\| (`.*?`) \| (`.*?`) \| ", read("docs/figures.md"), re.MULTILINE):
            sources = ""
            for place in re.findall(r"`([^`]+)`", places):
                module, _, name = place.partition(".")
                module = importlib.import_module(module if module == "harness" else f"core.{module}")
                found = operator.attrgetter(name)(module)
                sources += inspect.getsource(found if inspect.isfunction(found) or inspect.isclass(found) else module)
            for key in re.findall(r"(\w+)(?:\[\])?`", keys):
                if key.islower():  # else a name that stands for others
                    self.assertRegex(sources, rf"\b{key}\b", places)

    def test_each_key_that_a_view_reads_is_explained_or_of_version_1(self):
        known = {*explained_keys(), "decision.interval_90"}
        keys = {".".join(path).replace("slices.TAG.VALUE", "overall") for path in key_paths(KEYS) if path[-1] != "*"}
        slices = {key.replace("slices.TAG.VALUE", "overall") for key in known}
        self.assertEqual(keys - known - slices, set())

    def test_readme_is_short(self):
        self.assertLessEqual(len(read("README.md").splitlines()), 220)


class HelpTest(unittest.TestCase):
    def test_every_help_has_a_purpose_an_example_and_explained_arguments(self):
        for command in COMMANDS:
            for called, parser in parsers(command):
                with self.subTest(called):
                    self.assertRegex(parser.description, r"\A[A-Z][^\0]*[.?]\n\nexample:\n    python3 ")
                    self.assertEqual([action.dest for action in parser._actions if not action.help
                                      and not isinstance(action, argparse._SubParsersAction)], [])

    def test_every_help_fits_a_screen(self):
        with unittest.mock.patch.dict(os.environ, COLUMNS="80"):
            for command in COMMANDS:
                for called, parser in parsers(command):
                    with self.subTest(called):
                        lines = parser.format_help().splitlines()
                        self.assertLessEqual(sum(-(-len(line) // 80) or 1 for line in lines), SCREEN_LINES)


class Ahead:
    """A process that runs all pages while other tests run, as that takes a quarter of the suite's time."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        self.process = subprocess.Popen([sys.executable, "-m", "tests.test_readme", "--results"], stdout=self.file,
                                        cwd=HERE)
        atexit.register(self.stop)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.file.close()

    def results(self):
        """Return [[name, what run_page returns], ...]."""
        self.process.wait()
        self.file.seek(0)
        return json.loads(self.file.read())


AHEAD = None


def load_tests(loader, tests, pattern):
    global AHEAD
    import doctest
    tests.addTests(doctest.DocTestSuite(sys.modules[__name__]))
    AHEAD = Ahead()
    return tests


def update():
    """Put what each command prints now below it, `...` blocks left as they are."""
    for name, blocks in zip(pages(), run_pages(map(read, pages())), strict=True):
        text = read(name)
        for block, results in blocks:
            parts = [f"$ {command}\n{shown if ELLIPSIS in shown else printed}" for command, shown, printed in results]
            text = text.replace(block, "".join(parts))
        if text != read(name):
            with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
                file.write(text)
            print(f"wrote {name}")


if __name__ == "__main__":
    if "--results" in sys.argv:
        print(json.dumps(list(zip(texts(), run_pages(texts().values(), 1), strict=True))))
    elif "--update" in sys.argv:
        update()
    else:
        unittest.main()
