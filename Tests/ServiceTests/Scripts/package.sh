#!/bin/bash
# The Debian package: installed, upgraded, removed and purged by dpkg. It never changes a photo.
source "$(dirname "$0")/lib.sh"
# Settings that minimal images omit or forbid.
rm -f /usr/sbin/policy-rc.d /etc/dpkg/dpkg.cfg.d/docker /etc/dpkg/dpkg.cfg.d/excludes
export DEBIAN_FRONTEND=noninteractive
# The index of manual pages is not needed, and nothing outlives the box, so that dpkg need not sync.
rm -f /var/lib/man-db/auto-update
dpkg() { command dpkg --force-unsafe-io "$@"; }
open_toolchain
gather_programs
show_toolchain photoinboxd photoinboxd@
cd "$repository" || exit
first=$(scripts/deb --programs /run/built --output /run/packages --for-tests | tail -n 1)
# The next version, which differs only in its number.
dpkg-deb --raw-extract "$first" /run/unpacked
sed -i 's/^Version: .*/&+next/' /run/unpacked/DEBIAN/control
second=/run/packages/next.deb
dpkg-deb -Znone --build /run/unpacked "$second" >/dev/null
check "it is built" -.slice test -s "$first"
check "it installs" -.slice dpkg --install "$first"
check "the service runs, though nothing is configured" photoinboxd systemctl is-active photoinboxd
check "and will be started at the next boot" photoinboxd systemctl is-enabled photoinboxd
check "as its own user" photoinboxd test "$(stat -c %U "/proc/$(property photoinboxd MainPID)")" = _photoinbox
check "which says that there is nothing to do" photoinboxd sh -c 'photoinbox status -- | grep -q "no inbox is configured"'
check "the journal's catalogue knows it" photoinboxd sh -c \
    "journalctl --list-catalog $message_filed | grep -q 'photo-inbox: Photo filed'"
check "manual pages, completions, units and documents came along" photoinboxd ls /usr/share/man/man8/photoinboxd.8.gz \
    /usr/share/man/man1/photoinbox-status.1.gz /usr/share/doc/photoinbox/docs/install.md \
    /usr/share/bash-completion/completions/photoinbox /usr/share/zsh/vendor-completions/_photoinbox \
    /usr/share/fish/vendor_completions.d/photoinbox.fish /lib/systemd/system/photoinboxd@.service \
    /usr/lib/systemd/user/photoinboxd.service /usr/share/doc/photoinbox/copyright \
    /usr/share/doc/photoinbox/examples/alerts.yml
names_places() { # PREFIX MANDIR
    ! zgrep -qE '/usr/local/(s?bin|libexec|share)' "$2"/man?/photoinbox* &&
        zgrep -q " $1/share/doc/photoinbox/state.schema.json" "$2"/man7/photoinbox-json.7* &&
        zgrep -q "=$1/sbin/photoinboxd" "$2"/man8/photoinboxd.8* &&
        zgrep -q "q$1/libexec/photoinbox" "$2"/man5/photoinbox.toml.5*
}
check "the pages name its places" photoinboxd names_places /usr /usr/share/man
refuse "and so does the configuration's example" photoinboxd grep -q /usr/local/libexec /etc/photoinbox/photoinbox.toml
make --silent install DESTDIR=/run/elsewhere prefix=/opt/photos release=/run/built
check "and those of make install those of its prefix" photoinboxd names_places /opt/photos /run/elsewhere/opt/photos/share/man
check "the configuration is the administrator's" photoinboxd sh -c \
    'dpkg-query --show --showformat="\${Conffiles}" photoinbox | grep -q " /etc/photoinbox/photoinbox.toml "'

make_places
configure '[inbox.card]' 'path = "/srv/photos/card"'
install -d -o _photoinbox -g _photoinbox /srv/studio /srv/studio/library /srv/studio/scans
printf '%s\n' 'library = "/srv/studio/library"' '[inbox.scans]' 'path = "/srv/studio/scans"' >/etc/photoinbox/studio.toml
systemctl reload photoinboxd
systemctl start photoinboxd@studio
drop_photo "$(photo 1)" card one.jpg
eventually "it files a photo" photoinboxd filed one.jpg
head -c 2000 "$(photo 2)" >/run/short.jpg
drop_photo /run/short.jpg card waits.jpg
everything() { (cd /srv && find . -type f -printf '%p %i %s\n' -exec sha256sum {} + | LC_ALL=C sort); }

processes="$(property photoinboxd MainPID) $(property photoinboxd@studio MainPID)"
everything >/run/before
check "it is upgraded" photoinboxd dpkg --install "$second"
check "the new service runs" photoinboxd systemctl is-active photoinboxd
check "and so do the instances" photoinboxd@studio systemctl is-active photoinboxd@studio
refuse "as new processes" photoinboxd test "$(property photoinboxd MainPID)" = "${processes% *}"
refuse "all of them" photoinboxd@studio test "$(property photoinboxd@studio MainPID)" = "${processes#* }"
check "with the configuration as it was" photoinboxd grep -q /srv/photos/card /etc/photoinbox/photoinbox.toml
eventually "and all that it knew" photoinboxd sh -c 'photoinbox list | grep -q one.jpg'
everything >/run/after
check "no photo was touched by that" photoinboxd cmp /run/before /run/after
systemctl stop photoinboxd
check "upgraded while it is stopped" photoinboxd dpkg --install "$second"
refuse "it stays so" photoinboxd systemctl is-active photoinboxd
systemctl start photoinboxd

check "it is removed" photoinboxd dpkg --remove photoinbox
refuse "the service is gone" photoinboxd systemctl is-active photoinboxd
refuse "instances too" photoinboxd systemctl is-active photoinboxd@studio
refuse "no process is left" -.slice pgrep -u _photoinbox
check "the configuration stays" -.slice test -e /etc/photoinbox/photoinbox.toml
check "and the catalogue" -.slice test -e /var/lib/photoinbox/catalogue.sqlite
check "it installs again" -.slice dpkg --install "$second"
eventually "and knows what it knew" photoinboxd sh -c 'photoinbox list | grep -q one.jpg'
mkdir -p /var/lib/photoinbox/thumbnails/ab && touch /var/lib/photoinbox/thumbnails/ab/x.jpg
systemctl enable --quiet photoinboxd.socket photoinboxd@studio.service photoinboxd@studio.socket
enabled() { find /etc/systemd/system "$@" -name 'photoinboxd*' | wc -l; }
check "more of it is enabled" photoinboxd test "$(enabled -type l)" -ge 4
dpkg --purge photoinbox >/run/said
check "purged, nothing is enabled that is gone" -.slice test "$(enabled -xtype l)" = 0
check "its configuration is gone" -.slice test ! -e /etc/photoinbox/photoinbox.toml
check "the administrator's own stays" -.slice test -e /etc/photoinbox/studio.toml
check "what can be made anew is gone" -.slice test ! -e /var/lib/photoinbox/thumbnails
check "the catalogue in which something is stays" -.slice test -e /var/lib/photoinbox/catalogue.sqlite
check "which is said" -.slice grep -q '^photoinbox: kept: /var/lib/photoinbox, ' /run/said
check "the empty one of the instance is gone" -.slice test ! -e /var/lib/photoinboxd
everything >/run/after
check "no photo was touched by all that" -.slice cmp /run/before /run/after
check "the user stays: photos belong to it" -.slice getent passwd _photoinbox
