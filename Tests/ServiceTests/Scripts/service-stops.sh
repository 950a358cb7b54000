#!/bin/bash
# Stopped, it ends with status 0; after a kill or a full disk it restarts and files what arrived meanwhile.
source "$(dirname "$0")/lib.sh"
install_service
# systemd unloads a stopped service that no unit requires, with its status.
printf '[Unit]\nWants=photoinboxd.service\n' >/etc/systemd/system/wants-it.target
systemctl daemon-reload
start_service
systemctl start wants-it.target
process=$(property photoinboxd MainPID)
systemctl kill --signal=KILL --kill-whom=main photoinboxd
drop_photo "$(photo 1)" card one.jpg
eventually "killed, it is started again" photoinboxd property_is photoinboxd NRestarts 1
eventually "and is active again" photoinboxd systemctl is-active photoinboxd
refuse "as another process" photoinboxd property_is photoinboxd MainPID "$process"
eventually "what came meanwhile is filed" photoinboxd filed one.jpg
systemctl stop photoinboxd
check "stopped, its result is success" photoinboxd property_is photoinboxd Result success
check "having exited by itself" photoinboxd property_is photoinboxd ExecMainCode 1
check "with status 0" photoinboxd property_is photoinboxd ExecMainStatus 0
# A stop during a start or a reload waits for it, and SIGCONT, which systemd sends after each SIGTERM, requests
# a reconciliation during shutdown.
for _ in 1 2 3 4 5 6 7 8; do
    start_service
    process=$(property photoinboxd MainPID)
    kill -HUP "$process"
    kill -CONT "$process"
    kill -HUP "$process"
    kill -TERM "$process"
    kill -CONT "$process"
    systemctl stop photoinboxd
    property_is photoinboxd Result success || broken "stopped during a reload, its result is success" photoinboxd
done
held "stopped during a reload, its result is success"

# Without space for its state it cannot start, and is restarted without a limit until there is space.
install -d /etc/systemd/system/photoinboxd.service.d
printf '[Service]\nRestartSec=0\n' >/etc/systemd/system/photoinboxd.service.d/test.conf
systemctl daemon-reload
mount -t tmpfs -o size=4m tmpfs /var/lib/photoinbox
cat /dev/zero >/var/lib/photoinbox/filler 2>/dev/null || true
drop_photo "$(photo 2)" card two.jpg
refuse "it does not start on a full disk" photoinboxd systemctl start photoinboxd
tried() { [ "$(property photoinboxd NRestarts)" -gt "$1" ]; }
eventually "is tried again more than five times" photoinboxd tried 5
check "because of its catalogue" photoinboxd journal_has 6 _PID=1 UNIT=photoinboxd.service EXIT_STATUS=73
rm /var/lib/photoinbox/filler
eventually "and runs by itself when there is room" photoinboxd systemctl is-active photoinboxd
eventually "with what came meanwhile filed" photoinboxd filed two.jpg
