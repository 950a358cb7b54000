#!/bin/bash
# With an invalid configuration the service fails at once with status 78, reports the line, and is not restarted; nor with
# an unknown option.
source "$(dirname "$0")/lib.sh"
install_service
configure '[inbox.card]' 'path = "/srv/photos/card"' 'colour = "red"'
refuse "it does not start" photoinboxd systemctl start photoinboxd
eventually "it has failed for good" photoinboxd property_is photoinboxd ActiveState failed
check "without being tried again" photoinboxd property_is photoinboxd NRestarts 0
eventually "with status 78" photoinboxd journal_has 1 _PID=1 UNIT=photoinboxd.service EXIT_STATUS=78
journalctl --sync
journalctl --quiet --output=cat --unit=photoinboxd >/run/messages
check "saying where" photoinboxd grep -qF 'photoinbox.toml:4' /run/messages
configure '[inbox.card]' 'path = "/srv/photos/card"' '[filing]' 'owner = "nobody"'
refuse "nor where filed photos are to be another user's" photoinboxd systemctl start photoinboxd
journalctl --sync
journalctl --quiet --output=cat --unit=photoinboxd >/run/messages
check "which it could not give them to" photoinboxd grep -q 'owner = "nobody".*CAP_CHOWN' /run/messages
photoinboxd --check >/run/checked 2>&1
check "as a check from a shell says" photoinboxd grep -q 'warning.*owner = "nobody".*CAP_CHOWN' /run/checked
configure '[inbox.card]' 'path = "/srv/photos/card"'
install -d /etc/systemd/system/photoinboxd.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/local/sbin/photoinboxd --colour red\n' \
    >/etc/systemd/system/photoinboxd.service.d/test.conf
systemctl daemon-reload
refuse "nor with a wrong option" photoinboxd systemctl start photoinboxd
check "which has status 64" photoinboxd property_is photoinboxd ExecMainStatus 64
check "and is not tried again either" photoinboxd \
    test "$(property photoinboxd ActiveState) $(property photoinboxd NRestarts)" = "failed 0"
