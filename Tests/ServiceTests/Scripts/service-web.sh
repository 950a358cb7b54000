#!/bin/bash
# The pages in their own unit: started by a connection, for the people of web.users, without a network and without inboxes.
source "$(dirname "$0")/lib.sh"
install_service
show_toolchain photoinbox-web
configure '[inbox.card]' 'path = "/srv/photos/card"' 'patience = "1s"'
start_service
drop_photo "$(photo 1)" card one.jpg
printf '<html>' >/run/scan.jpg
drop_photo /run/scan.jpg card scan.jpg
eventually "a photo is filed" photoinboxd filed one.jpg
systemctl start photoinbox-web.socket || broken "the socket is opened" photoinbox-web.socket
check "the socket is there for the proxy" photoinbox-web.socket \
    test "$(stat --format='%a %U %G %F' /run/photoinbox-web/http)" = "660 root www-data socket"
refuse "nothing runs before somebody comes" photoinbox-web systemctl is-active --quiet photoinbox-web
web() { # PATH ARGUMENT…
    curl --silent --fail --max-time 30 --unix-socket /run/photoinbox-web/http --cookie /run/jar --cookie-jar /run/jar \
        --header 'X-Photo-Inbox: 1' --header 'Content-Type: application/json' "http://x/$1" "${@:2}"
}
shows() { web "$1" | grep -- "$2"; }
check "who comes gets the page" photoinbox-web shows "" '<title>photo-inbox</title>'
refuse "and nothing else" photoinbox-web web decisions
check "by a user of its own" photoinbox-web test "$(ps -o user:20= -p "$(property photoinbox-web MainPID)" | tr -d ' ')" = _photoinbox-web

