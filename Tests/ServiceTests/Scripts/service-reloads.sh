#!/bin/bash
# A valid configuration is applied without a restart; an invalid one is refused, and the old one stays.
source "$(dirname "$0")/lib.sh"
install_service
start_service
process=$(property photoinboxd MainPID)
configure '[inbox.card]' 'path = "/srv/photos/card"' '[inbox.phones]' 'path = "/srv/photos/phones"'
check "a good configuration is accepted" photoinboxd systemctl reload photoinboxd
eventually "and comes into force" photoinboxd journal_has 2 "MESSAGE_ID=$message_configuration_loaded"
drop_photo "$(photo 1)" phones one.jpg
eventually "so that a new inbox is filed" photoinboxd filed one.jpg
configure '[inbox.card]' 'path = "/srv/photos/card"' 'colour = "red"'
refuse "a bad configuration fails the reload" photoinboxd systemctl reload photoinboxd
eventually "and status says that a restart would fail" photoinboxd sh -c 'photoinbox status | grep -q PI-101'
eventually "and is refused by the daemon too" photoinboxd journal_has 1 "MESSAGE_ID=$message_configuration_refused"
drop_photo "$(photo 2)" phones two.jpg
eventually "the old configuration stays in force" photoinboxd filed two.jpg
check "in the same process" photoinboxd property_is photoinboxd MainPID "$process"
mkfifo -m 0600 /srv/photos/commands # not the service's
configure '[inbox.card]' 'path = "/srv/photos/card"' '[[descriptor]]' 'name = "commands"' 'fifo = "/srv/photos/commands"'
systemctl kill --signal=HUP --kill-whom=main photoinboxd
eventually "a configuration that cannot be set up is told" photoinboxd journal_has 1 _SYSTEMD_UNIT=photoinboxd.service \
    "MESSAGE_ID=$message_configuration_refused" PRIORITY=3 PHOTOINBOX_REASON=setup
drop_photo "$(photo 3)" phones three.jpg
eventually "and the old one is set up again" photoinboxd filed three.jpg
check "still in the same process" photoinboxd property_is photoinboxd MainPID "$process"
