#!/bin/bash
# An inbox in a home directory: hidden from the hardened unit without the drop-in of photoinboxd(8).
source "$(dirname "$0")/lib.sh"
install_service
# Not overlay, as for /srv.
mount -t tmpfs -o mode=755 tmpfs /home
install -d -m 0700 /home/ana /home/ana/Letters
install -d -o _photoinbox -g _photoinbox -m 0755 /home/ana/Pictures /home/ana/Pictures/{inbox,library}
install -d -m 0755 /etc/photoinbox
cat >/etc/photoinbox/photoinbox.toml <<'TOML'
library = "/home/ana/Pictures/library"
[inbox.ana]
path = "/home/ana/Pictures/inbox"
TOML
chmod 0644 /etc/photoinbox/photoinbox.toml

refuse "without the drop-in it does not start" photoinboxd systemctl start photoinboxd
journalctl --sync
eventually "and says what to read" photoinboxd bash -c \
    'journalctl --unit=photoinboxd --output=cat | grep -q "see HOME DIRECTORIES in photoinboxd(8)"'
refuse "and no command for what the unit hides" photoinboxd bash -c \
    'journalctl --unit=photoinboxd --output=cat | grep -q setfacl'

install -d /etc/systemd/system/photoinboxd.service.d
cat >/etc/systemd/system/photoinboxd.service.d/home.conf <<'UNIT'
[Service]
ProtectHome=tmpfs
BindPaths=/home/ana/Pictures
ReadWritePaths=/home/ana/Pictures
UNIT
systemctl daemon-reload
systemctl reset-failed photoinboxd
check "with it, it runs" photoinboxd systemctl start photoinboxd
install -m 0644 "$(photo 1)" /home/ana/Pictures/inbox/.one.part
mv /home/ana/Pictures/inbox/.one.part /home/ana/Pictures/inbox/one.jpg
eventually "and files from there" photoinboxd \
    bash -c 'find /home/ana/Pictures/library -name one.jpg | grep -q .'
check "it sees nothing else there" photoinboxd \
    test "$(ls "/proc/$(property photoinboxd MainPID)/root/home/ana")" = Pictures
systemctl stop photoinboxd
if photoinboxd --accept-library >/run/said 2>&1; then status=0; else status=$?; fi
check "outside of it the service's user is kept out" photoinboxd test $status = 73
check "which is said with the directory and the command that lets it in" photoinboxd grep -F \
    "permission denied to _photoinbox by /home/ana (root:root 0700). Allow it: sudo setfacl -m u:_photoinbox:x /home/ana" \
    /run/said
chmod o+x /home/ana # as that command does; it may not be installed
check "then the library is accepted" photoinboxd photoinboxd --accept-library
