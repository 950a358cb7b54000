#!/bin/bash
# A service that announces itself and then waits: stands in for a daemon where the box itself is tested.
# usage: stand-in.sh GATE: ready once somebody writes to the FIFO `GATE`; never feeds a watchdog.
set -euo pipefail
# SIGTERM goes to the whole group, so it may end a systemd-notify that a trap is just running.
trap 'systemd-notify STOPPING=1 || true; exit 0' TERM
trap 'systemd-notify --status="dumped" || true' USR1
read -r _ <"$1"
systemd-notify --ready --status="stands in"
exec 3<>"$1"
# A trap interrupts `wait` at once, where it would wait for the end of a program in the foreground.
while :; do
    read -r _ <&3 &
    wait $! || true
done
