#!/bin/bash
# Installed and started as in the README, the service files a photo that another user dropped, and logs it.
source "$(dirname "$0")/lib.sh"
install_service
start_service
check "active when ready" photoinboxd systemctl is-active photoinboxd
check "runs as its own user" photoinboxd property_is photoinboxd User _photoinbox
eventually "says ready in the journal" photoinboxd journal_has 1 "MESSAGE_ID=$message_ready"
eventually "has a status text" photoinboxd sh -c '[ -n "$(systemctl show --value -p StatusText photoinboxd)" ]'
one=$(photo 1)
drop_photo "$one" card one.jpg
eventually "the photo is in the library" photoinboxd filed one.jpg
check "with the same bytes" photoinboxd cmp "$one" "$(find /srv/photos/library -name one.jpg)"
eventually "and gone from the inbox" photoinboxd test ! -e /srv/photos/card/one.jpg
eventually "the journal has it by kind" photoinboxd journal_has 1 "MESSAGE_ID=$message_filed" _SYSTEMD_UNIT=photoinboxd.service
eventually "with its hash" photoinboxd journal_has 1 "MESSAGE_ID=$message_filed" \
    "PHOTOINBOX_SHA256=$(sha256sum "$one" | cut -d ' ' -f 1)"
journalctl --quiet --output=cat --output-fields=PHOTOINBOX_FILE "MESSAGE_ID=$message_filed" >/run/files
check "and its name" photoinboxd grep -q 'one\.jpg' /run/files
# Proven by a lease on another user's file; without CAP_LEASE the quiet time would decide.
eventually "proven by a lease, not by waiting" photoinboxd sh -c \
    "journalctl --quiet --output=cat --output-fields=PHOTOINBOX_PROOF MESSAGE_ID=$message_filed | grep -q '(lease)'"
check "nobody but the daemon speaks in its journal" photoinboxd sh -c \
    '[ -z "$(journalctl --quiet --output=cat _TRANSPORT=stdout _SYSTEMD_UNIT=photoinboxd.service _COMM=photoinboxd |
        grep -v ": configuration OK$")" ]'
eventually "photoinbox log has it by its name" photoinboxd sh -c 'photoinbox log card/one.jpg -- --no-pager | grep -q filed'
eventually "and by its number" photoinboxd sh -c 'photoinbox log 1 -- --no-pager --output=cat | grep -q "filed card/one.jpg"'
drop_photo "$one" card again.jpg
eventually "its equal goes to the duplicates" photoinboxd test -e /srv/photos/duplicates/card/again.jpg
head -c "$(($(stat -c %s "$(photo 3)") / 2))" "$(photo 3)" >/run/short.jpg
configure '[inbox.card]' 'path = "/srv/photos/card"' 'patience = "1s"'
systemctl reload photoinboxd
drop_photo /run/short.jpg card short.jpg
eventually "a truncated one goes to the quarantine" photoinboxd test -e /srv/photos/quarantine/card/short.jpg
eventually "and says why beside it, for the group too" photoinboxd \
    setpriv --reuid=65534 --regid=_photoinbox --clear-groups cat /srv/photos/quarantine/card/short.jpg.reason.txt
setpriv --reuid=65534 --regid=65534 --clear-groups \
    sh -c 'exec 3>/srv/photos/card/slow.jpg; cat "$1" >&3; read -r _' sh "$(photo 2)" < <(
        # The end of this stream ends the writer, once later files are filed.
        drop_photo "$(photo 3)" card later.jpg
        eventually "what came after a slow writer's file is filed before it" photoinboxd filed later.jpg >/run/later
        ! filed slow.jpg || echo "filed under the writer's hands" >>/run/later
    ) || true
cat /run/later
eventually "the slow one once it is closed" photoinboxd filed slow.jpg
check "the catalogue is for the service and its group" photoinboxd \
    sh -c '[ "$(stat -c "%U %a" /var/lib/photoinbox/catalogue.sqlite)" = "_photoinbox 640" ]'
# A library that is for a group.
groupadd --system family
usermod -aG family _photoinbox
chgrp family /srv/photos/library
chmod 2775 /srv/photos/library
configure '[inbox.card]' 'path = "/srv/photos/card"' '[filing]' 'group = "family"' 'mode = "0660"' \
    'layout = "shared/{year}/{name}"'
systemctl restart photoinboxd
drop_photo "$(photo 4)" card shared.jpg
eventually "a photo is filed for the group that the configuration names" photoinboxd filed shared.jpg
check "which it belongs to" photoinboxd test \
    "$(find /srv/photos/library/shared -type f -printf '%u:%g %m')" = "_photoinbox:family 660"
check "as do its new directories, which keep the set-group-ID bit" photoinboxd test \
    "$(find /srv/photos/library/shared -type d -printf '%g %m ')" = "family 2770 family 2770 "
# Without group in the configuration, too, by the library's bit alone.
configure '[inbox.card]' 'path = "/srv/photos/card"' '[filing]' 'mode = "0664"' 'layout = "open/{year}/{name}"'
systemctl restart photoinboxd
drop_photo "$(photo 5)" card open.jpg
eventually "it is so by the library's bit alone" photoinboxd filed open.jpg
check "for photos and directories" photoinboxd test \
    "$(find /srv/photos/library/open -printf '%g %m ' | sort -u)" = "family 2775 family 2775 family 664 "
lasts() { # UNIT
    [ "$(systemctl show --property=OOMPolicy,StartLimitIntervalUSec,RestartPreventExitStatus "$1" | sort | paste -sd ' ')" = \
        "OOMPolicy=continue RestartPreventExitStatus=64 78 StartLimitIntervalUSec=0" ]
}
check "no decoder that is killed for memory ends it, and no try to start is the last" photoinboxd lasts photoinboxd
check "nor for an instance" photoinboxd@studio lasts photoinboxd@studio
