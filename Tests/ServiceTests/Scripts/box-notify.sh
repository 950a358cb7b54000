#!/bin/bash
# The box itself: systemd boots as process 1, and a service is active when it reports so, not before.
source "$(dirname "$0")/lib.sh"
check "systemd is process 1" -.slice sh -c '[ "$(cat /proc/1/comm)" = systemd ]'
check "the boot is whole" -.slice systemctl is-system-running
mkfifo /run/gate
cat >/run/systemd/system/stand-in.service <<UNIT
[Service]
Type=notify
NotifyAccess=all
ExecStart=$(dirname "$0")/stand-in.sh /run/gate
UNIT
systemctl daemon-reload
systemctl start --no-block stand-in
eventually "activating until it is ready" stand-in property_is stand-in ActiveState activating
echo >/run/gate
eventually "active once it is ready" stand-in systemctl is-active stand-in
check "its status text arrives" stand-in property_is stand-in StatusText "stands in"
systemctl kill --signal=USR1 --kill-whom=main stand-in
eventually "a signal arrives" stand-in property_is stand-in StatusText dumped
systemctl stop stand-in
check "it stops with status 0" stand-in property_is stand-in Result success
touch /etc/written-inside-the-box
