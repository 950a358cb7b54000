#!/bin/bash
# Two daemons at once: photoinboxd.service, and photoinboxd@studio.service with its own configuration and places.
source "$(dirname "$0")/lib.sh"
install_service
install -d -o _photoinbox -g _photoinbox -m 0755 /srv/studio /srv/studio/library
install -d -o _photoinbox -g _photoinbox -m 1777 /srv/studio/scans /srv/studio/card
install -d -o _photoinbox -m 0755 /var/lib/told
install -d -m 0755 /usr/local/lib/photos
printf '#!/bin/sh\ncat >>/var/lib/told/$1\n' >/usr/local/lib/photos/note
chmod 0755 /usr/local/lib/photos/note
hook() { printf '%s\n' '[hook.note]' "command = [\"/usr/local/lib/photos/note\", \"$1\"]" 'on = ["filed"]'; }
configure '[inbox.card]' 'path = "/srv/photos/card"' "$(hook first)"
{
    printf '%s\n' 'library = "/srv/studio/library"' '[inbox.scans]' 'path = "/srv/studio/scans"'
    printf '%s\n' '[inbox.card]' 'path = "/srv/studio/card"'
    hook studio
} >/etc/photoinbox/studio.toml
studio() { photoinbox "$1" --config /etc/photoinbox/studio.toml "${@:2}"; }
in_studio() { [ -n "$(find /srv/studio/library -type f -name "$1" ! -name '.*')" ]; }

start_service
check "a second one starts beside the first" photoinboxd@studio systemctl start photoinboxd@studio
check "both are active" photoinboxd@studio systemctl is-active photoinboxd photoinboxd@studio
drop_photo "$(photo 1)" card one.jpg
cp "$(photo 2)" /srv/studio/scans/two.jpg
eventually "the first files its own" photoinboxd filed one.jpg
eventually "the second its own" photoinboxd@studio in_studio two.jpg
check "each with a catalogue of its own" photoinboxd@studio sh -c \
    '[ "$(sqlite3 -readonly /var/lib/photoinbox/catalogue.sqlite "select count(*) from photo")" = 1 ] &&
     [ "$(sqlite3 -readonly /var/lib/photoinboxd/studio/catalogue.sqlite "select count(*) from photo")" = 1 ]'
check "for its user and group alone" photoinboxd@studio \
    test "$(stat -c '%U %G %a' /var/lib/photoinboxd/studio)" = "_photoinbox _photoinbox 750"
check "commands find the second by its configuration" photoinboxd@studio bash -c \
    'photoinbox list --config /etc/photoinbox/studio.toml | grep -q two.jpg'
refuse "which knows nothing of the first" photoinboxd@studio bash -c \
    'photoinbox list --config /etc/photoinbox/studio.toml | grep -q one.jpg'
eventually "the first's hook was told of its photo" photoinboxd grep -q one.jpg /var/lib/told/first
eventually "the second's, of its own configuration, of its" photoinboxd@studio grep -q two.jpg /var/lib/told/studio
refuse "neither of the other's" photoinboxd@studio grep -q two.jpg /var/lib/told/first
refuse "neither may write where the other keeps its catalogue" photoinboxd@studio nsenter \
    --target "$(property photoinboxd@studio MainPID)" --mount \
    setpriv --reuid=_photoinbox --clear-groups touch /var/lib/photoinbox/by-another

cp "$(photo 3)" /srv/studio/card/one.jpg
eventually "both file one of the same inbox and name" photoinboxd@studio in_studio one.jpg
# The journal's entries of the first or the second instance.
told() { journalctl --sync; "$@" log card/one.jpg -- --quiet --output=json | grep -o '"_SYSTEMD_UNIT":"[^"]*"' | sort -u; }
told_of() { [ "$(told "${@:2}")" = "\"_SYSTEMD_UNIT\":\"$1.service\"" ]; }
log_of_studio() { photoinbox log --config /etc/photoinbox/studio.toml "${@:2}"; }
eventually "log shows what the first's journal has of it" photoinboxd told_of photoinboxd photoinbox
eventually "and what the second's has" photoinboxd@studio told_of photoinboxd@studio log_of_studio

process=$(property photoinboxd MainPID)
systemctl kill --signal=KILL --kill-whom=main photoinboxd@studio
eventually "killed, the second is started again" photoinboxd@studio property_is photoinboxd@studio NRestarts 1
check "the first runs on" photoinboxd property_is photoinboxd MainPID "$process"
eventually "the second is active again" photoinboxd@studio systemctl is-active photoinboxd@studio
check "a reload reaches it" photoinboxd@studio systemctl reload photoinboxd@studio
systemctl stop photoinboxd@studio
systemctl start photoinboxd@studio.socket
check "its socket starts it" photoinboxd@studio studio pause scans
eventually "which is active then" photoinboxd@studio systemctl is-active photoinboxd@studio
refuse "the first is not paused by that" photoinboxd bash -c 'photoinbox status | grep -q PAUSED'
echo 'colour = "red"' >/etc/photoinbox/broken.toml
refuse "one with a broken configuration does not start" photoinboxd@broken systemctl start photoinboxd@broken
check "and leaves the others alone" photoinboxd@broken systemctl is-active photoinboxd photoinboxd@studio
