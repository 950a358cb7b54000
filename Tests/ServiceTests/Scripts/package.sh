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
# Other places below /usr/local than an administrator's own programs, in files that are not programs.
local_places() { # DIRECTORY
    find "$1" -type f ! -perm /111 -exec zgrep -aoh '/usr/local[^ "\]*' {} + | grep -v '^/usr/local/lib/photos/'
}
dpkg-deb --extract "$first" /run/content
refuse "its files name no other place" -.slice local_places /run/content
gzip -c <<<'see /usr/local/sbin/x' >/run/content/usr/share/man/x.gz
check "or that would be found" -.slice local_places /run/content
helps() { photoinboxd --help && for command in $(photoinbox help | sed -n 's/^  \([a-z-]*\) .*/\1/p'); do
    photoinbox "$command" --help; done; }
refuse "nor do its programs' helps" -.slice sh -c "$(declare -f helps); helps | grep /usr/local"
make --silent install DESTDIR=/run/elsewhere prefix=/opt/photos release=/run/built
check "those of make install name those of its prefix" -.slice \
    grep -q ' /opt/photos/share/doc/photoinbox/state.schema.json' /run/elsewhere/opt/photos/share/man/man7/photoinbox-json.7
make --silent uninstall DESTDIR=/run/elsewhere prefix=/opt/photos
check "which can be taken away again" -.slice \
    test "$(find /run/elsewhere ! -type d)" = /run/elsewhere/etc/photoinbox/photoinbox.toml
check "the daemon and the program for downloads are the command" -.slice sh -c \
    'test /usr/sbin/photoinboxd -ef /usr/bin/photoinbox && test /usr/libexec/photoinbox-fetch -ef /usr/bin/photoinbox &&
        test /usr/libexec/photoinbox-web -ef /usr/bin/photoinbox &&
        test /usr/libexec/photoinbox-drop -ef /usr/bin/photoinbox &&
        photoinboxd --version | grep "^photoinboxd " && /usr/libexec/photoinbox-fetch 2>&1 | grep "^usage: photoinbox-fetch "'
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
systemctl --global enable --quiet photoinboxd.service
enabled() { find /etc/systemd -type l -name 'photoinboxd*' | wc -l; }
check "more of it is enabled" photoinboxd test "$(enabled)" -ge 5
# What setup writes, and what an administrator may have.
units=/etc/systemd/system
mkdir -p $units/photoinboxd.service.d $units/photoinboxd-fetch@.service.d
echo '# Written by photoinbox setup: the places of photos.' |
    tee $units/photoinboxd.service.d/photoinboxd-setup.conf >$units/photoinboxd-fetch@.service.d/photoinboxd-setup.conf
echo '[Service]' | tee $units/photoinboxd.service.d/override.conf >$units/photoinboxd-own.service
ln -s /mnt/absent/photoinboxd-own.service $units/multi-user.target.wants/
rm -f $units/photoinboxd.service.d/toolchain.conf
dpkg --purge photoinbox >/run/said
check "purged, nothing of it is enabled" -.slice test "$(enabled)" = 1
check "nor recorded as such" -.slice test -z "$(find /var/lib/systemd -name 'photoinboxd*' -path '*deb-systemd-helper*')"
check "what setup wrote is gone" -.slice test -z "$(find /etc/systemd -name '*-setup.conf' -o -name 'photoinboxd-fetch@*')"
check "the administrator's own units, links and drop-ins stay" -.slice ls $units/multi-user.target.wants/photoinboxd-own.service \
    $units/photoinboxd-own.service $units/photoinboxd.service.d/override.conf
check "its configuration is gone" -.slice test ! -e /etc/photoinbox/photoinbox.toml
check "the administrator's own stays" -.slice test -e /etc/photoinbox/studio.toml
check "what can be made anew is gone" -.slice test ! -e /var/lib/photoinbox/thumbnails
check "the catalogue in which something is stays" -.slice test -e /var/lib/photoinbox/catalogue.sqlite
check "which is said" -.slice grep -q '^photoinbox: kept: /var/lib/photoinbox, ' /run/said
check "the empty one of the instance is gone" -.slice test ! -e /var/lib/photoinboxd
everything >/run/after
check "no photo was touched by all that" -.slice cmp /run/before /run/after
check "the user stays: photos belong to it" -.slice getent passwd _photoinbox
