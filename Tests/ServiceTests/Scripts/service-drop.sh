#!/bin/bash
# Photos that are sent to the pages: through photoinbox-web to photoinbox-drop, each in its own unit, into one inbox, and filed.
source "$(dirname "$0")/lib.sh"
install_service
show_toolchain photoinbox-web photoinbox-drop
install -d -o _photoinbox -g _photoinbox -m 2775 /srv/photos/phones
inboxes=('[inbox.card]' 'path = "/srv/photos/card"' '[inbox.phones]' 'path = "/srv/photos/phones"')
configure "${inboxes[@]}"
start_service
systemctl start photoinbox-web.socket || broken "the socket is opened" photoinbox-web.socket
check "with the pages' socket there is one for uploads, for the pages alone" photoinbox-drop.socket \
    test "$(stat --format='%a %U %G %F' /run/photoinbox-drop/http)" = "660 root _photoinbox-web socket"

web() { # PERSON PATH ARGUMENT…
    curl --silent --fail --max-time 60 --unix-socket /run/photoinbox-web/http --cookie "/run/$1" --cookie-jar "/run/$1" \
        --header 'X-Photo-Inbox: 1' "http://x/$2" "${@:3}"
}
shows() { web "$1" "$2" | grep -- "$3"; }
add() { # PERSON ROLE: who signs in
    local link
    link=$(photoinbox web user add "$1" --role "$2" | grep -o 'link=[0-9a-f]*')
    web "$1" link --header 'Content-Type: application/json' \
        --data "{\"link\":\"${link#link=}\",\"password\":\"a long password\"}"
}
send() { web "$1" "up/$3" --upload-file "$2" "${@:4}"; } # PERSON FILE NAME ARGUMENT…
check "ana sends, vera sees" photoinbox-web eval 'add ana sender && add vera viewer'
check "without an inbox for it the page is told what to add" photoinbox-web shows ana api/drop 'missing.*web'
refuse "and nothing can be sent" photoinbox-web send ana "$(photo 1)" one.jpg
refuse "nor runs anything for it" photoinbox-drop systemctl is-active --quiet photoinbox-drop

configure "${inboxes[@]}" '[web]' 'inbox = "phones"'
systemctl reload photoinboxd
systemctl restart photoinbox-web
check "with one it is told which" photoinbox-drop shows ana api/drop '"inbox":"phones"'
check "by a user of its own" photoinbox-drop \
    test "$(ps -o user:20= -p "$(property photoinbox-drop MainPID)" | tr -d ' ')" = _photoinbox-drop
check "ana sends a photo" photoinbox-drop send ana "$(photo 1)" one.jpg
eventually "it is filed" photoinboxd filed one.jpg
came_from() { journalctl -q -o cat -t photoinboxd | grep 'filed phones/ana/[0-9-]*/one.jpg as '; }
eventually "out of her own directory of the day" photoinboxd came_from
refuse "vera sends nothing" photoinbox-web send vera "$(photo 2)" vera.jpg
refuse "nor does a stranger" photoinbox-web send eve "$(photo 2)" eve.jpg
refuse "nor a script of another site" photoinbox-web send ana "$(photo 2)" site.jpg --header 'Sec-Fetch-Site: cross-site'
refuse "whom a browser names is nobody" photoinbox-web send eve "$(photo 2)" name.jpg --header 'Remote-User: ana'

guest() { # FILE NAME: by the link of oma
    curl --silent --fail --max-time 60 --unix-socket /run/photoinbox-web/http --upload-file "$1" "http://x/$token/up/$2"
}
token=$(photoinbox web link add oma --until 2099-12-31 | grep -o 'd/[0-9a-f]*')
check "a guest sends a photo by a link" photoinbox-drop guest "$(photo 2)" two.jpg
eventually "it is filed, too" photoinboxd filed two.jpg
photoinbox web link remove oma
refuse "and nothing once the link is removed" photoinbox-drop guest "$(photo 3)" three.jpg

