# shellcheck shell=bash
# Sourced by the scripts that follow a page of docs/guides: they run its own commands, as a person pastes them, and look at
# what comes of them. A heading that `follow` names here counts as tested: see Tests/ManualTests/GuidesTests.swift.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

archive=$repository/.build/tools/archive # packages that `make test-deps` has fetched

# Root needs no sudo, which may not be installed. Passwords are asked for on a terminal; here they are all the same.
sudo() { if [ "$1" = -u ]; then as "$2" "${@:3}"; else "$@"; fi; }
adduser() { # which asks only where it makes a user
    case "$*" in
    *--gecos*) command adduser --disabled-password "$@" && case "$*" in
        *--disabled-password*) ;;
        *) echo "${!#}:secret" | chpasswd ;;
        esac ;;
    *) command adduser "$@" ;;
    esac
}
smbpasswd() { printf 'secret\nsecret\n' | command smbpasswd -s "$@"; }

said=$(mktemp) # the output of the last commands
following=""
end() { # of the script, also in the middle of a page's commands
    if [ -n "$following" ]; then
        printf 'not ok: %s\n' "$following"
        cat "$said"
        journalctl --no-pager --lines=40 || true
    fi
    rm -f "$said"
}
trap end EXIT

blocks() { # PAGE HEADING [NUMBER]: what is to be pasted below it: all of it, or one block
    awk -v heading="$2" -v number="${3:-0}" '
        /^```/ { isFence = !isFence; isInside = 0 }
        /^```sh$/ && isFence && isBelow { count += 1; isInside = !number || number == count; next }
        !isFence && /^#+ / { isBelow = substr($0, index($0, " ") + 1) == heading }
        isInside' "$repository/docs/guides/$1"
}

# The commands that a person typed until now; an input counts as a part of its command.
typed=0
count() {
    awk '/^END$/ { isInput = 0; next }
        isInput { next }
        /<<.?END/ { isInput = 1 }
        !/^ *(#|$)/ && !isContinued { count += 1 }
        { isContinued = /[\\|]$/ }
        END { print count + 0 }'
}

cost() { # PAGE HEADING…: the commands of one way alone, from the package to where photos can be dropped; the server is there
    local heading
    {
        blocks ../install.md "As a Debian package"
        for heading in "${@:2}"; do blocks "$1" "$heading"; done
    } | grep -v '^sudo apt install [^.]' | count
}

follow() { # PAGE HEADING [NUMBER]: runs all commands below it, or those of one block
    local commands
    commands=$(blocks "$@")
    following="$*"
    echo "it has no commands" >"$said"
    [ -n "$commands" ]
    typed=$((typed + $(count <<<"$commands")))
    # Not in a condition, where set -e would have no effect.
    eval "$commands" >"$said" 2>&1 </dev/null
    held "$following"
    following=""
}

# Of a Debian system: apt asks nothing, and finds the packages of `archive` alone. Installed services start.
prepare_system() {
    rm -f /usr/sbin/policy-rc.d /etc/dpkg/dpkg.cfg.d/{docker,excludes} /var/lib/man-db/auto-update
    rm -rf /etc/apt/sources.list /etc/apt/sources.list.d /var/lib/apt/lists
    echo "deb [trusted=yes] file:$archive ./" >/etc/apt/sources.list
    printf '%s\n' 'APT::Get::Assume-Yes "true";' 'APT::Install-Recommends "false";' 'APT::Sandbox::User "root";' \
        'Acquire::Languages "none";' 'quiet "2";' >/etc/apt/apt.conf.d/99tests
    echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/tests # nothing outlives the box
    rm -f /run/nologin # which a boot to a login removes
    export DEBIAN_FRONTEND=noninteractive
    apt-get update
    ln -s /dev/null /etc/systemd/system/nmbd.service # it waits for a network
    open_toolchain
    gather_programs
    show_toolchain photoinboxd photoinboxd@
    # File systems other than overlay, on which leases show writers.
    mount -t tmpfs -o mode=755 tmpfs /srv
    mount -t tmpfs -o mode=755 tmpfs /home
}

install_programs() {
    make --silent --directory="$repository" install release=/run/built
    systemd-sysusers # as the package does
    systemctl daemon-reload
}

as() { # USER COMMAND…
    local user=$1
    shift
    setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups --inh-caps=-all -- \
        env HOME="$(getent passwd "$user" | cut -d : -f 6)" "$@"
}

gone() { [ ! -e "$1" ]; }

expect_filed() { # WHAT NAME INBOX: it is in the library with the bytes of /run/photos/NAME, and no more in the inbox
    eventually "$1" photoinboxd filed "$2"
    eventually "$1: it is gone from the inbox" photoinboxd gone "$3/$2"
    check "$1: it has the same bytes" photoinboxd cmp "/run/photos/$2" \
        "$(find /srv/photos/library -type f -name "$2" | head -n 1)"
}

make_photo() { # NAME N [DATE]: the Nth photograph of the fixtures, with other bytes for each name, taken then
    install -d -m 0755 /run/photos
    exiftool -quiet -o - -Comment="$1" ${3:+-DateTimeOriginal="$3"} "$(photo "$2")" >"/run/photos/$1"
    chmod 0644 "/run/photos/$1"
}
