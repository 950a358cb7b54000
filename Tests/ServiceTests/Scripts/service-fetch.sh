#!/bin/bash
# Downloads in their own unit, beside a daemon without a network: only for operators, and with write access to the inbox only.
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
check "with a user of its own" 'photoinboxd-fetch@*.service' sh -c \
    'journalctl -q -o cat -t photoinbox-fetch _UID="$(id -u _photoinbox-fetch)" | grep -q "1 arrived"'
eventually "and filed" photoinboxd filed one.jpg
check "proven by a lease, as other people's photos are" photoinboxd sh -c 'photoinbox show 1 | grep -q "no writer left (lease)"'
eventually "nothing is left of it" 'photoinboxd-fetch@*.service' sh -c \
    "[ -z \"\$(systemctl list-units --no-legend 'photoinboxd-fetch@*.service')\" ]"
check "and nothing half done" photoinboxd sh -c '[ -z "$(find /srv/photos/card -name ".photo-inbox-*")" ]'

# Probes the access of a compromised program: in the unit, and as that user outside the unit.
cat >/run/probe <<'PROBE'
#!/bin/bash
see() { if "${@:2}" >/dev/null 2>&1; then printf '%s ' "$1"; fi; }
reach() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1"; }
see inbox touch "/srv/photos/card/.probe.$$"
see elsewhere test -r /srv/elsewhere/photo.jpg
see library ls /srv/photos/library
see state ls /var/lib/photoinbox
see catalogue head -c 1 /var/lib/photoinbox/catalogue.sqlite
see control reach /run/photoinbox/control
see hooks reach /run/photoinbox/hooks
see fetch reach /run/photoinbox/fetch
echo end
PROBE
chmod 0755 /run/probe
install -D -m 0644 "$(photo 1)" /srv/elsewhere/photo.jpg
as_downloader() { setpriv --reuid=_photoinbox-fetch --regid=_photoinbox --clear-groups -- "$@"; }
export -f as_downloader
check "its group could read and ask more" photoinboxd test \
    "$(as_downloader /run/probe)" = "inbox elsewhere library state catalogue control fetch end"
change() { # LINE…: a drop-in for the unit
    install -d /etc/systemd/system/photoinboxd-fetch@.service.d
    printf '%s\n' '[Service]' "$@" >/etc/systemd/system/photoinboxd-fetch@.service.d/probe.conf
    systemctl daemon-reload
}
change ExecStart= ExecStart=/run/probe
ask
eventually "of which the unit leaves what is writable" 'photoinboxd-fetch@*.service' sh -c \
    '[ "$(journalctl -q -o cat -t probe)" = "inbox elsewhere end" ]'
rm -f /srv/photos/card/.probe.*
check "and the daemon takes no orders from it" photoinboxd bash -c \
    'as_downloader photoinbox pause card 2>&1 | grep -q "may only look"'
# A library may be elsewhere: probes the access inside the program when it connects.
cat >/run/probe.c <<'PROBE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
int connect(int fd, const struct sockaddr *address, socklen_t length) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    if (address->sa_family == AF_INET)
        fprintf(stderr, "elsewhere %d, system %d\n", open("/srv/elsewhere/photo.jpg", O_RDONLY) >= 0,
                open("/etc/passwd", O_RDONLY) >= 0);
    return real(fd, address, length);
}
PROBE
"$(command -v cc || command -v clang)" -shared -fPIC -o /run/probe.so /run/probe.c -ldl
change Environment=LD_PRELOAD=/run/probe.so
check "the program fetches" 'photoinboxd-fetch@*.service' photoinbox fetch http://127.0.0.1:8099/one.jpg
eventually "and sees nothing but the inbox" 'photoinboxd-fetch@*.service' sh -c \
    'journalctl -q -o cat -t photoinbox-fetch | grep -qx "elsewhere 0, system 1"'
rm -r /etc/systemd/system/photoinboxd-fetch@.service.d/probe.conf
systemctl daemon-reload
allow
refuse "this machine is not fetched from, where the configuration does not say so" 'photoinboxd-fetch@*.service' \
    photoinbox fetch http://127.0.0.1:8099/one.jpg

# A list in an inbox: the daemon, which has no network, passes it to the same unit. The inbox is set up for
# a group, with the set-group-ID bit, which the units may not set.
groupadd desk
usermod --append --groups desk _photoinbox
usermod --append --groups desk _photoinbox-fetch
chgrp desk /srv/photos/card
chmod 2775 /srv/photos/card
cp "$(photo 2)" /run/served/two.jpg
cp "$(photo 3)" /run/served/three.jpg
list() { # NAME PHOTO: as one of that group
    printf '# from the press desk\nhttp://127.0.0.1:8099/%s\n' "$2" >"/run/served/$1"
    setpriv --reuid=65534 --regid=desk --clear-groups cp "/run/served/$1" "/srv/photos/card/$1"
}
allow 'allow-private = ["127.0.0.1"]' 'links = "yes"'
check "lists are taken up from now on" photoinboxd systemctl restart photoinboxd
list first.links two.jpg
eventually "what a dropped list names is filed" photoinboxd filed two.jpg
eventually "and the list is set aside" photoinboxd test -f /srv/photos/card/.fetched/first.links
check "in a directory that is for the same people" photoinboxd test "$(stat -c '%A %G' /srv/photos/card/.fetched)" = "drwxrwsr-x desk"
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
refuse "no directory of downloads could not be read" photoinboxd journal_has 1 PHOTOINBOX_PROBLEM=PI-205
