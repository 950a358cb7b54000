#!/bin/bash
# A user's own daemon under a user's service manager, without root. That manager is started without PAM and
# without a session, which a minimal system may lack; that makes no difference to the daemon.
source "$(dirname "$0")/lib.sh"
install_service
user=4711
useradd --uid "$user" --create-home --home-dir /var/ana ana
install -d -o ana -g ana -m 0700 "/run/user/$user"
# A file system other than overlay, as for /srv.
mount -t tmpfs -o mode=755,uid="$user" tmpfs /var/ana
as_ana() {
    env -i PATH="$PATH" LANG=C.UTF-8 HOME=/var/ana USER=ana XDG_RUNTIME_DIR="/run/user/$user" \
        setpriv --reuid="$user" --regid="$user" --clear-groups --inh-caps=-all -- "$@"
}
as_ana mkdir -p /var/ana/{inbox,library,bin} /var/ana/.config/photoinbox
cat >/run/note <<'HOOK'
#!/bin/sh
cat >>/var/ana/told
HOOK
as_ana install -m 0755 /run/note /var/ana/bin/note
as_ana tee /var/ana/.config/photoinbox/photoinbox.toml >/dev/null <<'TOML'
library = "/var/ana/library"
[inbox.own]
path = "/var/ana/inbox"
[fetch]
allow-private = ["127.0.0.1"]
[hook.note]
command = ["/var/ana/bin/note"]
on = ["filed"]
TOML
manager=/usr/lib/systemd/systemd
[ -x $manager ] || manager=/lib/systemd/systemd
systemd-run --quiet --unit=ana-manager --uid="$user" --gid="$user" --property=Delegate=yes --property=Type=notify \
    --setenv=HOME=/var/ana --setenv=USER=ana --setenv="XDG_RUNTIME_DIR=/run/user/$user" "$manager" --user
own() { as_ana systemctl --user "$@"; }
own_property_is() { [ "$(own show --value --property="$2" "$1")" = "$3" ]; }
in_library() { [ -n "$(find /var/ana/library -type f -name "$1" ! -name '.*')" ]; }

check "it starts" ana-manager own start photoinboxd
check "is active when ready" ana-manager own is-active photoinboxd
process=$(own show --value --property=MainPID photoinboxd)
check "as the user" ana-manager test "$(stat -c %u "/proc/$process")" = $user
check "and can gain nothing" ana-manager grep -qE '^NoNewPrivs:[[:space:]]*1$' "/proc/$process/status"
check "behind a filter of system calls" ana-manager grep -qE '^Seccomp:[[:space:]]*2$' "/proc/$process/status"
check "no decoder that is killed for memory ends it, and no try to start is the last" ana-manager test \
    "$(own show --property=OOMPolicy,StartLimitIntervalUSec,RestartPreventExitStatus photoinboxd | sort | paste -sd ' ')" = \
    "OOMPolicy=continue RestartPreventExitStatus=64 78 StartLimitIntervalUSec=0"
as_ana cp "$(photo 1)" /var/ana/inbox/one.jpg
eventually "files a photo" ana-manager in_library one.jpg
check "keeps its catalogue in the home directory" ana-manager test -s /var/ana/.local/state/photoinbox/catalogue.sqlite
check "for the user alone" ana-manager test "$(stat -c '%u %a' /var/ana/.local/state/photoinbox)" = "$user 750"
check "listens in the runtime directory" ana-manager test -S "/run/user/$user/photoinbox/control"
check "commands find it without being told where" ana-manager bash -c "$(declare -f as_ana); user=$user; as_ana photoinbox list | grep -q one.jpg"
check "and may operate it" ana-manager as_ana photoinbox pause own
as_ana cp "$(photo 2)" /var/ana/inbox/two.jpg
check "paused over a restart" ana-manager own restart photoinboxd
refuse "nothing was taken" ana-manager in_library two.jpg
check "resumed" ana-manager as_ana photoinbox resume own
eventually "it is filed" ana-manager in_library two.jpg
eventually "its hook runs in a unit of the user's" ana-manager grep -q two.jpg /var/ana/told
install -D -m 0644 "$(photo 3)" /run/served/three.jpg
python3 -m http.server --bind 127.0.0.1 --directory /run/served 8099 >/dev/null 2>&1 &
eventually "there is a server" ana-manager python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8099))'
check "a photo is fetched" ana-manager as_ana photoinbox fetch http://127.0.0.1:8099/three.jpg
eventually "by a unit of the user's" ana-manager sh -c \
    "journalctl -q -o cat -t photoinbox-fetch _UID=$user | grep -q '1 arrived'"
eventually "and filed" ana-manager in_library three.jpg
as_ana photoinbox setup --yes --for me --inbox /var/ana/inbox --library /var/ana/library >/run/said 2>&1 || cat /run/said
check "setup changes nothing but that it is enabled" ana-manager test \
    "$(grep -E '^(done|left)' /run/said)" = "done   photoinboxd.service: started at boot"
check "and tests it" ana-manager grep -q '^test  a photo that ana dropped was filed as 20' /run/said
own kill --signal=KILL --kill-whom=main photoinboxd
eventually "killed, it is started again" ana-manager own_property_is photoinboxd NRestarts 1
eventually "and is active again" ana-manager own is-active photoinboxd
own stop photoinboxd
check "stopped, its result is success" ana-manager own_property_is photoinboxd Result success
