#!/usr/bin/env python3
"""Checks the rules of docs/internals/architecture.md that a compiler does not.

    tools/check_layers.py          prints "path:line: what is wrong (the rule)" for each fault, and then exits with 1

The rules are the tables below; the code after them only applies them. Paths are relative to the root of the repository
and may contain wildcards; * also matches slashes.
"""

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Iterator, NamedTuple

from checks import Fault, run

# The folders of src/. A folder may include itself and earlier rows; folders of one row must not include each other.
LAYERS = (
    ("base",),
    ("model",),
    ("store", "net", "http"),
    ("stores", "engine", "observe"),
    ("kafka", "api", "sdk"),
    ("agent",),
    ("app",),
    ("cli",),
)

# Subfolders that must not include each other. They may include the files of their parent folder, but not vice versa.
APART = {"stores": ("sqlite", "postgres")}

# Folders that may include less than their layer allows: the HTTP server does not depend on tasks, and an agent, which runs
# foreign programs, has no store.
BLIND = {"http": ("model",), "sdk": ("stores", "observe"), "agent": ("stores", "observe", "kafka")}

# The limit of units in a folder of src/. A unit is a header with its source; its tests do not count.
MAX_UNITS = 20


class Library(NamedTuple):
    name: str
    header: str  # regular expression for the name between <> or ""
    places: tuple[str, ...]


# Only one place in src/ includes the headers of a library.
LIBRARIES = (
    Library("libpq", r"(postgresql/)?(libpq-\w+|postgres_ext|pg_config\w*)\.h|(postgresql/)?libpq/.*",
            ("src/stores/postgres/*",)),
    Library("SQLite", r"sqlite3(ext)?\.h", ("src/stores/sqlite/*",)),
    Library("librdkafka", r"librdkafka/.*|rdkafka\w*\.h", ("src/kafka/*",)),
    Library("libcurl", r"curl/.*", ("src/net/*",)),
    Library("Abseil", r"absl/.*", ("src/base/zone/zone.cc",)),
    Library("spdlog", r"spdlog/.*", ("src/base/log.cc",)),
    Library("Boost", r"boost/.*", ("src/http/*",)),  # see docs/internals/adr/0014-assertions-of-beast.md
)

# Regular expressions for code. FREE excludes members of the same name: clock.time(), queue->rand().
FREE = r"(?<![\w.>])"
SLEEPING = (
    r"\b(thrd_sleep|sleep_(for|until))\b",
    FREE + r"u?sleep(?=\s*\()",
    r"\b(clock_)?nanosleep\b",
)
READING_THE_TIME = (
    r"\b(system|steady|file|utc|tai|gps)_clock\s*::\s*now\b",
    r"\bhigh_resolution_clock\b",
    r"\b(clock_gettime|gettimeofday|timespec_get)\b",
    FREE + r"time\s*\(\s*(nullptr|NULL|0)\s*\)",
    r"\bstd\s*::\s*(time|clock)(?=\s*\()",
    r"\b(local|gm)time(_r|_s)?\b",
    r"\b(wait_(for|until))(?=\s*\()",
    r"\btry_(lock|lock_shared|acquire)_(for|until)\b",
    r"\bpthread_cond_(timed|clock)wait\b",
)
RANDOMNESS = (
    r"\brandom_device\b",
    FREE + r"s?rand(?=\s*\()",
    r"\b(getrandom|getentropy|arc4random\w*|[dlm]rand48)\b",
)


class Ban(NamedTuple):
    calls: tuple[str, ...]
    where: tuple[str, ...]
    but_not: tuple[str, ...]
    rule: str


# The suffix of a test's file names the service that the test needs.
TEST_SUFFIXES = ("_test.cc", "_pgtest.cc", "_kafkatest.cc")
TESTS_IN_SRC = tuple("src/*" + suffix for suffix in TEST_SUFFIXES)

BANS = (
    Ban(SLEEPING + READING_THE_TIME, ("src/*",),
        ("src/base/clock.cc", "src/base/bounded_queue.h", "src/base/waker.cc", "src/http/timers.*", "src/app/*", *TESTS_IN_SRC),
        "time is injected: take a Clock; only base/clock.cc, base/bounded_queue.h, base/waker.cc, http/timers and app use the system's"),
    Ban(SLEEPING, (*TESTS_IN_SRC, "tests/*"), ("tests/support/*",),
        "no sleeps as synchronisation: use a ManualClock or wait for the event itself"),
    Ban(RANDOMNESS, ("src/*",), ("src/base/random.*",),
        "randomness is injected: take a Random; only base/random uses the system's"),
)

# The headers that the public API may include (C++20).
STANDARD_HEADERS = frozenset("""
    algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts condition_variable
    coroutine deque exception execution filesystem format forward_list fstream functional future initializer_list
    iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new numbers
    numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex
    source_location span sstream stack stdexcept stop_token streambuf string string_view strstream syncstream
    system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant
    vector version
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint cstdio
    cstdlib cstring ctime cuchar cwchar cwctype
    """.split())

