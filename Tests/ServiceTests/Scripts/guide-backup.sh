#!/bin/bash
# Backup, the drill, and each disaster, by the page's own commands.
source "$(dirname "$0")/guides.sh"
prepare_system
install_programs
useradd --create-home ana
for name in one two three four five; do make_photo $name.jpg 1; done
photoinbox setup --yes --for local --as ana --group photos --inbox /srv/photos/inbox --library /srv/photos/library >/dev/null
drop() { # NAME
    as ana cp "/run/photos/$1" /srv/photos/inbox/
    expect_filed "$1 is filed" "$1" /srv/photos/inbox
}
in_library() { find /srv/photos/library -name "$1"; } # NAME
knows() { photoinbox list | grep -q "/$1"; }         # NAME
arrives_again() { # NAME: it is a duplicate, so its record is there
    as ana cp "/run/photos/$1" /srv/photos/inbox/
    eventually "$1 is known" photoinboxd test -e "/srv/photos/duplicates/inbox/$1"
    rm "/srv/photos/duplicates/inbox/$1"*
}
drop one.jpg
drop two.jpg
photoinbox undo inbox/two.jpg >/dev/null
check "one waits for a person" photoinboxd sh -c 'find /srv/photos/returned -name two.jpg | grep -q .'

echo secret >/root/restic-password
follow backup.md "Back up while the daemon runs"
check "the configuration is in it" -.slice test -s /mnt/backup/photos/photoinbox/photoinbox.toml
check "and what waits for a person" -.slice sh -c 'find /mnt/backup/photos/files/returned -name two.jpg | grep -q .'
check "and the inbox, empty" -.slice test "$(stat -c %a /mnt/backup/photos/files/inbox)" = 2775
check "all of it belongs to whom it did" -.slice \
    test "$(stat -c %U "$(find /mnt/backup/photos/files -name one.jpg)")" = _photoinbox
check "restic restores it" -.slice restic --quiet --repo /mnt/backup/restic --password-file /root/restic-password restore latest \
    --target /run/restored
check "whole" -.slice cmp /run/photos/one.jpg "$(find /run/restored/srv/photos/library -name one.jpg)"
check "with the catalogue" -.slice sh -c 'sqlite3 /run/restored/var/backups/photoinbox.sqlite "PRAGMA integrity_check" | grep -qx ok'
follow backup.md "Practise it"
check "the drill finds all" -.slice test ! -s "$said"
copy=$(find /mnt/backup/photos/files/library -name one.jpg)
cp -p "$copy" /run/kept.jpg
printf x >>"$copy"
if (set -e; eval "$(blocks backup.md "Practise it")") >/run/drill 2>&1; then broken "damage fails the drill" -.slice; fi
check "which finds damage" -.slice grep -q 'one.jpg: FAILED$' /run/drill
cp -p /run/kept.jpg "$copy"

drop three.jpg # after the backup
follow backup.md "The catalogue is lost"
eventually "the service runs" photoinboxd photoinbox status
check "what was filed later is known, too" photoinboxd knows three.jpg
arrives_again three.jpg
check "and from where the first came" photoinboxd sh -c 'photoinbox list | grep -q "  inbox  .*/one.jpg"'
systemctl stop photoinboxd
rm /var/lib/photoinbox/catalogue.sqlite*
follow backup.md "The catalogue is lost, and there is no copy"
eventually "the service runs without a copy" photoinboxd photoinbox status
arrives_again one.jpg

systemctl stop photoinboxd
umount /srv
mount -t tmpfs -o mode=755 tmpfs /srv
install -d /srv/photos
follow backup.md "The library's disk is lost"
check "what was in the backup is there" photoinboxd cmp /run/photos/one.jpg "$(in_library one.jpg)"
refuse "what came later is not" photoinboxd knows three.jpg
arrives_again one.jpg
drop three.jpg

systemctl stop photoinboxd
umount /srv
mount -t tmpfs -o mode=755 tmpfs /srv
install -d /srv/photos
rm -r /etc/photoinbox /var/lib/photoinbox/*
follow backup.md "Both are lost"
check "the photos are back" photoinboxd cmp /run/photos/one.jpg "$(in_library one.jpg)"
check "with the records" photoinboxd sh -c 'photoinbox list | grep -q "  inbox  .*/one.jpg"'
arrives_again one.jpg
drop four.jpg

install -d /run/disk /mnt/new
printf '%s\n' '/run/disk /mnt/new none bind 0 0' '/run/disk /srv/photos none bind 0 0' >/etc/fstab
mount /mnt/new
follow backup.md "Move the library to another disk"
check "it is on the other disk" photoinboxd sh -c 'find /run/disk/library -name four.jpg | grep -q .'
drop five.jpg
check "where new ones are filed" photoinboxd sh -c 'find /run/disk/library -name five.jpg | grep -q .'
check "and nothing stands in the way" photoinboxd photoinbox status
held "all of it was followed"
