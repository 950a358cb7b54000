#!/bin/bash
# Killed repeatedly while photos arrive; each is filed once.
source "$(dirname "$0")/lib.sh"
install_service
install -d /etc/systemd/system/photoinboxd.service.d
printf '[Service]\nRestartSec=0\n' >/etc/systemd/system/photoinboxd.service.d/test.conf
systemctl daemon-reload
start_service
photos=60
one=$(photo 1)
pour() { # with a comment of its own each is another photo
    local number
    for number in $(seq -w $photos); do
        { head -c 2 "$one"; printf '\xff\xfe\x00\x06%4s' "$number"; tail -c +3 "$one"; } >/run/next.jpg
        drop_photo /run/next.jpg card "IMG_$number.jpg"
    done
}
at_least() { [ "$(find /srv/photos/library -type f -name 'IMG_*.jpg' ! -name '.*' | wc -l)" -ge "$1" ]; }
export -f at_least
pour &
killed=0
for round in 1 2 3 4 5; do
    eventually "some are filed, and it is killed ($round)" photoinboxd at_least $((round * 10 - 9))
    until process=$(property photoinboxd MainPID) && [ "$process" != 0 ] && [ "$process" != "$killed" ]; do sleep 0.05; done
    kill -KILL "$process"
    killed=$process
done
wait %1
eventually "all are filed" photoinboxd at_least $photos
eventually "the inbox is empty" photoinboxd sh -c '[ -z "$(ls /srv/photos/card)" ]'
check "none twice" photoinboxd sh -c \
    "[ \"\$(find /srv/photos/library -type f | xargs sha256sum | cut -d ' ' -f 1 | sort -u | wc -l)\" = $photos ] &&
     [ \"\$(find /srv/photos/library -type f | wc -l)\" = $photos ]"
check "none is a duplicate, none set aside" photoinboxd sh -c \
    '[ -z "$(find /srv/photos/duplicates /srv/photos/quarantine -type f 2>/dev/null)" ]'
check "each has its row" photoinboxd sh -c \
    "[ \"\$(sqlite3 -readonly /var/lib/photoinbox/catalogue.sqlite 'select count(*) from photo')\" = $photos ]"
check "it was killed and came back" photoinboxd test "$(property photoinboxd NRestarts)" -ge 3
