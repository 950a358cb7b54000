#!/bin/bash
# One queue hangs while all others work: the watchdog gets no ping, and the daemon is replaced. A tracer blocks the
# catalogue's queue in a system call of SQLite that waits for the disk.
source "$(dirname "$0")/lib.sh"
install_service
install -d /etc/systemd/system/photoinboxd.service.d
printf '[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\nRestartSec=0\n' >/etc/systemd/system/photoinboxd.service.d/test.conf
systemctl daemon-reload
start_service
process=$(property photoinboxd MainPID)
strace --quiet=all --follow-forks --attach="$process" --trace=fdatasync --inject=fdatasync:delay_enter=1000s \
    --output=/run/held &
tracer=$!
eventually "it is traced" photoinboxd sh -c "! grep -qE '^TracerPid:[[:space:]]*0$' /proc/$process/task/*/status"
drop_photo "$(photo 1)" card one.jpg
eventually "the hanging queue is told by name" photoinboxd journal_has 1 _PID="$process" PHOTOINBOX_PROBLEM=PI-105 PHOTOINBOX_SUBJECT=catalogue
check "no photo is filed by then" photoinboxd sh -c '[ -z "$(find /srv/photos/library -type f -name one.jpg)" ]'
eventually "the watchdog fires" photoinboxd property_is photoinboxd Result watchdog
kill -KILL "$tracer" # which holds the threads, dead or not, until it has heard of their end
eventually "and has it replaced" photoinboxd property_is photoinboxd NRestarts 1
eventually "which is told with the reason" photoinboxd journal_has 1 _PID=1 UNIT=photoinboxd.service UNIT_RESULT=watchdog
eventually "the next one files the photo" photoinboxd filed one.jpg
eventually "once" photoinboxd sh -c '[ "$(find /srv/photos/library /srv/photos/duplicates -type f -name "one*" | wc -l)" = 1 ]'
eventually "and it is gone from the inbox" photoinboxd test ! -e /srv/photos/card/one.jpg
