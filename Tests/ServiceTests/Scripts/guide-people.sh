#!/bin/bash
# Several people and their phones on one machine. Syncthing and Nextcloud are played by what they do in their directories.
source "$(dirname "$0")/guides.sh"
prepare_system
install_programs
for name in ana ben carla; do
    useradd --create-home "$name"
    make_photo "$name.jpg" 1
done
for name in other synced cloud; do make_photo $name.jpg 1; done
make_photo late.jpg 1 "2023:05:06 07:08:09" # for a new directory in the library
in_library() { find /srv/photos/library -name "$1"; } # NAME

follow people.md "One inbox each"
check "ana drops into hers" photoinboxd as ana cp /run/photos/ana.jpg /srv/photos/inboxes/ana/
check "ben into his" photoinboxd as ben cp /run/photos/ben.jpg /srv/photos/inboxes/ben/
expect_filed "ana's is filed" ana.jpg /srv/photos/inboxes/ana
expect_filed "ben's is filed" ben.jpg /srv/photos/inboxes/ben
check "it is known from which each came" photoinboxd sh -c 'photoinbox list | grep -q "  ben  .*/ben.jpg"'
refuse "carla may not drop" photoinboxd as carla cp /run/photos/late.jpg /srv/photos/inboxes/ben/
refuse "ana sees no photo yet" photoinboxd as ana cat "$(in_library ben.jpg)"
follow people.md "Who may see the library"
check "now she does" photoinboxd as ana cat "$(in_library ben.jpg)"
refuse "and changes none" photoinboxd as ana sh -c 'echo >>"$1"' - "$(in_library ben.jpg)"
as ana cp /run/photos/late.jpg /srv/photos/inboxes/ana/
expect_filed "one that comes later is filed" late.jpg /srv/photos/inboxes/ana
check "and she sees it, too" photoinboxd as ana cat "$(in_library late.jpg)"
refuse "carla does not" photoinboxd as carla cat "$(in_library late.jpg)"
refuse "ben may not use commands" photoinboxd as ben photoinbox pause ana
follow people.md "Who may use the commands"
check "now he may" photoinboxd as ben photoinbox pause ana
photoinbox resume ana
follow people.md "Libraries of their own"
check "carla drops into her own" photoinboxd@carla as carla cp /run/photos/other.jpg /srv/carla/inbox/
eventually "it is filed in her library" photoinboxd@carla sh -c 'find /srv/carla/library -name other.jpg | grep -q .'
check "which she sees" photoinboxd@carla as carla cat "$(find /srv/carla/library -name other.jpg)"
refuse "and ana does not" photoinboxd@carla as ana cat "$(find /srv/carla/library -name other.jpg)"

follow phones.md "Syncthing"
as ana sh -c 'cd /srv/photos/phone && mkdir .stfolder Camera && cat /run/photos/synced.jpg >Camera/.syncthing.synced.jpg.tmp &&
    mv Camera/.syncthing.synced.jpg.tmp Camera/synced.jpg'
eventually "what Syncthing brought is filed" photoinboxd filed synced.jpg
check "and stays for Syncthing" photoinboxd test -s /srv/photos/phone/Camera/synced.jpg
refuse "nothing says that it is waiting" photoinboxd sh -c 'photoinbox status | grep -E "phone .*[0-9] (deferred|waiting)"'
install -d /srv/nextcloud
install -d -o www-data -g www-data -m 0770 /srv/nextcloud{/data,/data/ana,/data/ana/files,/data/ana/files/InstantUpload}
follow phones.md "Nextcloud"
as www-data sh -c 'cd /srv/nextcloud/data/ana/files/InstantUpload && umask 022 && mkdir -m 750 2024 &&
    cat /run/photos/cloud.jpg >2024/cloud.jpg.ocTransferId123.part && mv 2024/cloud.jpg.ocTransferId123.part 2024/cloud.jpg'
eventually "what Nextcloud brought is filed" photoinboxd filed cloud.jpg
check "and stays for Nextcloud" photoinboxd test -s /srv/nextcloud/data/ana/files/InstantUpload/2024/cloud.jpg
follow phones.md "Undo it"
refuse "their inboxes are gone" photoinboxd sh -c 'photoinbox status | grep -E "phone|nextcloud"'
check "the others are not" photoinboxd sh -c 'photoinbox status | grep -q " ana "'
check "their photos are there" photoinboxd test -s /srv/photos/phone/Camera/synced.jpg

follow people.md "Undo it"
refuse "ben may drop no more" photoinboxd as ben cp /run/photos/ben.jpg /srv/photos/inboxes/ben/
refuse "carla's daemon has ended" photoinboxd systemctl is-active photoinboxd@carla
check "nothing was filed twice" photoinboxd test "$(find /srv/photos/library -type f | wc -l)" = 5
held "all of it was followed"
