#!/bin/bash
# A service that reports readiness and waits, in place of a daemon for tests of the box.
# usage: stand-in.sh GATE: ready after a write to the FIFO `GATE`; never pings a watchdog.
set -euo pipefail
# SIGTERM goes to the whole group, so it may end a systemd-notify of a running trap.
trap 'systemd-notify STOPPING=1 || true; exit 0' TERM
trap 'systemd-notify --status="dumped" || true' USR1
read -r _ <"$1"
systemd-notify --ready --status="stands in"
exec 3<>"$1"
# A trap interrupts `wait` at once, but not a program in the foreground.
while :; do
    read -r _ <&3 &
    wait $! || true
done