link=$(photoinbox web user add ana --role operator | grep -o 'link=[0-9a-f]*')
check "ana sets her password" photoinbox-web web link --data "{\"link\":\"${link#link=}\",\"password\":\"a long password\"}"
refuse "once" photoinbox-web web link --data "{\"link\":\"${link#link=}\",\"password\":\"another password\"}"
check "and signs in with it" photoinbox-web web session --data '{"name":"ana","password":"a long password"}'
eventually "she sees what is quarantined" photoinbox-web shows decisions scan.jpg
quarantined() { web "quarantined/$(web decisions | grep -o '"operation":[0-9]*' | head -n 1 | tr -dc 0-9)" | cmp - /run/scan.jpg; }
eventually "and opens it" photoinbox-web quarantined
timeline() { # the address of its newest photo
    local day
    # How much older it is than day 2^31, seven bits a byte.
    day=$(web days | od -An -v -tu1 -w1 | awk 'BEGIN { weight = 1 }
        { older += $1 % 128 * weight; weight *= 128 }
        $1 < 128 && !day { day = 2147483648 - older; printf "%d", day }')
    web "tiles?day=$day&from=0&count=1" >/run/tile
    printf '%s-%s' "$(od -An -tu4 -N4 /run/tile | tr -d ' ')" "$(od -An -tx1 -j4 -N4 /run/tile | tr -d ' ')"
}
original() { web "o/$(timeline)" | cmp - "$(find /srv/photos/library -type f -name one.jpg)"; }
check "she downloads a photo from the library" photoinbox-web original
told() { shows "photo/$(timeline)" '"verdict":"in-library"'; }
check "and is told what is known of it" photoinbox-web told
found() { [ "$(web 'search?name=one' | wc -c)" = 16 ]; }
check "she finds it" photoinbox-web found
state() { # whatever curl ends with: the stream goes on
    { web live --max-time 2 || true; } | grep '"phase":"running"'
}
check "and the state" photoinbox-web state
act() { web action --data "{\"version\":1,$1}"; }
check "she pauses an inbox" photoinbox-web act '"do":"pause","inbox":"card"'
paused() { { photoinbox status || true; } | grep 'PAUSED .* by ana (web)'; }
check "in her own name" photoinboxd paused
eventually "which the journal has" photoinboxd sh -c 'journalctl -q -o cat -t photoinboxd | grep -q "asked by ana (web)"'
number=$(photoinbox list --outcome quarantined --json | grep -o '"operation":[0-9]*' | head -n 1)
check "it is discarded" photoinbox-web act "\"do\":\"discard\",$number"
refuse "and is not there any more" photoinbox-web shows decisions scan.jpg
as_pages() { setpriv --reuid=_photoinbox-web --regid=_photoinbox-web --groups=_photoinbox -- "$@"; }
export -f as_pages
check "without a person its user may only look" photoinboxd bash -c \
    'as_pages photoinbox resume card 2>&1 | grep -q "may only look"'

named() { # USER: whom a proxy of this user names
    setpriv --reuid="$1" --regid=www-data --clear-groups -- curl --silent --fail --max-time 30 \
        --unix-socket /run/photoinbox-web/http --header "Remote-User: $2" http://x/person
}
change() { # LINE…: a drop-in for the unit
    install -d /etc/systemd/system/photoinbox-web.service.d
    printf '%s\n' '[Service]' "$@" >/etc/systemd/system/photoinbox-web.service.d/probe.conf
    systemctl daemon-reload
    systemctl restart photoinbox-web || true
}
refuse "a proxy that is not trusted names nobody" photoinbox-web named www-data ana
change ExecStart= 'ExecStart=/usr/local/libexec/photoinbox-web --proxy-user www-data'
check "whom a trusted one names is signed in" photoinbox-web named www-data ana
refuse "if the name exists" photoinbox-web named www-data eve
refuse "and whom others name is not" photoinbox-web named 65534 ana

# What a program that was taken over reaches: in the unit.
install -d -o _photoinbox -g _photoinbox -m 2775 /srv/photos/inbox
install -m 0644 "$(photo 2)" /srv/photos/inbox/two.jpg
python3 -m http.server --bind 127.0.0.1 --directory /run 8099 >/dev/null 2>&1 &
connects() { python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'; }
eventually "there is a server" photoinbox-web connects
cat >/run/probe <<'PROBE'
#!/bin/bash
see() { if "${@:2}" >/dev/null 2>&1; then printf '%s ' "$1"; fi; }
reach() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' "$1"; }
see inbox cat /srv/photos/inbox/two.jpg
see original grep -rq . /srv/photos/library
see library touch /srv/photos/library/.probe
see records touch /var/lib/photoinbox/.probe
see people touch /etc/photoinbox/web.users
see network python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'
see fetch reach /run/photoinbox/fetch
see hooks reach /run/photoinbox/hooks
see catalogue head -c 1 /var/lib/photoinbox/catalogue.sqlite
see control reach /run/photoinbox/control
see own touch "$STATE_DIRECTORY/.probe"
echo end
PROBE
chmod 0755 /run/probe
change ExecStart= ExecStart=/run/probe Type=oneshot
eventually "of what its group may do the unit leaves reading, and its own state" photoinbox-web sh -c \
    '[ "$(journalctl -q -o cat -t probe)" = "original catalogue control own end" ]'

# Inboxes may be elsewhere: probes the access inside the program when it asks the daemon.
cat >/run/probe.c <<'PROBE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
int connect(int fd, const struct sockaddr *address, socklen_t length) {
    int (*real)(int, const struct sockaddr *, socklen_t) = dlsym(RTLD_NEXT, "connect");
    fprintf(stderr, "inbox %d, system %d, library %d, in it %d\n", open("/srv/photos/card/three.jpg", O_RDONLY) >= 0,
            open("/etc/passwd", O_RDONLY) >= 0, open("/srv/photos/library", O_RDONLY) >= 0,
            open("/srv/photos/library/.probe", O_WRONLY | O_CREAT, 0600) >= 0);
    return real(fd, address, length);
}
PROBE
"$(command -v cc || command -v clang)" -shared -fPIC -o /run/probe.so /run/probe.c -ldl
drop_photo "$(photo 3)" card three.jpg
change Environment=LD_PRELOAD=/run/probe.so
check "the program answers" photoinbox-web state
eventually "and sees the library, and no inbox" photoinbox-web sh -c \
    'journalctl -q -o cat -t photoinbox-web | grep -q "^inbox 0, system 1, library 1, in it 0$"'
rm -r /etc/systemd/system/photoinbox-web.service.d/probe.conf
systemctl daemon-reload

systemctl restart photoinbox-web || true
ended() { timeout 120 sh -c 'while systemctl is-active --quiet photoinbox-web; do sleep 0.2; done'; }
check "it ends when nobody has been there for a minute" photoinbox-web ended
check "as if nothing had happened" photoinbox-web property_is photoinbox-web Result success
check "and whoever comes then is served" photoinbox-web shows person '"ana"'
