#!/bin/bash
# The page for containers. Images cannot be fetched here, so the Containerfile is carried out by a stand-in for podman: the
# file's own last stage over this system's root, and its own entry point, environment and check of health. The stand-in refuses
# options that it does not know.
source "$(dirname "$0")/guides.sh"
open_toolchain
gather_programs
containerfile=$repository/Containerfile
instruction() { sed -z 's/\\\n/ /g' "$containerfile" | sed -n "/^FROM.*debian/,\$s/^$1 //p"; } # NAME: of the last stage

# Each package that it names exists, and what the programs are linked with is among them or what they need.
packages=$(instruction RUN | sed 's/.*--no-install-recommends//; s/&&.*//')
check "it names packages of Debian" -.slice sh -c "apt-cache show --no-all-versions $(echo $packages) >/dev/null"
needed() { readelf -d "$programs/$1" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libswift|lib_?Foundation|libdispatch|libBlocks)'; }
installed() { apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    $packages libc6 | grep '^[a-z]'; }
provider() { dpkg-query --search "*/$1" | sed 's/:.*//' | head -n 1; } # LIBRARY
installed >/run/installed
for program in photoinboxd photoinbox photoinbox-decoder photoinbox-fetch photoinbox-web photoinbox-drop; do
    for library in $(needed $program); do
        grep -qx "$(provider "$library")" /run/installed || broken "$program finds $library" -.slice
    done
    held "$program finds its libraries"
done

# What `make install` puts into the image, as the first stage does.
eval "$(sed -n 's/^RUN make release && //p' "$containerfile") release=/run/built --silent --directory=$repository"
cp -a /installed/usr/. /usr/
words() { instruction "$1" | tr -d '[],' | tr '"' ' '; } # of an exec form

container="" # its process
podman() {
    local command=$1
    shift
    case $command in
    build) [ "$*" = "--format docker --tag photoinbox ." ] ;;
    run)
        local arguments=() binds=()
        while [ "$1" != photoinbox ]; do
            case $1 in
            --detach) shift ;;
            --name | --restart | --network) shift 2 ;;
            --volume) install -d "${2#*:}"; mount --bind "${2%:*}" "${2#*:}"; shift 2 ;;
            *) echo "unknown option $1"; return 1 ;;
            esac
        done
        shift
        arguments=("$@")
        [ $# -gt 0 ] || read -r -a arguments <<<"$(words CMD)"
        # shellcheck disable=SC2046
        env $(instruction ENV) $(words ENTRYPOINT) "${arguments[@]}" >>/run/output 2>&1 &
        container=$!
        for tries in {1..200}; do grep -q ' ready: ' /run/output && break || sleep 0.05; done
        ;;
    exec) shift; env $(instruction ENV) "$@" ;;
    stop) kill -TERM "$container"; wait "$container" ;;
    rm)
        [ "${1:-}" != --force ] || kill "$container"
        wait "$container" || true
        umount /photos /state
        : >/run/output
        ;;
    rmi) ;;
    *) return 1 ;;
    esac
}
mount -t tmpfs -o mode=755 tmpfs /srv
cd /srv
make_photo one.jpg 1
make_photo two.jpg 1
in_library() { [ -n "$(find photos/library -name "$1")" ]; }
follow containers.md "Build it"
follow containers.md "Run it"
cp /run/photos/one.jpg photos/inbox/
eventually "a photo is filed" -.slice in_library one.jpg
check "it is well" -.slice env $(instruction ENV) sh -c "$(instruction HEALTHCHECK | sed 's/^CMD //')"
follow containers.md "With a configuration"
cp /run/photos/two.jpg photos/inbox/
eventually "a photo of that inbox is filed" -.slice in_library two.jpg
check "under its name" -.slice sh -c 'PHOTOINBOX_STATE=/state photoinbox list | grep -q "  phones  .*/two.jpg"'
follow containers.md "Undo it"
check "the photos stay" -.slice in_library one.jpg
held "all of it was followed"
