#!/bin/bash
# The catalogue in PostgreSQL, by the page's own commands: there, used, away, dumped, and back.
source "$(dirname "$0")/guides.sh"
prepare_system
install_programs
useradd --create-home ana
for name in one two three four five six; do make_photo $name.jpg 1; done
photoinbox setup --yes --for local --as ana --group photos --inbox /srv/photos/inbox --library /srv/photos/library >/dev/null
drop() { # NAME
    as ana cp "/run/photos/$1" /srv/photos/inbox/
    expect_filed "$1 is filed" "$1" /srv/photos/inbox
}
knows() { photoinbox list | grep -q "/$1"; } # NAME
rows() { as postgres psql -AtX --dbname=photoinbox --command="SELECT count(*) FROM photoinbox.photo"; }
has_problem() { { photoinbox status || true; } | grep -q "$1"; } # CODE
# What the package does where a service is allowed to start.
start_server() { systemctl enable --now postgresql; }
drop one.jpg

pg_dropcluster --stop 15 main 2>/dev/null || true
pg_createcluster 15 main >/dev/null
start_server
follow postgresql.md "Move it to a server on this machine" 1
before=$(sqlite3 /var/lib/photoinbox/before-postgresql.catalogue.sqlite "SELECT count(*) FROM photo")
check "all rows were copied" photoinboxd test "$(rows)" = "$before"
eventually "the service runs" photoinboxd photoinbox status
drop two.jpg
check "it is recorded there" photoinboxd test "$(rows)" = $((before + 1))
check "both are known" photoinboxd knows one.jpg
as ana cp /run/photos/one.jpg /srv/photos/inbox/
eventually "what was filed before is a duplicate" photoinboxd test -e /srv/photos/duplicates/inbox/one.jpg
follow postgresql.md "Move it to a server on this machine" 2
reader() { as _photoinbox-web psql -AtX --dbname=photoinbox --command="$1"; }
check "the pages' user reads" photoinboxd reader "SELECT count(*) FROM photoinbox.photo"
refuse "and does not write" photoinboxd reader "DELETE FROM photoinbox.damage"

systemctl stop postgresql@15-main
as ana cp /run/photos/three.jpg /srv/photos/inbox/
eventually "without the server it waits" photoinboxd has_problem PI-506
check "in the inbox" photoinboxd cmp /run/photos/three.jpg /srv/photos/inbox/three.jpg
systemctl restart photoinboxd
eventually "also a start waits" photoinboxd has_problem PI-506
check "and the service is up" photoinboxd systemctl --quiet is-active photoinboxd
systemctl start postgresql@15-main
expect_filed "with the server it is filed" three.jpg /srv/photos/inbox
eventually "and the problem is over" photoinboxd photoinbox status
main=$(property photoinboxd MainPID)
systemctl kill --signal=SIGKILL postgresql@15-main
systemctl restart postgresql@15-main
drop four.jpg
check "a server that was killed ends nothing" photoinboxd property_is photoinboxd MainPID "$main"

follow postgresql.md "Back up and restore" 1
drop five.jpg
follow postgresql.md "Back up and restore" 2
check "what was filed after the dump is recorded again" photoinboxd knows five.jpg
check "all are there" photoinboxd test "$(rows)" -ge $((before + 4))

follow postgresql.md "Which daemons write"
check "it is shown" photoinboxd grep -q "$(hostname)" "$said"
photoinbox hosts forget --yes "$(hostname)" >"$said"
check "it is forgotten" photoinboxd grep -q forgotten "$said"
as ana cp /run/photos/six.jpg /srv/photos/inbox/
eventually "and files nothing more" photoinboxd has_problem PI-507
systemctl restart photoinboxd
expect_filed "until it starts anew, and nobody else has it" six.jpg /srv/photos/inbox

follow postgresql.md "Go back to a file"
eventually "the service runs with the file" photoinboxd photoinbox status
check "which knows all" photoinboxd knows six.jpg
check "the database is not used" photoinboxd photoinbox verify
held "all of it was followed"
