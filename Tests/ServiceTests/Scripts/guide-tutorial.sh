#!/bin/bash
# The tutorial, by a person without root.
source "$(dirname "$0")/guides.sh"
if [ "$(id -u)" = 0 ]; then
    open_toolchain
    gather_programs
    make --silent --directory="$repository" install release=/run/built
    mount -t tmpfs -o mode=755 tmpfs /home # other than overlay, on which leases show writers
    useradd --create-home ana
    as ana install -D -m 0644 "$(photo 1)" /home/ana/Pictures/2024/IMG_1.JPG
    as ana env USER=ana bash "$0"
    exit
fi
outcome() { photoinbox explain "inbox/$1" | head -n 1 | grep -q ": $2"; } # NAME WORD
follow tutorial.md "Start it"
eventually "it is ready" -.slice photoinbox status
follow tutorial.md "Drop a photo" 1
eventually "the photo is filed" -.slice outcome holiday.jpg filed
follow tutorial.md "Drop a photo" 2
follow tutorial.md "Drop it again" 1
eventually "its equal is a duplicate" -.slice outcome again.jpg duplicate
follow tutorial.md "Drop it again" 2
follow tutorial.md "Drop a broken one" 1
eventually "it goes to the quarantine" -.slice outcome broken.jpg quarantined
follow tutorial.md "Drop a broken one" 2
follow tutorial.md "Drop a broken one" 3
refuse "it is discarded" -.slice outcome broken.jpg quarantined
follow tutorial.md "Kill it" 1
eventually "what came meanwhile is filed" -.slice outcome second.jpg filed
follow tutorial.md "Kill it" 2
follow tutorial.md "Take one back"
check "it is returned" -.slice test -s returned/inbox/holiday.jpg
follow tutorial.md "End it"
check "nothing is left" -.slice test ! -e ~/first-steps
held "all of it was followed"
