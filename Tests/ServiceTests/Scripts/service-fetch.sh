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
eventually "by the unit" 'photoinboxd-fetch@*.service' sh -c \
    'journalctl -q -o cat -t photoinbox-fetch | grep -q "1 arrived, 0 failed, 0 cancelled"'
eventually "and filed" photoinboxd filed one.jpg
eventually "nothing is left of it" 'photoinboxd-fetch@*.service' sh -c \
    "[ -z \"\$(systemctl list-units --no-legend 'photoinboxd-fetch@*.service')\" ]"
check "and nothing half done" photoinboxd sh -c '[ -z "$(find /srv/photos/card -name ".photo-inbox-*")" ]'
allow
refuse "this machine is not fetched from, where the configuration does not say so" 'photoinboxd-fetch@*.service' \
    photoinbox fetch http://127.0.0.1:8099/one.jpg

# A list that is dropped into an inbox: the daemon, which has no network, hands it to the same unit.
cp "$(photo 2)" /run/served/two.jpg
cp "$(photo 3)" /run/served/three.jpg
list() { # NAME PHOTO: as somebody who is not the service's user
    printf '# from the press desk\nhttp://127.0.0.1:8099/%s\n' "$2" >"/run/served/$1"
    drop_photo "/run/served/$1" card "$1"
}
allow 'allow-private = ["127.0.0.1"]' 'links = "yes"'
check "lists are taken up from now on" photoinboxd photoinbox reload
list first.links two.jpg
eventually "what a dropped list names is filed" photoinboxd filed two.jpg
eventually "and the list is set aside" photoinboxd test -f /srv/photos/card/.fetched/first.links
systemctl stop photoinboxd-fetch.socket
list second.links three.jpg
told() { # whatever it exits with, a problem makes that another one
    { photoinbox status || true; } | grep 'nothing is downloaded into card' >/dev/null
}
eventually "that nobody fetches is told" photoinboxd told
systemctl start photoinboxd-fetch.socket
check "it is tried again at once" photoinboxd photoinbox reload
eventually "and comes" photoinboxd filed three.jpg
refuse "which is told no more" photoinboxd told
