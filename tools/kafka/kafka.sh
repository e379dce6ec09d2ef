#!/usr/bin/env bash
# A real Apache Kafka (KRaft, no ZooKeeper) for tests, benches and the demo, from jars alone.
#
#   kafka.sh fetch                           fills the cache: jars, formatted storage, class archive; does nothing the next time
#   kafka.sh run FOLDER PORT CONTROLLER_PORT a broker in the foreground, with its data in FOLDER, which is kept
#   kafka.sh start FOLDER                    a broker in the background on free ports; waits until it is ready
#   kafka.sh address FOLDER                  prints 127.0.0.1:PORT of a broker that was started
#   kafka.sh topic ADDRESS NAME PARTITIONS [SETTING=VALUE...]
#                                            makes a topic
#   kafka.sh kill FOLDER | stop FOLDER       SIGKILL, or SIGTERM; waits for the end
#   kafka.sh restart FOLDER                  a killed or stopped broker again, on the same ports and data
#   kafka.sh destroy FOLDER                  SIGKILL, and removes the folder
#   kafka.sh demo                            a broker for people in a temporary folder, until Ctrl-C
#
# The broker listens on 127.0.0.1 only. FOLDER has its configuration, data, log and pid.
# Environment: HORAE_KAFKA_CACHE (build/kafka), HORAE_KAFKA_HEAP (512m).
set -euo pipefail

here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
version=$(sed -n 's/.*<kafka.version>\(.*\)<.*/\1/p' "$here/pom.xml")
cache=${HORAE_KAFKA_CACHE:-$here/../../build/kafka}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)/$version
readonly here version cache
readonly jars=$cache/jars
readonly classes=$cache/classes.jsa
readonly formatted=$cache/formatted
readonly done_mark=$cache/done  # written last
readonly cluster=4L6g3nShT-eMCtK--X86sw # 16 bytes in base64; these clusters never meet

# Quickest start and smallest footprint: one compiler, the serial collector, no files in /tmp/hsperfdata.
readonly java=(java -Xms64m -Xmx"${HORAE_KAFKA_HEAP:-512m}" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData
  -Xshare:auto -Djava.awt.headless=true -Djava.net.preferIPv4Stack=true
  -Dorg.slf4j.simpleLogger.defaultLogLevel=warn
  -Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info
  -Dorg.slf4j.simpleLogger.showDateTime=true -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS)
readonly ready_text='Kafka Server started' # logged once the broker accepts clients

fail() {
  echo "kafka: $*" >&2
  exit 1
}

# Two free ports of 127.0.0.1.
free_ports() {
  python3 -c 'import socket
sockets = [socket.socket() for _ in range(2)]
for each in sockets: each.bind(("127.0.0.1", 0))
print(*[each.getsockname()[1] for each in sockets])'
}

# configure FOLDER PORT CONTROLLER_PORT: writes its server.properties.
configure() {
  sed -e "s#@FOLDER@#$1#g" -e "s#@PORT@#$2#g" -e "s#@CONTROLLER_PORT@#$3#g" \
    "$here/server.properties.in" >"$1/server.properties"
}

# await FOLDER PID: waits until the broker is ready; fails with its log if it ends first.
await() {
  local try
  for ((try = 0; try < 1200; try++)); do
    if grep -qs "$ready_text" "$1/log"; then return 0; fi
    kill -0 "$2" 2>/dev/null || { tail -20 "$1/log" >&2; fail "the broker ended instead of starting"; }
    sleep 0.05
  done
  tail -20 "$1/log" >&2
  fail "the broker was not ready within a minute"
}

fetch_jars() {
  command -v mvn >/dev/null || fail "mvn not found; run tools/setup.sh test"
  echo "kafka: fetching the jars of Kafka $version"
  rm -rf "$jars.new"
  mvn --batch-mode --quiet --file "$here/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars.new" ||
    fail "Maven cannot fetch the jars; this needs access to a Maven repository once, or a mirror in Maven's settings"
  rm -rf "$jars"
  mv -T "$jars.new" "$jars"
}

# Storage that is formatted once depends on no port and no path, so each broker starts with a copy.
format() {
  local folder
  folder=$(mktemp -d "$cache/format.XXXXXX")
  configure "$folder" 1 2
  "${java[@]}" -cp "$jars/*" kafka.tools.StorageTool format --cluster-id "$cluster" --config "$folder/server.properties" \
    >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "the storage cannot be formatted"; }
  rm -rf "$formatted"
  mv -T "$folder/data" "$formatted"
  rm -rf "$folder"
}

