#!/bin/bash
# The box itself: a service that does not ping its watchdog is killed and restarted.
source "$(dirname "$0")/lib.sh"
mkfifo /run/gate
cat >/run/systemd/system/stand-in.service <<UNIT
[Service]
Type=notify
NotifyAccess=all
WatchdogSec=200ms
Restart=on-watchdog
RestartSec=0
ExecStart=$(dirname "$0")/stand-in.sh /run/gate
UNIT
systemctl daemon-reload
systemctl start --no-block stand-in
echo >/run/gate
eventually "killed by the watchdog and started again" stand-in property_is stand-in NRestarts 1
eventually "the journal says why" stand-in journal_has 1 _PID=1 UNIT=stand-in.service UNIT_RESULT=watchdog
