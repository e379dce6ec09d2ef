#!/usr/bin/env bash
# Formats all of our C++ files in place, by .clang-format.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

# The same files as in lint.sh: tracked, or new and not ignored; tracked files may have been deleted.
git ls-files -z --cached --others --exclude-standard -- '*.h' '*.cc' | sort -zu |
  while IFS= read -r -d '' file; do if [[ -f $file ]]; then printf '%s\0' "$file"; fi; done |
  xargs -0 -r clang-format-14 -i
