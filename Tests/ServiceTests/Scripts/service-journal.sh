#!/bin/bash
# With journald stopped, killed or full photos are filed, and logging resumes afterwards. Also
# the explanations of `journalctl -x`.
source "$(dirname "$0")/lib.sh"
# A journal with a limited size, to be filled.
install -d /run/log/journal
mount -t tmpfs -o size=20m,mode=755 tmpfs /run/log/journal
systemctl restart systemd-journald
install_service
start_service
journalctl --update-catalog
check "the catalogue of messages is found" photoinboxd sh -c \
    "journalctl --list-catalog $message_filed | grep -q 'photo-inbox: Photo filed'"
drop_photo "$(photo 1)" card one.jpg
eventually "an entry is explained" photoinboxd sh -c \
    "journalctl --sync; journalctl -x -q MESSAGE_ID=$message_filed | grep -q 'Subject: Photo filed: one.jpg'"
journalctl -x -q "MESSAGE_ID=$message_ready" >/run/explained
check "the one of the start, too" photoinboxd grep -q 'Subject: photo-inbox is ready' /run/explained
check "with what to read" photoinboxd grep -q 'Documentation: man:photoinboxd(8)' /run/explained

process=$(property photoinboxd MainPID)
systemctl kill --signal=STOP --kill-whom=main systemd-journald
drop_photo "$(photo 2)" card two.jpg
eventually "with journald standing still a photo is filed" photoinboxd filed two.jpg
check "and status answers" photoinboxd photoinbox status
systemctl kill --signal=CONT --kill-whom=main systemd-journald
eventually "it goes on, and has the entry" photoinboxd journal_has 1 "MESSAGE_ID=$message_filed" PHOTOINBOX_FILE=two.jpg

journald=$(property systemd-journald MainPID)
systemctl kill --signal=KILL --kill-whom=main systemd-journald
drop_photo "$(photo 3)" card three.jpg
eventually "with journald killed a photo is filed" photoinboxd filed three.jpg
another_journald() {
    local now
    now=$(property systemd-journald MainPID)
    [ "$now" != 0 ] && [ "$now" != "$journald" ] && systemctl is-active systemd-journald
}
eventually "journald is started again" systemd-journald another_journald
drop_photo "$(photo 4)" card four.jpg
eventually "a photo is filed after that" photoinboxd filed four.jpg
eventually "and the new journald has it" photoinboxd journal_has 1 "MESSAGE_ID=$message_filed" PHOTOINBOX_FILE=four.jpg

head -c 30M /dev/zero >/run/log/journal/filler 2>/dev/null || true
# journald's reserve is used up, too.
head -c 3M /dev/zero | base64 | systemd-cat --identifier=noise || true
check "the journal's disk is full" systemd-journald test "$(stat -f -c %a /run/log/journal)" = 0
drop_photo "$(photo 5)" card five.jpg
eventually "with no room for the journal a photo is filed" photoinboxd filed five.jpg
check "and status answers then, too" photoinboxd photoinbox status
rm /run/log/journal/filler
eventually_filed_and_told() {
    number=$((number + 1))
    cp "$(photo 6)" "/run/six-$number.jpg"
    # A different comment makes it another photo.
    printf '\xff\xfe\x00\x06%4s' "$number" | cat <(head -c 2 "/run/six-$number.jpg") - <(tail -c +3 "/run/six-$number.jpg") \
        >"/run/next-$number.jpg"
    drop_photo "/run/next-$number.jpg" card "six-$number.jpg"
    until filed "six-$number.jpg"; do sleep 0.05; done
    journal_has 1 "MESSAGE_ID=$message_filed" "PHOTOINBOX_FILE=six-$number.jpg"
}
number=0
eventually "with room again the journal goes on" photoinboxd eventually_filed_and_told
check "all that in one process" photoinboxd property_is photoinboxd MainPID "$process"
check "which was never restarted" photoinboxd property_is photoinboxd NRestarts 0
