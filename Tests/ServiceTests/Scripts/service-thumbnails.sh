#!/bin/bash
# The decoder inside the hardened unit: it confines itself and makes a thumbnail, which the pages' unit serves and members
# of the group see; signals for the daemon do not end it.
source "$(dirname "$0")/lib.sh"
install_service
show_toolchain photoinbox-web
configure '[inbox.card]' 'path = "/srv/photos/card"' '[pictures]' 'enabled = "yes"' 'decoders = "1"'
start_service
one=$(find "$repository/Tests/Fixtures" -name rocket.jpg)
drop_photo "$one" card rocket.jpg
eventually "the photo is in the library" photoinboxd filed rocket.jpg
hash=$(sha256sum "$one" | cut -d ' ' -f 1)
has_thumbnail() { test -s "/var/lib/photoinbox/thumbnails/${hash:0:2}/$hash-512.jpg"; }
eventually "its thumbnail is in the state directory" photoinboxd has_thumbnail
check "a JPEG" photoinboxd sh -c \
    "[ \"\$(head -c 3 /var/lib/photoinbox/thumbnails/${hash:0:2}/$hash-512.jpg | od -An -tx1 | tr -d ' ')\" = ffd8ff ]"
eventually "of its group too" photoinboxd sh -c \
    "[ \"\$(stat -c '%U %a' /var/lib/photoinbox/thumbnails/${hash:0:2}/$hash-512.jpg)\" = '_photoinbox 640' ]"
photoinbox status --json >/run/status.json
check "the decoder is confined entirely" photoinboxd grep -q '"unconfined": *null' /run/status.json
check "and no problem is told" photoinboxd sh -c '! grep -q PI-11 /run/status.json'

# `systemctl kill` signals all processes of the service by default. The photo stays in work meanwhile, with
# a stopped decoder.
decoder=$(pgrep --uid _photoinbox --full libexec/photoinbox-decoder)
kill -STOP "$decoder"
hash=$(sha256sum "$(photo 2)" | cut -d ' ' -f 1)
drop_photo "$(photo 2)" card two.jpg
in_work() { photoinbox status --json | grep '"pictures":' | grep -v '"step":"idle"'; }
eventually "the next is in work" photoinboxd in_work
systemctl kill --signal=USR1 photoinboxd
systemctl kill --signal=USR2 photoinboxd
kill -CONT "$decoder"
eventually "signals to all of the service leave it its thumbnail" photoinboxd has_thumbnail
check "and its decoder" photoinboxd test "$(pgrep --uid _photoinbox --full libexec/photoinbox-decoder)" = "$decoder"
check "and the daemon" photoinboxd property_is photoinboxd NRestarts 0
eventually "which has dumped its state" photoinboxd test -s /run/photoinbox/state.json
refuse "and tells of nothing that was killed" photoinboxd journal_has 1 _SYSTEMD_UNIT=photoinboxd.service --grep 'killed by'

# UMask=0077 is for none of what the pages' program has to read.
systemctl start photoinbox-web.socket || broken "the pages' socket is opened" photoinbox-web.socket
web() { # PATH ARGUMENT…
    curl --silent --fail --max-time 30 --unix-socket /run/photoinbox-web/http --cookie /run/jar --cookie-jar /run/jar \
        --header 'X-Photo-Inbox: 1' --header 'Content-Type: application/json' "http://x/$1" "${@:2}"
}
link=$(photoinbox web user add vera | grep -o 'link=[0-9a-f]*')
check "vera sets her password" photoinbox-web \
    web link --data "{\"link\":\"${link#link=}\",\"password\":\"a long password\"}"
thumbnails=/var/lib/photoinbox/thumbnails
served() { web "t/$hash" | cmp - "$thumbnails/${hash:0:2}/$hash-512.jpg"; }
check "the pages serve it" photoinbox-web served
chmod 0700 "$thumbnails" "$thumbnails"/*/
refuse "not out of directories that an earlier version made for the daemon alone" photoinbox-web served
systemctl restart photoinboxd
eventually "which the next start opens to the group" photoinbox-web served
rm "$thumbnails/${hash:0:2}/$hash-512.jpg"
sheet() {
    setpriv --reuid=65534 --regid=65534 --groups=_photoinbox photoinbox sheet --output /tmp/sheet.jpg |
        grep '^/tmp/sheet.jpg: 2 photos, [0-9]'
}
check "a member gets a contact sheet, also of a photo that has no thumbnail" photoinboxd sheet
refuse "which is not kept for it" photoinboxd has_thumbnail
