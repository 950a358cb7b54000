#!/bin/bash
# The control socket inside the hardened unit: for its group only, and passed by photoinboxd.socket.
source "$(dirname "$0")/lib.sh"
install_service
start_service
member() { setpriv --reuid=65534 --regid=_photoinbox --clear-groups "$@"; }
stranger() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

check "the socket is for the group" photoinboxd \
    test "$(stat --format='%a %U %G' /run/photoinbox/control)" = "660 _photoinbox _photoinbox"
check "a member may look" photoinboxd member photoinbox status
check "and pause" photoinboxd member photoinbox pause card
refuse "a stranger may not" photoinboxd stranger photoinbox resume card
drop_photo "$(photo 1)" card one.jpg
check "it is still paused" photoinboxd member photoinbox status
systemctl restart photoinboxd
check "paused over a restart" photoinboxd bash -c 'photoinbox status | grep -q PAUSED'
refuse "nothing was taken" photoinboxd filed one.jpg
check "a member may resume" photoinboxd member photoinbox resume card
eventually "and it is filed" photoinboxd filed one.jpg
check "a filed photo is taken back" photoinboxd member photoinbox undo 1
check "into returned" photoinboxd test -f /srv/photos/returned/card/one.jpg
refuse "and out of the library" photoinboxd filed one.jpg
eventually "the journal knows who asked" photoinboxd \
    journal_has 1 MESSAGE_ID=cd98a501dbcc465e8382f7cd4c5b528e PHOTOINBOX_USER=65534

systemctl stop photoinboxd
systemctl start photoinboxd.socket
check "the socket unit listens" photoinboxd.socket test -S /run/photoinbox/control
check "who asks starts the daemon" photoinboxd photoinbox pause card
# It answers shortly before it reports readiness.
eventually "which took the socket over" photoinboxd systemctl is-active photoinboxd
systemctl stop photoinboxd
check "and leaves it there" photoinboxd.socket test -S /run/photoinbox/control
check "so that it is started again" photoinboxd photoinbox resume card

systemctl stop photoinboxd photoinboxd.socket
groupadd --system photo-operators
sed -i '1i operators = "photo-operators"' /etc/photoinbox/photoinbox.toml
mkdir -p /run/systemd/system/photoinboxd.socket.d
printf '[Socket]\nSocketGroup=photo-operators\n' >/run/systemd/system/photoinboxd.socket.d/operators.conf
systemctl daemon-reload
systemctl start photoinboxd.socket
operator() { setpriv --reuid=65534 --regid=photo-operators --clear-groups "$@"; }
check "members of another group may operate it" photoinboxd operator photoinbox pause card
refuse "and list none of its files" photoinboxd operator ls /run/photoinbox
refuse "members of its own may then not" photoinboxd member photoinbox resume card
