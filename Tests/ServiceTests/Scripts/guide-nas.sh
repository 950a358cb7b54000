#!/bin/bash
# A library on another file system, by the page for a NAS; a tmpfs stands in for the NAS.
source "$(dirname "$0")/guides.sh"
prepare_system
install_programs
useradd --create-home ana
for name in one two; do make_photo $name.jpg 1; done
echo "tmpfs /srv/nas tmpfs mode=755,nofail 0 0" >>/etc/fstab
filed() { [ -n "$(find /srv/nas/library -type f -name "$1" ! -name '.*')" ]; }
follow nas.md "Mount it"
follow nas.md "Wait for it"
follow nas.md "Set it up"
check "the service wants the mount" photoinboxd sh -c 'systemctl show --property=RequiresMountsFor photoinboxd | grep -q /srv/nas'
as ana cp /run/photos/one.jpg /srv/photos/inbox/
eventually "a photo is filed on it" photoinboxd filed one.jpg
mount -t tmpfs tmpfs /srv/nas # another one in its place
eventually "without it filing stops" photoinboxd sh -c 'photoinbox status; [ $? -eq 5 ]'
as ana cp /run/photos/two.jpg /srv/photos/inbox/
eventually "which is said" photoinboxd sh -c 'photoinbox status | grep -qE "PI-40[16]"'
check "the photo waits" photoinboxd test -s /srv/photos/inbox/two.jpg
umount /srv/nas
eventually "back again it goes on" photoinboxd filed two.jpg
follow nas.md "Undo it"
refuse "it no more waits for the mount" photoinboxd sh -c 'systemctl show --property=RequiresMountsFor photoinboxd | grep -q /srv/nas'
held "all of it was followed"
