#!/bin/bash
# Cards that are mounted after the hardened service has started: whether it sees them, and what it may read.
source "$(dirname "$0")/lib.sh"
install_service
# As systemd does on machines that are not containers: mounts propagate to the services' namespaces.
mount --make-rshared /
configure '[inbox.card]' 'path = "/srv/photos/card"' '[cards]' 'import = "yes"'
# As shared directories are; RestrictSUIDSGID= forbids giving a directory such a mode.
chmod 2775 /srv/photos/card
start_service

install -d /run/stage /run/private /media/EOS /media/private
mount -t tmpfs -o mode=755 stage /run/stage
install -d -m 0755 /run/stage/DCIM /run/stage/DCIM/100CANON
for number in 1 2 3; do
    install -m 0644 "$(photo "$number")" "/run/stage/DCIM/100CANON/IMG_$number.JPG"
done
before=$(cd /run/stage && find . -type f -exec sha256sum {} + | sort)
mount --bind /run/stage /media/EOS
eventually "a card that is mounted later is imported" photoinboxd \
    journal_has 1 MESSAGE_ID=4ab7f59ac57241df9c1210953f01d200
eventually "after the journal has told of it" photoinboxd \
    journal_has 1 MESSAGE_ID=2d49f75843264bb1a3a50e251e6fe836 PHOTOINBOX_CARD=/media/EOS
eventually "its photos are filed" photoinboxd journal_has 3 "MESSAGE_ID=$message_filed"
check "nothing was changed on it" photoinboxd \
    test "$before" = "$(cd /media/EOS && find . -type f -exec sha256sum {} + | sort)"
check "status tells" photoinboxd bash -c 'photoinbox status | grep -q "card  /media/EOS: imported"'
check "it can be unmounted while the service runs" photoinboxd umount /media/EOS
check "and is gone for the service, too" photoinboxd \
    bash -c "! grep -q ' /media/EOS ' /proc/$(property photoinboxd MainPID)/mountinfo"
mount --bind /run/stage /media/EOS
eventually "mounted again there is nothing new" photoinboxd \
    journal_has 1 MESSAGE_ID=4ab7f59ac57241df9c1210953f01d200 PHOTOINBOX_KNOWN=3 PHOTOINBOX_COPIED=0

# As a desktop mounts a card: for one user only.
mount -t tmpfs -o mode=700 private /run/private
install -d -m 0755 /run/private/DCIM
mount --bind /run/private /media/private
eventually "what its user may not read is told, and left" photoinboxd bash -c \
    'journalctl --sync; journalctl --unit=photoinboxd --output=cat |
        grep -q "mounted at /media/private cannot be looked at: .*ermission denied"'
check "and it stays active" photoinboxd property_is photoinboxd ActiveState active
