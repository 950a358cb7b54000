#!/bin/bash
# The decoder inside the hardened unit: it confines itself, and a thumbnail of a photo appears.
source "$(dirname "$0")/lib.sh"
install_service
configure '[inbox.card]' 'path = "/srv/photos/card"' '[pictures]' 'enabled = "yes"'
start_service
one=$(find "$repository/Tests/Fixtures" -name rocket.jpg)
drop_photo "$one" card rocket.jpg
eventually "the photo is in the library" photoinboxd filed rocket.jpg
hash=$(sha256sum "$one" | cut -d ' ' -f 1)
eventually "its thumbnail is in the state directory" photoinboxd \
    test -s "/var/lib/photoinbox/thumbnails/${hash:0:2}/$hash-512.jpg"
check "a JPEG" photoinboxd sh -c \
    "[ \"\$(head -c 3 /var/lib/photoinbox/thumbnails/${hash:0:2}/$hash-512.jpg | od -An -tx1 | tr -d ' ')\" = ffd8ff ]"
eventually "of its group too" photoinboxd sh -c \
    "[ \"\$(stat -c '%U %a' /var/lib/photoinbox/thumbnails/${hash:0:2}/$hash-512.jpg)\" = '_photoinbox 640' ]"
photoinbox status --json >/run/status.json
check "the decoder is confined entirely" photoinboxd grep -q '"unconfined": *null' /run/status.json
check "and no problem is told" photoinboxd sh -c '! grep -q PI-11 /run/status.json'