OTHER_CXX_SUFFIXES = (".c", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp")

# CMake commands that mention a source without building it.
CMAKE_MENTIONS = r"(?i)\b(message|set_source_files_properties|set_tests_properties)\s*\([^()]*\)"


class Include(NamedTuple):
    line: int
    name: str
    quoted: bool


# ---- Reading C++ and CMake ----

# Identifiers and numbers are tokens too, so that the R of fooR"x" starts no raw string and 1'000 no character.
TOKEN = re.compile(
    r"""(?P<blank> //(?:\\\r?\n|[^\n])*
               |   /\*.*?(?:\*/|\Z)
               |   (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\(.*?\)(?P=delimiter)"
               |   (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"
               |   (?:u8|[uUL])?'(?:\\.|[^'\\\n])+'
        )
        | \.?[0-9](?:[eEpP][+-]|'?[0-9A-Za-z_]|\.)*
        | [A-Za-z_]\w*
    """, re.VERBOSE | re.DOTALL)
INCLUDE = re.compile(r"^[ \t]*\#[ \t]*include\b", re.MULTILINE)
INCLUDED_NAME = re.compile(r'[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)')


def blank_out(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def code_of(text: str) -> str:
    """The text with comments and literals blanked out; every other character stays in its place."""
    return TOKEN.sub(lambda token: blank_out(token[0]) if token["blank"] else token[0], text)


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def includes_of(text: str, code: str) -> Iterator[Include]:
    for found in INCLUDE.finditer(code):
        name = INCLUDED_NAME.match(text, found.end())
        line = line_of(text, found.start())
        # A macro, which this tool cannot expand, gives an empty name, which is refused below.
        yield Include(line, (name[1] or name[2] or "") if name else "", bool(name and name[1]))


CMAKE_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|#\[(=*)\[.*?\]\1\]|#[^\n]*', re.DOTALL)


def cmake_of(path: Path) -> str:
    """A CMake file without its comments."""
    if not path.is_file():
        return ""
    return CMAKE_TOKEN.sub(lambda token: token[0] if token[0].startswith('"') else " ", path.read_text("utf-8"))


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def is_test(path: str) -> bool:
    return path.endswith(TEST_SUFFIXES)


# ---- Layers and includes ----

LAYER_OF = {folder: level for level, row in enumerate(LAYERS) for folder in row}


def may_include(folder: str) -> list[str]:
    """The other folders that `folder` may include, lowest first."""
    return [other for row in LAYERS[: LAYER_OF[folder]] for other in row if other not in BLIND.get(folder, ())]


def subfolder(parts: list[str]) -> str:
    """`sqlite` for stores/sqlite/x.h, empty for stores/x.h and for folders without separated subfolders."""
    return parts[1] if len(parts) > 2 and parts[1] in APART.get(parts[0], ()) else ""


def layer_fault(includer: str, included: str) -> tuple[str, str] | None:
    """The fault, if any, of src/`includer` including src/`included`, and the rule."""
    source, target = includer.split("/"), included.split("/")
    folder, other = source[0], target[0]
    if other not in LAYER_OF:
        return f'includes "{included}", but src/{other} is not a layer', "see LAYERS in tools/check_layers.py"
    if folder != other and other not in may_include(folder):
        allowed = ", ".join(may_include(folder)) or "itself"
        where = ("hidden from" if other in BLIND.get(folder, ()) else
                 "beside" if LAYER_OF[folder] == LAYER_OF[other] else "above")
        return f'includes "{included}", but {other} is {where} {folder}', f"{folder} may include only {allowed}"
    if folder == other and subfolder(target) not in ("", subfolder(source)):
        return (f'includes "{included}" from outside {other}/{subfolder(target)}',
                f"{' and '.join(APART[folder])} must not include each other, and {folder} itself includes neither")
    return None


def unit_faults(paths: list[str]) -> Iterator[Fault]:
    units: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if path.startswith("src/") and not is_test(path):
            units.setdefault(folder, set()).add(name.rsplit(".", 1)[0])
    for folder, names in units.items():
        if len(names) > MAX_UNITS:
            yield Fault(folder, 1, f"has {len(names)} units", f"at most {MAX_UNITS} in a folder: make subfolders")


OUR_HEADER = re.compile(r"\w+(/\w+)*/\w+\.h")


def quoted_fault(root: Path, path: str, name: str) -> tuple[str, str] | None:
    if not OUR_HEADER.fullmatch(name):
        return f'includes "{name}"', 'our own headers are included as "folder/file.h", all others in <>'
    first = name.split("/")[0]
    if first == "tests":
        if not (is_test(path) and name.startswith("tests/support/")):
            return f'includes "{name}"', "only tests may include tests/, and only tests/support/"
        home = root
    elif first == "horae":
        home = root / "include"
    elif path.startswith("include/"):
        return f'includes "{name}"', "the public API may include standard headers and itself"
    else:
        fault = layer_fault(path.removeprefix("src/"), name)
        if fault:
            return fault
        home = root / "src"
    return None if (home / name).is_file() else (f'includes "{name}", which does not exist', "includes must name existing files")


def angled_fault(root: Path, path: str, name: str) -> tuple[str, str] | None:
    if path.startswith("include/"):
        if name not in STANDARD_HEADERS:
            return f"includes <{name}>", "the public API may include standard C++ headers and itself"
    elif any((root / home / name).is_file() for home in ("src", "include")):
        return f"includes <{name}>", "include our own headers in quotes, so that the layers are checked"
    return None


def include_faults(root: Path, path: str, include: Include) -> Iterator[Fault]:
    if not include.name:
        yield Fault(path, include.line, "includes something that this tool cannot read", "an include must name a file")
        return
    for library in LIBRARIES:
        if path.startswith("src/") and re.fullmatch(library.header, include.name) and not matches(path, library.places):
            yield Fault(path, include.line, f"includes {include.name}",
                        f"only {', '.join(library.places)} may include {library.name}")
    fault = (quoted_fault if include.quoted else angled_fault)(root, path, include.name)
    if fault:
        yield Fault(path, include.line, *fault)


# ---- The other rules ----


def call_faults(path: str, code: str) -> Iterator[Fault]:
    for ban in BANS:
        if matches(path, ban.where) and not matches(path, ban.but_not):
            for found in re.finditer("|".join(ban.calls), code):
                name = " ".join(found[0].split())
                yield Fault(path, line_of(code, found.start()), f"uses {name}", ban.rule)


def pragma_faults(path: str, code: str) -> Iterator[Fault]:
    if path.endswith(".h") and not re.match(r"\s*#[ \t]*pragma[ \t]+once\b", code):
        start = len(code) - len(code.lstrip())
        yield Fault(path, line_of(code, start), "does not begin with #pragma once", "every header needs it")


def place_faults(root: Path) -> Iterator[Fault]:
    for entry in sorted((root / "src").iterdir()):
        path = f"src/{entry.name}"
        if entry.is_dir() and entry.name not in LAYER_OF and any(file.is_file() for file in entry.rglob("*")):
            yield Fault(path, 1, "is not a layer", "see LAYERS in tools/check_layers.py")
        if entry.is_file() and entry.suffix in (".h", ".cc"):
            yield Fault(path, 1, "is in no folder", "every source belongs to a layer")


def lists_above(root: Path, file: Path) -> Path:
    """The nearest CMakeLists.txt above the file, below the root; if there is none, the one of the file's folder."""
    for folder in file.parents:
        if folder.parent == root:
            break
        if (folder / "CMakeLists.txt").is_file():
            return folder / "CMakeLists.txt"
    return file.parent / "CMakeLists.txt"


def build_faults(root: Path, paths: list[str]) -> Iterator[Fault]:
    """Sources that the nearest CMakeLists.txt does not build."""
    named: dict[Path, set[str]] = {}
    for path in paths:
        if not is_test(path) and not (path.startswith("src/") and path.endswith(".cc")):
            continue
        lists = lists_above(root, root / path)
        if lists not in named:
            named[lists] = set(re.split(r'[\s()";]+', re.sub(CMAKE_MENTIONS, " ", cmake_of(lists))))
        if (root / path).relative_to(lists.parent).as_posix() not in named[lists]:
            yield Fault(path, 1, f"is missing in {lists.relative_to(root).as_posix()}",
                        "a source that is not built is not checked")


def reach_faults(root: Path) -> Iterator[Fault]:
    """CMakeLists.txt files that the build never reads."""
    reached, waiting = set(), [root.resolve()]
    while waiting:
        folder = waiting.pop()
        if folder not in reached:
            reached.add(folder)
            for name in re.findall(r'(?i)\badd_subdirectory\s*\(\s*"?([^\s"()]+)', cmake_of(folder / "CMakeLists.txt")):
                waiting.append((folder / name).resolve())
    for top in ("src", "tests"):
        for lists in sorted((root / top).rglob("CMakeLists.txt")):
            if lists.parent.resolve() not in reached:
                yield Fault(lists.relative_to(root).as_posix(), 1, "is not read by the build",
                            "add it by add_subdirectory")


def files_of(root: Path) -> list[str]:
    return sorted(file.relative_to(root).as_posix() for top in ("include", "src", "tests")
                  for file in (root / top).rglob("*") if file.is_file())


def check(root: Path) -> tuple[int, list[Fault]]:
    """The number of C++ files below `root`, and their faults."""
    files = files_of(root)
    paths = [path for path in files if path.endswith((".h", ".cc"))]
    faults = [*place_faults(root), *unit_faults(paths), *build_faults(root, paths), *reach_faults(root)]
    for path in files:
        if path.endswith(OTHER_CXX_SUFFIXES):
            faults.append(Fault(path, 1, "is neither .h nor .cc", "other C++ files escape these checks"))
    for path in paths:
        text = (root / path).read_text("utf-8", errors="replace")
        code = code_of(text)
        faults += call_faults(path, code)
        if path.startswith("tests/"):
            continue  # tests/ may include all layers
        faults += pragma_faults(path, code)
        if path.startswith("include/") or path.split("/")[1] in LAYER_OF:
            for include in includes_of(text, code):
                faults += include_faults(root, path, include)
    return len(paths), sorted(faults)


if __name__ == "__main__":
    sys.exit(run("layers", "files", check))
