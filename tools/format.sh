#!/usr/bin/env bash
# Gives every C++ file of ours the layout of .clang-format, in place.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

# The same files as in lint.sh: tracked or new, but not ignored. A tracked file may be gone from the disk.
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' | sort -zu |
  while IFS= read -r -d '' file; do if [[ -f $file ]]; then printf '%s\0' "$file"; fi; done |
  xargs -0 -r clang-format-14 -i
