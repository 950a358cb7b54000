#!/bin/bash
# The watchdog is pinged while the queues work, and a hanging process is replaced.
source "$(dirname "$0")/lib.sh"
install_service
install -d /etc/systemd/system/photoinboxd.service.d
printf '[Service]\nWatchdogSec=1\nTimeoutAbortSec=1\nRestartSec=0\n' >/etc/systemd/system/photoinboxd.service.d/test.conf
systemctl daemon-reload
start_service
for round in first second third; do
    last=$(property photoinboxd WatchdogTimestampMonotonic)
    eventually "fed the $round time" photoinboxd \
        sh -c "[ \$(systemctl show --value -p WatchdogTimestampMonotonic photoinboxd) -gt $last ]"
done
check "not restarted by then" photoinboxd property_is photoinboxd NRestarts 0
systemctl kill --signal=STOP --kill-whom=main photoinboxd
eventually "standing still, it is replaced" photoinboxd property_is photoinboxd NRestarts 1
eventually "because of the watchdog" photoinboxd journal_has 1 _PID=1 UNIT=photoinboxd.service UNIT_RESULT=watchdog
