# shellcheck shell=bash disable=SC2016
# Sourced by the scripts that run inside the box. A script prints a line `ok: WHAT` for each check that passed; the test
# outside compares those lines with the expected ones, so that a script that ends early fails.
set -euo pipefail

repository=/photo-inbox     # the sources, read-only
programs=/photo-inbox-built # the built programs, read-only

# Random identifiers that never change, since saved queries depend on them.
# shellcheck disable=SC2034 # not every script uses all of them
{
    message_ready=eea50aa72c2f48b38ac16e922d6f64d3
    message_filed=43e0849fa2b846df98777912e5ad57ae
    message_configuration_loaded=ea55a827a6814ad6aff27159ed01a56e
    message_configuration_refused=47e8a126409f452f9c6c8b1771932410
}

held() { printf 'ok: %s\n' "$1"; }

broken() { # WHAT UNIT: says so, shows what the unit and the journal know, and ends the script
    printf 'not ok: %s\n' "$1"
    systemctl status --full --no-pager --lines=0 -- "$2" || true
    journalctl --sync || true
    journalctl --no-pager --output=short-monotonic --lines=60 || true
    exit 1
}

check() { # WHAT UNIT COMMAND…
    local what=$1 unit=$2
    shift 2
    if "$@" >/dev/null; then held "$what"; else broken "$what" "$unit"; fi
}

refuse() { # WHAT UNIT COMMAND…: the command must fail
    local what=$1 unit=$2
    shift 2
    if "$@" >/dev/null 2>&1; then broken "$what" "$unit"; else held "$what"; fi
}

eventually() { # WHAT UNIT COMMAND…: the command must succeed within 1,000 tries, some 50 seconds
    local what=$1 unit=$2 tries
    shift 2
    for ((tries = 0; tries < 1000; tries++)); do
        if "$@" >/dev/null 2>&1; then
            held "$what"
            return
        fi
        sleep 0.05
    done
    broken "$what" "$unit"
}

property() { systemctl show --value --property="$2" "$1"; } # UNIT NAME

property_is() { [ "$(property "$1" "$2")" = "$3" ]; } # UNIT NAME VALUE

journal_has() { # COUNT MATCH…: at least so many entries match
    local count=$1
    shift
    journalctl --sync
    [ "$(journalctl --quiet --output=cat --output-fields=MESSAGE_ID "$@" | wc -l)" -ge "$count" ]
}

# If the toolchain is in a home directory, the service's user could not reach Swift's libraries.
open_toolchain() {
    local library
    toolchain | while read -r library; do
        until [ "$library" = / ]; do
            chmod a+rX "$library" 2>/dev/null || true
            library=$(dirname "$library")
        done
    done
}

toolchain() { { ldd "$programs/photoinbox" 2>/dev/null || true; } | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p'; }

# The same for directories that the units hide.
show_toolchain() { # UNIT…: without their ending
    local unit
    if ! toolchain | grep -E "^/(home|root)/" >/dev/null; then return; fi
    for unit in "$@"; do
        install -d "/etc/systemd/system/$unit.service.d"
        printf '[Service]\nProtectHome=read-only\n' >"/etc/systemd/system/$unit.service.d/toolchain.conf"
    done
}

# The built programs in /run/built. Most tests do without the decoder, and run if it is not built, with /bin/true in its
# place.
gather_programs() {
    local program
    install -d /run/built
    for program in photoinbox photoinbox-decoder; do
        if [ -x "$programs/$program" ]; then
            ln -s "$programs/$program" "/run/built/$program"
        else
            ln -s /bin/true "/run/built/$program"
        fi
    done
}

install_service() { # as a person would, by `make install`, then with inboxes of our own
    open_toolchain
    gather_programs
    make --silent --directory="$repository" install release=/run/built
    show_toolchain photoinboxd photoinboxd@
    systemd-sysusers
    systemd-tmpfiles --create
    make_places
    configure '[inbox.card]' 'path = "/srv/photos/card"'
    systemctl daemon-reload
}

make_places() {
    # A file system other than overlay, on which leases show writers.
    mount -t tmpfs -o mode=755 tmpfs /srv
    install -d -o _photoinbox -g _photoinbox -m 0755 /srv/photos /srv/photos/library
    install -d -o _photoinbox -g _photoinbox -m 1777 /srv/photos/card /srv/photos/phones
}

configure() { # LINE…: what follows the library
    install -d -m 0755 /etc/photoinbox
    { echo 'library = "/srv/photos/library"'; printf '%s\n' "$@"; } >/etc/photoinbox/photoinbox.toml
    chmod 0644 /etc/photoinbox/photoinbox.toml
}

start_service() {
    systemctl start photoinboxd || broken "the service starts" photoinboxd
}

drop_photo() { # PHOTO INBOX NAME: as somebody who is not the service's user
    setpriv --reuid=65534 --regid=65534 --clear-groups cp "$1" "/srv/photos/$2/$3"
}

photo() { # a photograph of the fixtures
    find "$repository/Tests/Fixtures" -type f \( -name '*.jpg' -o -name '*.jpeg' \) | LC_ALL=C sort | sed -n "${1:-1}p"
}

filed() { [ -n "$(find /srv/photos/library -type f -name "$1" ! -name '.*')" ]; } # NAME
