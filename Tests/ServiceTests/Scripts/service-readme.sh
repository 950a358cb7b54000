#!/bin/bash
# The README's installation, line by line on a machine without the service: it results in a service
# that files a photo. Then --check, as root, reports what the service's user may not do.
source "$(dirname "$0")/lib.sh"
open_toolchain
gather_programs
# The programs are already built. Root needs no sudo, which may not be installed.
make() { if [ "$1" = install ]; then command make --silent --directory="$repository" install release=/run/built; fi; }
sudo() { "$@"; }
export USER=nobody
mount -t tmpfs -o mode=755 tmpfs /srv
recipe=$(sed -n '/^## Install it/,/^```$/p' "$repository/README.md" | sed '1,/^```sh/d; /^```$/d')
check "the README has a recipe" photoinboxd test -n "$recipe"
eval "$(sed '/photoinbox setup/i show_toolchain photoinboxd' <<<"$recipe")" >/dev/null || broken "it ends in a running service" photoinboxd
eventually "it ends in a running service" photoinboxd systemctl is-active photoinboxd
setpriv --reuid=nobody --regid=nogroup --init-groups cp "$(photo 1)" /srv/photos/inbox/one.jpg
eventually "which files what a person drops" photoinboxd filed one.jpg
eventually "and takes it out of the inbox" photoinboxd test ! -e /srv/photos/inbox/one.jpg
check "--check is content" photoinboxd sh -c 'photoinboxd --check | grep -q "configuration OK, checked as _photoinbox,"'

install -d -m 0755 /srv/other
printf 'library = "/srv/other"\n[inbox.a]\npath = "/srv/none"\n' >/etc/photoinbox/other.toml
photoinboxd --check --config /etc/photoinbox/other.toml >/run/said 2>&1 || status=$?
check "what the service may not do is no good to root either" photoinboxd test "$status" = 78
check "and it is said who may not" photoinboxd \
    grep -q '_photoinbox has no permission to write to this directory; sudo chown _photoinbox: /srv/other' /run/said
sed -n 's/.*create it (sudo \(install [^)]*\)).*/\1/p' /run/said >/run/advice
check "what is missing is proposed" photoinboxd grep -q /srv/none /run/advice
source /run/advice
chown _photoinbox: /srv/other
check "and what was proposed does" photoinboxd sh -c 'photoinboxd --check --config /etc/photoinbox/other.toml | grep -q "configuration OK"'
