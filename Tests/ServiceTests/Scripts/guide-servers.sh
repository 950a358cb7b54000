#!/bin/bash
# A fresh Debian: the package is installed as docs/install.md says, and the pages for Samba, SFTP and FTP are followed. Then
# people drop photos over the real servers. At last what was set up is undone.
source "$(dirname "$0")/guides.sh"
prepare_system
apt install smbclient >/dev/null 2>&1 # the people's, not the server's
for name in samba sftp chroot ftp ftps shell unseen; do make_photo $name.jpg 1; done
useradd --create-home --shell /bin/bash ana
echo ana:secret | chpasswd
began=$SECONDS

# `make deb` packs what is built already.
make() { "$repository/scripts/deb" --programs /run/built --output "$PWD/.build/deb" --for-tests; }
install -d /run/clone
cd /run/clone
follow ../install.md "As a Debian package"
unset -f make
cd /
eventually "the service runs" photoinboxd systemctl is-active photoinboxd

prints() { # PAGE HEADING: setup prints the commands that the page has people type after it
    local lines
    lines=$(blocks "$1" "$2" | sed '1,/--library/d')
    [ -n "$lines" ] && eval "$(blocks "$1" "$2" | sed -n '/^sudo photoinbox setup/,/[^\\]$/p' |
        sed 's/--yes/--dry-run/')" | sed 's/^# //' >/run/advice && ! grep -vxFf /run/advice <<<"$lines"
}

follow samba.md "Set it up"
check "setup prints the commands for the share" -.slice prints samba.md "Set it up"
cd /run/photos
check "ana reaches the share" smbd smbclient //localhost/inbox --user=ana%secret --command="put samba.jpg"
expect_filed "what she copied over Samba is filed" samba.jpg /srv/photos/inbox
check "and belongs to the service" photoinboxd test \
    "$(stat -c %U "$(find /srv/photos/library -name samba.jpg)")" = _photoinbox
refuse "a wrong password opens nothing" smbd smbclient //localhost/inbox --user=ana%wrong --command=ls
follow samba.md "One more person"
install -d /run/photos/holiday
make_photo holiday/ben.jpg 1
check "ben copies a directory" smbd smbclient //localhost/inbox --user=ben%secret \
    --command="recurse ON; prompt OFF; mput holiday"
eventually "which is filed" photoinboxd filed ben.jpg
refuse "ben has no shell with a password" -.slice sh -c "getent shadow ben | cut -d : -f 2 | grep '^.\\{3\\}'"
follow samba.md "Let people see the library"
check "the library's share is there" smbd smbclient //localhost/library --user=ana%secret --command=ls
refuse "nobody writes to it" smbd smbclient //localhost/library --user=ana%secret --command="put unseen.jpg"

# What a password is asked with, where there is no terminal.
printf '#!/bin/sh\necho secret\n' >/run/askpass
chmod 0755 /run/askpass
upload() { # USER COMMAND: in a session of SFTP
    echo "$2" >/run/batch
    SSH_ASKPASS=/run/askpass SSH_ASKPASS_REQUIRE=force sftp -q -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null -o NumberOfPasswordPrompts=1 -o BatchMode=no -b /run/batch "$1@localhost"
}
follow sftp.md "People who have an account here"
check "ana uploads over SFTP" ssh upload ana "put shell.jpg /srv/photos/inbox/shell.jpg"
expect_filed "what she uploaded is filed" shell.jpg /srv/photos/inbox
follow sftp.md "A user who only uploads"
check "setup prints the commands for it" -.slice prints sftp.md "A user who only uploads"
check "phones begins in the inbox" ssh upload phones "put -p sftp.jpg"
expect_filed "what phones uploaded is filed" sftp.jpg /srv/photos/inbox
shell() {
    SSH_ASKPASS=/run/askpass SSH_ASKPASS_REQUIRE=force timeout 10 ssh -q -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null "$1@localhost" true </dev/null
}
check "ana has a shell" ssh shell ana
refuse "phones has none" ssh shell phones
follow sftp.md "The same, locked into a directory"
check "phones is locked in" ssh upload phones "ls /inbox"
refuse "and sees nothing else" ssh upload phones "ls /etc"
check "it uploads into the inbox" ssh upload phones "put chroot.jpg"
expect_filed "what it uploaded is filed" chroot.jpg /srv/photos/inbox
refuse "it reads no photo of the library" ssh upload phones \
    "get $(find /srv/photos/library -name sftp.jpg -printf '/library/%P') /run/seen.jpg"

# Debian's unit of vsftpd counts as started before it listens.
listens() { (: <"/dev/tcp/localhost/$1"); }
follow ftp.md "Set it up"
eventually "vsftpd listens" vsftpd listens 21
check "setup prints the commands for vsftpd" -.slice prints ftp.md "Set it up"
check "camera uploads over FTP" vsftpd as nobody curl --silent --show-error --user camera:secret \
    --upload-file /run/photos/ftp.jpg ftp://localhost/inbox/
expect_filed "what it uploaded is filed" ftp.jpg /srv/photos/inbox
refuse "ana is not let in" vsftpd curl --silent --user ana:secret ftp://localhost/
refuse "camera sees nothing else" vsftpd curl --silent --user camera:secret ftp://localhost//etc/
refuse "and writes nothing beside the inbox" vsftpd curl --silent --user camera:secret \
    --upload-file /run/photos/unseen.jpg ftp://localhost/
follow ftp.md "Keep the password out of SSH"
refuse "its password opens no shell" ssh shell camera
printf 'photo dropped over Samba, SFTP and FTP: %d commands typed, %d seconds; ' $typed $((SECONDS - began))
printf 'each way alone, with its server installed: Samba %d, SFTP %d, SFTP by who only uploads %d, FTP %d\n' \
    "$(cost samba.md "Set it up")" "$(cost sftp.md "People who have an account here")" \
    "$(cost sftp.md "A user who only uploads")" "$(cost ftp.md "Set it up")"

follow ftp.md "Encrypt it"
eventually "vsftpd listens again" vsftpd listens 21
check "with it it uploads" vsftpd as nobody curl --silent --show-error --ssl-reqd --insecure --user camera:secret \
    --upload-file /run/photos/ftps.jpg ftp://localhost/inbox/
expect_filed "what it uploaded encrypted is filed" ftps.jpg /srv/photos/inbox
refuse "without encryption it is not let in" vsftpd curl --silent --user camera:secret ftp://localhost/

follow samba.md "Undo it"
refuse "the share is gone" smbd smbclient //localhost/inbox --user=ana%secret --command=ls
follow sftp.md "Undo it"
refuse "phones is gone" ssh upload phones "ls /inbox"
check "ana is not" ssh upload ana "ls /srv/photos/inbox"
follow ftp.md "Undo it"
eventually "vsftpd listens without the share" vsftpd listens 21
refuse "camera is gone" vsftpd curl --silent --user camera:secret ftp://localhost/
check "the inbox and its service are there" photoinboxd photoinbox status
check "nothing was filed twice" photoinboxd test "$(find /srv/photos/library -type f | wc -l)" = 7
held "all of it was followed"