dav() { # ARGUMENT…: with the password of pia's phone
    curl --silent --fail --max-time 60 --unix-socket /run/photoinbox-web/http --user "pia:$password" "$@"
}
photoinbox web user add pia --role sender >/dev/null
password=$(photoinbox web device add pia phone | grep -E '^[0-9a-z]{4}-')
check "a phone sends a photo by WebDAV" photoinbox-drop dav --upload-file "$(photo 5)" http://x/dav/five.jpg
eventually "it is filed, too" photoinboxd filed five.jpg
listed() { dav --request PROPFIND --header 'Depth: 1' http://x/dav/ | grep -F '<D:href>/dav/five.jpg</D:href>'; }
systemctl stop photoinbox-drop.service
check "and still listed, by a program that starts anew" photoinbox-drop listed
photoinbox web user add pia --role viewer >/dev/null
refuse "not for whoever may not send any more" photoinbox-web dav http://x/dav/
photoinbox web user add pia --role sender >/dev/null
photoinbox web device remove pia phone
refuse "nor without its password" photoinbox-drop dav http://x/dav/

direct() { # USER GROUP: names ana to photoinbox-drop without the pages
    setpriv --reuid="$1" --regid="$2" --clear-groups -- curl --silent --fail --max-time 60 \
        --unix-socket /run/photoinbox-drop/http --header 'Remote-User: ana' http://x/up/about
}
export -f direct
refuse "nobody else may connect to it" photoinbox-drop direct 65534 65534
check "the pages may" photoinbox-drop direct _photoinbox-web _photoinbox-web
refuse "and root names nobody" photoinbox-drop direct root root
as_drop() { setpriv --reuid=_photoinbox-drop --regid=_photoinbox --clear-groups -- "$@"; }
export -f as_drop
refuse "its user operates nothing" photoinboxd as_drop photoinbox pause card

# What a program that was taken over reaches: in the unit, then by what it gave up.
photoinbox pause phones >/dev/null
install -o nobody -g _photoinbox -m 0664 "$(photo 3)" /srv/photos/phones/three.jpg
change() { # LINE…: a drop-in for the unit
    install -d /etc/systemd/system/photoinbox-drop.service.d
    printf '%s\n' '[Service]' "$@" >/etc/systemd/system/photoinbox-drop.service.d/probe.conf
    systemctl daemon-reload
    systemctl restart photoinbox-drop || true
}
python3 -m http.server --bind 127.0.0.1 --directory /run 8099 >/dev/null 2>&1 &
connects() { python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'; }
eventually "there is a server" photoinbox-drop connects
cat >/run/probe <<'PROBE'
#!/bin/bash
see() { if "${@:2}" >/dev/null 2>&1; then printf '%s ' "$1"; fi; }
reach() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1"; }
see library ls /srv/photos/library
see catalogue head -c 1 /var/lib/photoinbox/catalogue.sqlite
see links touch /etc/photoinbox/web.links
see network python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'
see fetch reach /run/photoinbox/fetch
see hooks reach /run/photoinbox/hooks
see pages reach /run/photoinbox-web/http
see control reach /run/photoinbox/control
see inbox mkdir /srv/photos/phones/probe
echo end
PROBE
chmod 0755 /run/probe
change ExecStart= ExecStart=/run/probe Type=oneshot
eventually "of what its group may do the unit leaves the inboxes" photoinbox-drop sh -c \
    '[ "$(journalctl -q -o cat -t probe)" = "control inbox end" ]'
cat >/run/probe.c <<'PROBE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#define PHONES "/srv/photos/phones/"
#define OWN PHONES ".photo-inbox-drop/"
int connect(int fd, const struct sockaddr *address, socklen_t length) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    int own = open(OWN "probe", O_RDWR | O_CREAT, 0600);
    fprintf(stderr, "own %d, list %d, read %d, write %d, remove %d, take %d, replace %d, card %d\n", own >= 0,
            open(PHONES, O_RDONLY | O_DIRECTORY) >= 0, open(PHONES "three.jpg", O_RDONLY) >= 0,
            open(PHONES "three.jpg", O_WRONLY) >= 0, !unlink(PHONES "three.jpg"),
            !rename(PHONES "three.jpg", OWN "taken"), !rename(OWN "probe", PHONES "three.jpg"),
            open("/srv/photos/card", O_RDONLY | O_DIRECTORY) >= 0);
    unlink(OWN "probe");
    close(own);
    return real(fd, address, length);
}
PROBE
"$(command -v cc || command -v clang)" -shared -fPIC -o /run/probe.so /run/probe.c -ldl
change Environment=LD_PRELOAD=/run/probe.so
check "the program answers" photoinbox-drop shows ana api/drop '"daemon":true'
eventually "and can read and change no photo, not even in its inbox" photoinbox-drop sh -c \
    'journalctl -q -o cat -t photoinbox-drop | grep -q "^own 1, list 1, read 0, write 0, remove 0, take 0, replace 0, card 0$"'
check "into which it puts another" photoinbox-drop send ana "$(photo 4)" four.jpg
rm -r /etc/systemd/system/photoinbox-drop.service.d/probe.conf
systemctl daemon-reload
photoinbox resume phones >/dev/null
eventually "so that it is filed" photoinboxd filed four.jpg

mv /srv/photos/phones /srv/photos/elsewhere
systemctl restart photoinbox-drop || true
reason() { [ "$(web ana api/drop --output /dev/null --write-out '%{http_code}' || true)" = 503 ]; }
check "without the inbox who comes is told so" photoinbox-drop reason
mv /srv/photos/elsewhere /srv/photos/phones
eventually "and served once it is there" photoinbox-drop shows ana api/drop '"inbox":"phones"'

ended() { timeout 120 sh -c 'while systemctl is-active --quiet photoinbox-drop; do sleep 0.2; done'; }
check "it ends when nobody has been there for a minute" photoinbox-drop ended
check "as if nothing had happened" photoinbox-drop property_is photoinbox-drop Result success
systemctl stop photoinbox-web.socket
refuse "without the pages' socket there is none for uploads" photoinbox-drop.socket test -e /run/photoinbox-drop/http
