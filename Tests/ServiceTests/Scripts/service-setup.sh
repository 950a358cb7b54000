#!/bin/bash
# `photoinbox setup` as root on a machine with the programs and nothing else, for people who drop locally; then an inbox in a
# home directory, by the commands that it prints.
source "$(dirname "$0")/lib.sh"
open_toolchain
gather_programs
make --silent --directory="$repository" install release=/run/built
show_toolchain photoinboxd
systemctl daemon-reload
# File systems other than overlay, on which leases show writers.
mount -t tmpfs -o mode=755 tmpfs /srv
mount -t tmpfs -o mode=755 tmpfs /home
useradd --uid 4711 --create-home ana
chmod 0700 /home/ana
as_ana() { setpriv --reuid=ana --regid=ana --init-groups --inh-caps=-all -- "$@"; }
local_people=(--for local --as ana --group photos --inbox /srv/photos/inbox --library /srv/photos/library)
listing() { find /srv/photos /etc/photoinbox -not -name '*photo-inbox*' -printf '%p %u:%g %m\n' | sort; }
own=(--for me --as ana --inbox-name own --inbox /home/ana/Pictures/inbox --library /srv/photos/library)

photoinbox setup --dry-run "${local_people[@]}" >/run/dry
refuse "a dry run makes no directory" photoinboxd test -e /srv/photos
refuse "and no user" photoinboxd id _photoinbox
if photoinbox setup --yes --for local --inbox /srv/photos/inbox >/run/said 2>&1; then status=0; else status=$?; fi
check "what was not said is named" photoinboxd test "$status $(cat /run/said)" = \
    "64 photoinbox: there is no terminal to ask on. Give --library, --as."

check "it is set up and tested" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes "${local_people[@]}"
check "by a photo of a person" photoinboxd grep -q '^test  a photo that ana dropped was filed as 20' /run/said
check "the service runs" photoinboxd systemctl is-active photoinboxd
check "and is enabled" photoinboxd systemctl is-enabled photoinboxd
check "as its own user" photoinboxd test "$(ps -o user:20= -p "$(property photoinboxd MainPID)")" = _photoinbox
check "of the test photo nothing is left" photoinboxd test -z "$(find /srv/photos -type f)"
umask 077
as_ana mkdir /srv/photos/inbox/holiday
as_ana cp "$(photo 1)" /srv/photos/inbox/holiday/one.jpg
umask 022
eventually "a person's directory is filed, whatever her umask" photoinboxd filed one.jpg
eventually "and taken out of the inbox" photoinboxd test ! -e /srv/photos/inbox/holiday/one.jpg
refuse "a stranger cannot drop" photoinboxd drop_photo "$(photo 2)" inbox two.jpg

listing >/run/before
# Inbox, library and group are those of the first.
check "a second run succeeds" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes --for local --as ana
refuse "and finds all of it right" photoinboxd grep -E '^(done|left)' /run/said
check "it changes nothing" photoinboxd sh -c "$(declare -f listing); listing | diff /run/before -"

chmod 0705 /srv/photos/inbox
chmod 0555 /srv/photos/library
check "what is wrong is repaired" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes "${local_people[@]}"
check "and nothing else" photoinboxd test "$(grep -c '^done' /run/said)" = 2
check "so that the service may write" photoinboxd test "$(stat -c '%a' /srv/photos/library)" = 2755
chown root:root /srv/photos/library
chmod 00755 /srv/photos/library
if photoinbox setup --yes "${local_people[@]}" >/run/said 2>&1; then status=0; else status=$?; fi
check "a library with photos that is somebody else's is left alone" photoinboxd test \
    "$status $(stat -c '%U:%G %a' /srv/photos/library)" = "77 root:root 755"
chown _photoinbox:_photoinbox /srv/photos/library
chmod 02755 /srv/photos/library
check "to what it was" photoinboxd sh -c "$(declare -f listing); listing | diff /run/before -"

# setfacl may not be installed; setup itself needs none.
photoinbox setup --dry-run "${own[@]}" | grep -v ^setfacl >/run/commands
check "the commands that it prints can be run" photoinboxd bash -e /run/commands
check "and do the same" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes "${own[@]}"
check "but for the list of new files" photoinboxd test \
    "$(grep '^done' /run/said)" = "done   new files in /home/ana/Pictures/inbox: open to the group"
check "an inbox in a home directory is filed" photoinboxd grep -q '^test  a photo that ana dropped' /run/said
check "which alone the service sees there" photoinboxd \
    test "$(ls "/proc/$(property photoinboxd MainPID)/root/home/ana/Pictures")" = inbox

