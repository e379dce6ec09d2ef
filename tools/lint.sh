#!/usr/bin/env bash
# Checks format, layers, words, sizes, scripts and, with clang-tidy, the sources. Runs every check before it fails, and names the fixes.
# clang-tidy skips the tests: it would spend minutes in GoogleTest's and RapidCheck's macros and find nothing. The
# compilers' warnings cover them.
#
# clang-tidy is slow, so build/lint/ caches a hash of each source that passed, including all of our headers that it
# includes; unchanged sources are skipped. `rm -r build/lint` empties the cache.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly built=build/release/compile_commands.json
readonly database=build/lint/compile_commands.json  # the same for Clang, which cannot read GCC's precompiled headers
readonly jobs=2
export stamps=build/lint
export PYTHONPYCACHEPREFIX=$stamps/pycache
mkdir -p "$stamps"

failed=()
# check NAME FIX COMMAND...: runs the command and records its failure.
check() {
  local name=$1 fix=$2
  shift 2
  echo "lint: $name"
  "$@" || failed+=("$name: $fix")
}

# Prints our files (tracked, or new and not ignored) that match, each ended by a NUL byte. Skips tracked files that have
# been deleted.
ours() {
  git ls-files -z --cached --others --exclude-standard -- "$@" | sort -zu |
    while IFS= read -r -d '' file; do if [[ -f $file ]]; then printf '%s\0' "$file"; fi; done
}

# Prints one line for each file: clang-format prints three for each place, and `make format` fixes them all anyway.
format() {
  local output
  output=$(ours '*.h' '*.cc' | xargs -0 -r clang-format-14 --dry-run -Werror 2>&1) && return
  grep -E '^[^ :]+:[0-9]+:[0-9]+: error: ' <<<"$output" | sort -t: -u -k1,1 || echo "$output"
  return 1
}

scripts() { ours '*.sh' '.ci/run' | xargs -0 -r shellcheck -x; }
python() { ours '*.py' | xargs -0 -r python3 -m py_compile; }

# Prints "key path" for each source in src/. The key covers everything that affects clang-tidy's findings except system
# headers.
sources_with_keys() {
  PYTHONPATH=tools python3 - "$database" "$(clang-tidy-14 --version)" <<'END'
import hashlib, json, os, sys
from pathlib import Path
from check_layers import code_of, includes_of

database, version = sys.argv[1:]
commands = {}
for entry in json.loads(Path(database).read_text()):
    path = os.path.relpath(os.path.join(entry["directory"], entry["file"]))
    commands.setdefault(path, []).append(entry.get("command") or " ".join(entry["arguments"]))

included = {}
def includes(path):
    if path not in included:
        text = path.read_text("utf-8", errors="replace")
        names = {include.name for include in includes_of(text, code_of(text)) if include.name}
        included[path] = {home / name for name in names for home in map(Path, ("src", "include", "."))
                          if (home / name).is_file()}
    return included[path]

def with_headers(path):
    seen, waiting = set(), [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += includes(file)
    return sorted(seen)

left_out = False
for path in sorted(Path("src").rglob("*.cc")):
    if path.stem.endswith("test"):
        continue
    if str(path) not in commands:
        print(f"{path}: is not in {database}: name it in a CMakeLists.txt of src/", file=sys.stderr)
        left_out = True
        continue
    digest = hashlib.sha256(repr([version, Path(".clang-tidy").read_text(), commands[str(path)]]).encode())
    for file in with_headers(path):
        digest.update(f"\n{file}\n".encode() + file.read_bytes())
    print(digest.hexdigest(), path)
sys.exit(left_out)
END
}

# Prints the compile commands for Clang, and of each source only the first: the simulator compiles many once more, and
# Clang would look for the same findings twice.
commands_for_clang() {
  sed -E 's#-Winvalid-pch -include [^ ]*/cmake_pch[.]hxx##; s#-fpch-preprocess##' "$built" |
    python3 -c 'import json, sys
first = {}
for entry in json.load(sys.stdin):
    first.setdefault(entry["file"], entry)
json.dump(list(first.values()), sys.stdout, indent=1)'
}

# tidy_one "key path". Prints nothing if there are no findings.
tidy_one() {
  local key=${1%% *} path=${1#* } output
  local stamp=$stamps/${path//\//-}.stamp
  if [[ -f $stamp && $(<"$stamp") == "$key" ]]; then return 0; fi
  # The compile commands are GCC's, with warning flags that Clang does not have. The reserved identifiers are Clang's own
  # warning: clang-tidy's check of them spends a fifth of the time in system headers.
  if output=$(clang-tidy-14 -p "$(dirname "$database")" --quiet --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wreserved-identifier --extra-arg=-Wreserved-macro-identifier "$path" 2>&1); then
    echo "$key" >"$stamp"
    return 0
  fi
  # One write, so that two jobs do not mix their lines. Without the counts of suppressed warnings, which say nothing.
  printf '%s\n' "$(grep -vE '^[0-9]+ (warnings?|errors?)( and [0-9]+ errors?)? generated\.$' <<<"$output")"
  return 1
}
export database
export -f tidy_one

tidy() {
  local sources complete=true
  if [[ ! -f $built ]]; then
    echo "$built not found: run cmake --preset release -DHORAE_TESTS=ON" >&2
    return 1
  fi
  commands_for_clang >"$database"
  sources=$(sources_with_keys) || complete=false
  # shellcheck disable=SC2016  # the inner shell expands $1
  xargs -r -d '\n' -n 1 -P "$jobs" bash -c 'tidy_one "$1"' _ <<<"$sources" && $complete
}

check format "make format" format
check layers "move the code to where it belongs (docs/internals/architecture.md)" tools/check_layers.py
check words "use the suggested words, or add the line to ALLOWED in tools/check_words.py" tools/check_words.py
check sizes "split the source or the function" tools/check_sizes.py
check statements "comment or use each statement (src/stores/statements.h)" tools/check_statements.py
check links "correct the reference in the document" tools/check_links.py
check "shell scripts" "fix them as shellcheck says" scripts
check "python scripts" "fix the syntax" python
check clang-tidy "fix the code, or write // NOLINT(check) with the reason" tidy

if ((${#failed[@]} > 0)); then
  printf 'lint: FAILED %s\n' "${failed[@]}" >&2
  exit 1
fi
echo "lint: no faults"
