#!/usr/bin/env bash
# Makes a private folder with Python packages, for tests that need programs which Debian does not have.
#
#   tools/python_packages.sh REQUIREMENTS FOLDER
#
# REQUIREMENTS names each package with its version; nothing else is installed. A folder that was made from the same file
# is left alone. Packages come from wherever pip is configured to look.
set -euo pipefail

readonly requirements=${1:?usage: tools/python_packages.sh REQUIREMENTS FOLDER}
readonly folder=${2:?usage: tools/python_packages.sh REQUIREMENTS FOLDER}
readonly done_mark=$folder/requirements.txt  # a copy, written last

fail() {
  echo "python_packages: $*" >&2
  exit 1
}

mkdir -p "$(dirname -- "$folder")"
exec 9>"$folder.lock"
flock 9  # tests of several builds may need it at the same time
if cmp -s -- "$requirements" "$done_mark" && [[ -x $folder/bin/python ]]; then exit 0; fi

# Debian's own, whose version these packages are chosen for; any other one on other systems.
python=/usr/bin/python3
[[ -x $python ]] || python=python3

echo "python_packages: installing $(basename -- "$(dirname -- "$requirements")")/$(basename -- "$requirements") into $folder"
rm -rf -- "$folder"
"$python" -m venv "$folder" || fail "cannot make a virtual environment; run tools/setup.sh test (python3-venv)"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --requirement "$requirements" ||
  fail "pip cannot install the packages; this needs access to the Python Package Index once, or PIP_INDEX_URL or PIP_FIND_LINKS"
cp -- "$requirements" "$done_mark"