# An archive of loaded classes halves the time of a start. A broker writes it when it ends.
archive_classes() {
  local folder ports pid
  folder=$(mktemp -d "$cache/archive.XXXXXX")
  read -r -a ports < <(free_ports)
  configure "$folder" "${ports[@]}"
  cp -r "$formatted" "$folder/data"
  "${java[@]}" -XX:ArchiveClassesAtExit="$classes" -cp "$jars/*" kafka.Kafka "$folder/server.properties" >"$folder/log" 2>&1 9>&- &
  pid=$!
  await "$folder" "$pid"
  kill -TERM "$pid"
  wait "$pid" || true
  rm -rf "$folder"
}

fetch() {
  local expected
  expected="$jars $(cksum <"$here/pom.xml") $(cksum <"$here/server.properties.in")"
  if [[ -f $done_mark && $(<"$done_mark") == "$expected" ]]; then return 0; fi
  command -v java >/dev/null || fail "java not found; run tools/setup.sh test"
  mkdir -p "$cache"
  exec 9>"$cache/lock"
  flock 9 # tests of several builds may need it at the same time
  if [[ -f $done_mark && $(<"$done_mark") == "$expected" ]]; then return 0; fi
  fetch_jars
  format
  archive_classes
  echo "$expected" >"$done_mark"
  exec 9>&-
}

# The command of a broker for a folder that is configured.
command_of() {
  command=("${java[@]}")
  if [[ -f $classes ]]; then command+=(-XX:SharedArchiveFile="$classes"); fi
  command+=(-cp "$jars/*" kafka.Kafka "$1/server.properties")
}

prepare() { # FOLDER PORT CONTROLLER_PORT
  fetch
  configure "$@"
  if [[ ! -d $1/data ]]; then cp -r "$formatted" "$1/data"; fi
}

launch() { # FOLDER
  command_of "$1"
  : >"$1/log"
  setsid "${command[@]}" >"$1/log" 2>&1 </dev/null &
  echo $! >"$1/pid"
  await "$1" "$(<"$1/pid")"
}

end_with() { # SIGNAL FOLDER
  local pid try
  [[ -f $2/pid ]] || return 0
  pid=$(<"$2/pid")
  kill -"$1" "$pid" 2>/dev/null || true
  for ((try = 0; try < 600; try++)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  rm -f "$2/pid"
}

address() { sed -n 's#^advertised.listeners=PLAINTEXT://##p' "$1/server.properties"; }

demo() {
  local folder ports
  folder=$(mktemp -d)
  read -r -a ports < <(free_ports)
  prepare "$folder" "${ports[@]}"
  launch "$folder"
  # shellcheck disable=SC2064  # the folder of now
  trap "end_with KILL '$folder'; rm -rf '$folder'" EXIT
  cat <<END
Kafka $version listens on 127.0.0.1:${ports[0]} (data and log: $folder). Topics are not made by themselves:

  kcat -b 127.0.0.1:${ports[0]} -L                                   lists brokers and topics
  tools/kafka/kafka.sh topic 127.0.0.1:${ports[0]} NAME PARTITIONS   makes a topic

Ctrl-C ends it and removes its data.
END
  wait
}

# topic ADDRESS NAME PARTITIONS [NAME=VALUE...]
topic() {
  fetch
  local options=() each
  for each in "${@:4}"; do options+=(--config "$each"); done
  "${java[@]}" -cp "$jars/*" org.apache.kafka.tools.TopicCommand --bootstrap-server "$1" --create --topic "$2" --partitions "$3" \
    "${options[@]}"
}

folder_of() { # FOLDER: absolute; made if it is missing
  mkdir -p "$1"
  (cd "$1" && pwd)
}

case ${1:-} in
  fetch) fetch ;;
  run)
    folder=$(folder_of "${2:?folder}")
    prepare "$folder" "${3:?port}" "${4:?port of the controller}"
    command_of "$folder"
    exec "${command[@]}"
    ;;
  start)
    folder=$(folder_of "${2:?folder}")
    read -r -a ports < <(free_ports)
    prepare "$folder" "${ports[@]}"
    launch "$folder"
    ;;
  address) address "${2:?folder}" ;;
  topic) topic "${@:2}" ;;
  kill) end_with KILL "${2:?folder}" ;;
  stop) end_with TERM "${2:?folder}" ;;
  restart) launch "$(folder_of "${2:?folder}")" ;;
  destroy)
    end_with KILL "${2:?folder}"
    rm -rf "$2"
    ;;
  demo) demo ;;
  *)
    sed -n '2,17p' "${BASH_SOURCE[0]}"
    exit 2
    ;;
esac
