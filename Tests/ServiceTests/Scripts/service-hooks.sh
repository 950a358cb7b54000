#!/bin/bash
# Hooks in their own unit, beside the hardened service: they can do what the daemon cannot, and root decides what runs.
source "$(dirname "$0")/lib.sh"
install_service
message_hook_output=1b3e3882a09e4e51bd1961c1635b90cc
install -d -o _photoinbox -m 0755 /var/lib/told
install -d -m 0755 /usr/local/lib/photos
cat >/usr/local/lib/photos/note <<'HOOK'
#!/bin/sh
# The daemon can use neither this directory nor this socket family.
cat >>/var/lib/told/lines
echo "$PHOTOINBOX_HOOK as $(id -un), told $(wc -l </var/lib/told/lines)"
bash -c 'exec 3<>/dev/udp/127.0.0.1/9' && echo "has a network"
# A descendant that leaves the process group.
setsid sleep 1000 &
# The journal determines a line's unit when it reads it: the writer must still exist.
until [ -e /var/lib/told/read ]; do sleep 0.1; done
HOOK
chmod 0755 /usr/local/lib/photos/note
hooks() {
    configure '[inbox.card]' 'path = "/srv/photos/card"' \
        '[hook.note]' 'command = ["/usr/local/lib/photos/note"]' 'on = ["filed"]' "$@"
}
hooks
start_service
unit='photoinboxd-hooks@*.service'
check "the socket is there for the daemon alone" photoinboxd-hooks.socket \
    test "$(stat --format='%a %U %F' /run/photoinbox/hooks)" = "600 _photoinbox socket"
ask() { python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("/run/photoinbox/hooks")'; }
export -f ask
refuse "a member of the group may not ask" photoinboxd-hooks.socket \
    setpriv --reuid=65534 --regid=_photoinbox --clear-groups bash -c ask
drop_photo "$(photo 1)" card one.jpg
eventually "the hook was told" photoinboxd test -s /var/lib/told/lines
check "as JSON, with where the photo is" photoinboxd sh -c \
    'grep -q "\"event\":\"filed\"" /var/lib/told/lines && test -f "$(sed "s/.*\"path\":\"\([^\"]*\)\".*/\1/" /var/lib/told/lines)"'
eventually "what it says is in the journal under its name" photoinboxd \
    journal_has 2 MESSAGE_ID=$message_hook_output PHOTOINBOX_HOOK=note
eventually "from its own unit" photoinboxd sh -c \
    "journalctl -q -o cat MESSAGE_ID=$message_hook_output _SYSTEMD_SLICE=system-photoinboxd\\\\x2dhooks.slice | grep -q 'note as _photoinbox, told 1'"
eventually "it has the network that the daemon has not" photoinboxd sh -c \
    "journalctl -q -o cat MESSAGE_ID=$message_hook_output | grep -q 'has a network'"
touch /var/lib/told/read
eventually "nothing is left of it" photoinboxd sh -c \
    "! pgrep -f '[s]leep 1000' && [ -z \"\$(systemctl list-units --no-legend '$unit')\" ]"
refuse "the daemon could not have written there" photoinboxd nsenter --target "$(property photoinboxd MainPID)" --mount \
    setpriv --reuid=_photoinbox --clear-groups touch /var/lib/told/by-the-daemon

chmod 0777 /usr/local/lib/photos/note
drop_photo "$(photo 2)" card two.jpg
eventually "a program that anybody can change is not run" photoinboxd sh -c \
    'photoinbox status | grep -q "hook note failed.*can be written to by others"'
chmod 0755 /usr/local/lib/photos/note
eventually "put right it is told of what it missed" photoinboxd grep -q two.jpg /var/lib/told/lines

cat >/usr/local/lib/photos/deaf <<'HOOK'
#!/bin/sh
trap '' TERM
echo deaf to it
while :; do sleep 0.1; done
HOOK
chmod 0755 /usr/local/lib/photos/deaf
hooks 'deadline = "1s"'
sed -i 's#photos/note#photos/deaf#' /etc/photoinbox/photoinbox.toml
systemctl reload photoinboxd
drop_photo "$(photo 3)" card three.jpg
eventually "one that takes no TERM is killed at its deadline" photoinboxd sh -c \
    'photoinbox status | grep -q "did not end within 1s and killed by signal 9"'
sed -i 's#"1s"#"1h"#' /etc/photoinbox/photoinbox.toml
systemctl reload photoinboxd
eventually "it runs again" photoinboxd sh -c "[ -n \"\$(systemctl list-units --no-legend '$unit')\" ]"
SECONDS=0
systemctl stop photoinboxd
check "nobody waits for it at the end" photoinboxd test "$SECONDS" -lt 5
check "which is a good one" photoinboxd property_is photoinboxd Result success
eventually "and it is ended then" photoinboxd sh -c "[ -z \"\$(systemctl list-units --no-legend '$unit')\" ]"
sed -i 's#photos/deaf#photos/note#' /etc/photoinbox/photoinbox.toml
start_service
eventually "what it did not take is told after a restart" photoinboxd grep -q three.jpg /var/lib/told/lines
