#!/bin/bash
# Several hosts, by the page's own commands: two daemons of one machine, each with a configuration and a state of its own.
source "$(dirname "$0")/guides.sh"
prepare_system
install_programs
useradd --create-home ana
for name in one two three; do make_photo $name.jpg 1; done
USER=ana
systemctl() { # PostgreSQL's unit starts the clusters there are
    case "$*" in 'restart postgresql') command systemctl restart postgresql@15-main ;; *) command systemctl "$@" ;; esac
}
runuser() { as "$2" "${@:4}"; } # which needs PAM
ip address add 192.0.2.10/32 dev lo
pg_dropcluster --stop 15 main 2>/dev/null || true
# As the package's installation makes them.
make-ssl-cert generate-default-snakeoil --force-overwrite
pg_createcluster 15 main >/dev/null
pg_conftool 15 main set ssl on
systemctl start postgresql@15-main
follow several-hosts.md "Set it up" 1
refuse "a password file that is not there is named" photoinbox photoinbox setup --dry-run --for local --as ana \
    --inbox /srv/photos/inbox --library /srv/photos/library --join "hostaddr=192.0.2.10 user=photoinbox passfile=/none"
follow several-hosts.md "Set it up" 2
check "--check reaches the server" photoinboxd sh -c 'photoinboxd --check | grep -q "configuration OK"'
check "its test photo was filed" photoinboxd grep -q "was filed as" "$said"
encrypted() {
    as postgres psql -AtX --command="SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'photoinbox'"
}
connection="hostaddr=192.0.2.10 dbname=photoinbox user=photoinbox sslmode=require passfile=/etc/photoinbox/pgpass"
check "the way to the server is encrypted" photoinboxd test "$(encrypted)" = t
check "the inbox is named like the machine" photoinboxd grep -qF "[inbox.$(hostname --short)]" /etc/photoinbox/photoinbox.toml

as ana cp /run/photos/two.jpg /srv/photos/inbox/
expect_filed "a photo is filed" two.jpg /srv/photos/inbox

join() { # INBOX NAME LIBRARY: as a second host, an instance of this machine
    photoinbox setup --yes --for local --as ana --config /etc/photoinbox/second.toml --inbox "$1" --inbox-name "$2" \
        --library "$3" --join "$connection"
}
refuse "the name of another host's inbox is refused" photoinbox join /srv/photos/inbox-2 "$(hostname --short)" /srv/photos/library
refuse "another directory is no library of theirs" photoinbox join /srv/photos/inbox-2 second /srv/photos/other
check "and nothing was made" photoinboxd test ! -e /srv/photos/other -a ! -e /etc/photoinbox/second.toml
check "a second host joins" photoinbox join /srv/photos/inbox-2 second /srv/photos/library
check "and both are shown" photoinboxd test "$(photoinbox hosts | grep -c "$(hostname)")" = 2
# One photo that comes to both.
for inbox in inbox inbox-2; do as ana cp /run/photos/one.jpg /srv/photos/$inbox/; done
for inbox in inbox inbox-2; do eventually "it is gone from $inbox" photoinboxd gone /srv/photos/$inbox/one.jpg; done
check "it is filed once" photoinboxd test "$(find /srv/photos/library -name 'one*.jpg' | wc -l)" = 1
check "and is a duplicate for the other" photoinboxd test "$(find /srv/photos/duplicates -name one.jpg | wc -l)" = 1
eventually "all is well with both" photoinboxd photoinbox status --all
held "all of it was followed"
