#!/bin/bash
# private-journald.sh with|without DIR COMMAND…: runs COMMAND with a private systemd-journald ("without": without
# one). Its standard output goes to DIR/stdout, its standard error to DIR/stderr, all entries to DIR/export
# (journalctl -o export); COMMAND has $JOURNALD_PID. Exit status: COMMAND's; 77 with a line in DIR/refused if
# namespaces or journald are refused.
#
# All of it runs in its own mount namespace (for an ordinary user inside a user namespace), so the machine's
# /run and its journal are not changed, and nothing remains when the last process ends. journald is killed with this
# shell.
set -u
mode=$1 dir=$2
refuse() { echo "$1" >"$dir/refused"; exit 77; }
if [ "${PRIVATE_JOURNALD:-}" != inside ]; then
    for tool in unshare setpriv journalctl timeout; do
        command -v $tool >/dev/null || refuse "needs $tool"
    done
    [ -x /lib/systemd/systemd-journald ] || refuse "needs /lib/systemd/systemd-journald"
    [ -s /etc/machine-id ] || refuse "needs /etc/machine-id"
    user=(); [ "$(id -u)" = 0 ] || user=(--user --map-root-user)
    unshare "${user[@]}" --mount true 2>/dev/null || refuse "needs root or user namespaces"
    export PRIVATE_JOURNALD=inside
    exec unshare "${user[@]}" --mount --propagation private -- "$0" "$@"
fi
unset PRIVATE_JOURNALD
shift 2
mount -t tmpfs -o mode=755,size=256m tmpfs /run 2>/dev/null || refuse "needs the right to mount a tmpfs"
mkdir -p /run/systemd /run/lock
if [ "$mode" = with ]; then
    mkdir -p /run/systemd/journal /run/log/journal
    machine=$(tr -d - </proc/sys/kernel/random/uuid)
    echo "$machine" >/run/machine-id && mount --bind /run/machine-id /etc/machine-id || refuse "needs bind mounts"
    printf '%s\n' '[Journal]' Storage=volatile Compress=no RateLimitIntervalSec=0 ForwardToSyslog=no \
        ForwardToWall=no ReadKMsg=no Audit= >/run/journald.conf
    [ ! -e /etc/systemd/journald.conf ] || mount --bind /run/journald.conf /etc/systemd/journald.conf
    SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=err \
        setpriv --pdeathsig KILL /lib/systemd/systemd-journald >"$dir/journald" 2>&1 &
    export JOURNALD_PID=$!
    trap 'kill -KILL $JOURNALD_PID 2>/dev/null; wait 2>/dev/null' EXIT
    tries=0
    until [ -S /run/systemd/journal/socket ] && [ -S /run/systemd/journal/stdout ] \
        && [ -S /run/systemd/journal/io.systemd.journal ]; do
        kill -0 $JOURNALD_PID 2>/dev/null || refuse "journald does not start here: $(head -1 "$dir/journald")"
        tries=$((tries + 1)); [ $tries -lt 500 ] || refuse "journald does not open its sockets"
        sleep .02
    done
fi
timeout 60 "$@" >"$dir/stdout" 2>"$dir/stderr"
status=$?
if [ "$mode" = with ]; then
    kill -CONT $JOURNALD_PID
    timeout 20 journalctl --sync
    journalctl -D "/run/log/journal/$machine" --all -o export >"$dir/export" || status=1
fi
exit $status