# A home directory that nobody else may enter, by setup alone.
useradd --uid 4712 --create-home bea
chmod 0700 /home/bea
check "an inbox in a closed home directory is set up" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes --for me --as bea --inbox-name bea --inbox /home/bea/inbox --library /srv/photos/library
check "and filed" photoinboxd grep -q '^test  a photo that bea dropped' /run/said
check "and the first one is, too" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes "${own[@]}"

# A unit that does not start with what setup writes.
drop_ins=/etc/systemd/system/photoinboxd.service.d
cat /etc/photoinbox/photoinbox.toml $drop_ins/photoinboxd-setup.conf >/run/before
printf '[Service]\nExecStartPre=/bin/sh -c "! grep inbox.late /etc/photoinbox/photoinbox.toml"\n' >$drop_ins/picky.conf
systemctl daemon-reload
if photoinbox setup --yes --for me --as bea --inbox-name late --inbox /home/bea/late --library /srv/photos/library \
    >/run/said 2>&1; then status=0; else status=$?; fi
check "a restart that fails is reported" photoinboxd sh -c 'test "$0" = 1 && grep "put back" /run/said' $status
check "what was there before is there again" photoinboxd sh -c \
    'cat /etc/photoinbox/photoinbox.toml "$0" | cmp - /run/before' $drop_ins/photoinboxd-setup.conf
check "and the service runs with it" photoinboxd systemctl is-active photoinboxd
check "as its manager has read it" photoinboxd test "$(systemctl show photoinboxd -P NeedDaemonReload)" = no
# One that was stopped on purpose stays so.
systemctl disable --now photoinboxd
refuse "one that did not run does not start with it either" photoinboxd photoinbox setup --yes --for me --as bea \
    --inbox-name late --inbox /home/bea/late --library /srv/photos/library
check "and is neither started again nor enabled" photoinboxd test \
    "$(systemctl is-active photoinboxd) $(systemctl is-enabled photoinboxd)" = "inactive disabled"
rm $drop_ins/picky.conf
systemctl daemon-reload
systemctl enable --now photoinboxd
mv "/etc/systemd/system/photoinboxd-fetch@.service.d" /run/dropped
ln -s /nowhere "/etc/systemd/system/photoinboxd-fetch@.service.d"
refuse "where a drop-in cannot be written it fails" photoinboxd photoinbox setup --yes --for me --as bea \
    --inbox-name late --inbox /home/bea/late --library /srv/photos/library
check "and writes no configuration" photoinboxd sh -c \
    'cat /etc/photoinbox/photoinbox.toml "$0" | cmp - /run/before' $drop_ins/photoinboxd-setup.conf
rm "/etc/systemd/system/photoinboxd-fetch@.service.d"
mv /run/dropped "/etc/systemd/system/photoinboxd-fetch@.service.d"

echo 'libary = "/x"' >>/etc/photoinbox/photoinbox.toml
cp /etc/photoinbox/photoinbox.toml /run/edited
if photoinbox setup --yes "${local_people[@]}" >/run/said 2>&1; then status=0; else status=$?; fi
check "a configuration with a mistake is left alone" photoinboxd cmp /run/edited /etc/photoinbox/photoinbox.toml
check "which is said with its line" photoinboxd sh -c "test $status = 78 && grep -q 'photoinbox.toml:.*libary' /run/said"

# Home directories elsewhere, as on systems of images: the unit hides what a link at /home leads to.
systemctl stop photoinboxd
umount /home
mv /home /homes
ln -s homes /home
rm /etc/photoinbox/photoinbox.toml /etc/systemd/system/photoinboxd*.service.d/photoinboxd-setup.conf
systemctl daemon-reload
useradd --uid 4713 --home-dir /home/cea cea
install -d -o cea -g cea -m 0700 /home/cea
mount -t tmpfs -o mode=700,uid=4713,gid=4713 tmpfs /home/cea
check "an inbox below a home that is a link is set up" photoinboxd sh -c '"$@" >/run/said 2>&1 || { cat /run/said >&2; exit 1; }' - \
    photoinbox setup --yes --for me --as cea --inbox /home/cea/inbox --library /srv/photos/library
check "and filed, too" photoinboxd grep -q '^test  a photo that cea dropped' /run/said
check "where the service sees nothing else" photoinboxd \
    test "$(find "/proc/$(property photoinboxd MainPID)/root/homes/" -mindepth 1 -printf '%P ')" = "cea cea/inbox "
