#!/bin/bash
# Downloads in their own unit, beside a daemon without a network: only operators may ask, and only the inbox can be written.
source "$(dirname "$0")/lib.sh"
install_service
show_toolchain photoinboxd-fetch@
allow() { configure '[inbox.card]' 'path = "/srv/photos/card"' '[fetch]' "$@"; }
allow 'allow-private = ["127.0.0.1"]'
start_service
install -d /run/served
cp "$(photo 1)" /run/served/one.jpg
python3 -m http.server --bind 127.0.0.1 --directory /run/served 8099 >/dev/null 2>&1 &
eventually "there is a server" photoinboxd-fetch.socket python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'
check "the socket is there for the operators" photoinboxd-fetch.socket \
    test "$(stat --format='%a %U %G %F' /run/photoinbox/fetch)" = "660 _photoinbox _photoinbox socket"
ask() { python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("/run/photoinbox/fetch")'; }
export -f ask
refuse "others may not ask" photoinboxd-fetch.socket setpriv --reuid=65534 --regid=65534 --clear-groups bash -c ask
check "a photo is fetched" 'photoinboxd-fetch@*.service' photoinbox fetch http://127.0.0.1:8099/one.jpg
check "by the unit" 'photoinboxd-fetch@*.service' sh -c \
    'journalctl -q -o cat -t photoinbox-fetch | grep -q "1 arrived, 0 failed, 0 cancelled"'
eventually "and filed" photoinboxd filed one.jpg
eventually "nothing is left of it" 'photoinboxd-fetch@*.service' sh -c \
    "[ -z \"\$(systemctl list-units --no-legend 'photoinboxd-fetch@*.service')\" ]"
check "and nothing half done" photoinboxd sh -c '[ -z "$(find /srv/photos/card -name ".photo-inbox-*")" ]'
allow
refuse "this machine is not fetched from, where the configuration does not say so" 'photoinboxd-fetch@*.service' \
    photoinbox fetch http://127.0.0.1:8099/one.jpg
