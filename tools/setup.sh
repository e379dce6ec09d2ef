#!/usr/bin/env bash
# Installs the Debian packages of tools/packages.txt that are missing, and only those.
#
#   tools/setup.sh [group ...]     groups: build, test, lint; default: all of them
#
# Before it installs PostgreSQL, it configures Debian not to create a database server on port 5432, since the tests
# start their own. Debian's PgBouncer service on port 6432 is not needed either, but is left alone.
set -euo pipefail

readonly kTries=3
here=$(dirname -- "${BASH_SOURCE[0]}")
readonly list="$here/packages.txt"

fail() {
  echo "setup: $*" >&2
  exit 1
}

# Prints the packages of the given groups, or of all groups.
wanted() {
  awk -v groups="$*" '
    BEGIN { count = split(groups, names, " "); for (i = 1; i <= count; i++) chosen[names[i]] = 1 }
    { sub(/#.*/, "") }
    NF == 2 && (count == 0 || $1 in chosen) && !seen[$2]++ { print $2 }' "$list"
}

# Prints the given packages that are not installed.
missing_of() {
  local installed
  # dpkg-query fails for an unknown package, which here only means that it is missing.
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  printf '%s\n' "$@" | grep -vxF -f <(sed -n 's/^installed //p' <<<"$installed") || true
}

as_root=()
apt_get() {
  # Waits for another apt-get that holds the lock. Non-interactive, so it must not ask questions.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Debian's package creates and starts a server unless configured otherwise. An existing configuration is left alone.
disable_default_server() {
  local folder=/etc/postgresql-common/createcluster.d
  local file=$folder/no-main.conf
  if [[ -e $file ]]; then return 0; fi
  echo "setup: writing $file, so that Debian creates no PostgreSQL server on port 5432"
  "${as_root[@]}" mkdir -p "$folder"
  echo 'create_main_cluster = false' | "${as_root[@]}" tee "$file" >/dev/null
}

install() {
  local try
  for ((try = 1; try <= kTries; try++)); do
    # A package list that cannot be fetched may be irrelevant here, so only a failed installation counts.
    apt_get update || echo "setup: apt-get update failed (try $try of $kTries)" >&2
    if apt_get install --no-install-recommends "$@"; then return 0; fi
    echo "setup: apt-get install failed (try $try of $kTries)" >&2
    if ((try < kTries)); then sleep $((try * 3)); fi
  done
  return 1
}

groups=$(awk '{ sub(/#.*/, "") } NF == 2 && !seen[$1]++ { print $1 }' "$list")
for group in "$@"; do
  grep -qxF -- "$group" <<<"$groups" || fail "unknown group '$group'; the groups are:" "${groups//$'\n'/ }"
done

mapfile -t packages < <(wanted "$@")
by_hand="install these by hand: ${packages[*]}"
command -v dpkg-query >/dev/null || fail "this is not Debian; $by_hand"

mapfile -t missing < <(missing_of "${packages[@]}")
if ((${#missing[@]} == 0)); then
  echo "setup: nothing to install"
  exit 0
fi

by_hand="install these by hand: ${missing[*]}"
command -v apt-get >/dev/null || fail "apt-get not found; $by_hand"
if ((EUID != 0)); then
  command -v sudo >/dev/null || fail "root is needed and sudo is not installed; as root, $by_hand"
  as_root=(sudo)
fi

if [[ " ${missing[*]} " == *" postgresql "* ]]; then disable_default_server; fi
if [[ " ${missing[*]} " == *" pgbouncer "* && -d /run/systemd/system ]]; then
  echo "setup: Debian starts PgBouncer as a service; if nothing else needs it: systemctl disable --now pgbouncer"
fi
echo "setup: installing ${missing[*]}"
install "${missing[@]}" || fail "the installation failed $kTries times; see the messages above, or $by_hand"
echo "setup: installed ${missing[*]}"
